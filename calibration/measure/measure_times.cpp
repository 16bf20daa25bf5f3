// The times of a rank as text, for the way from its process to the launcher's: numbers in one order, each list behind
// its length.
#include <fmt/format.h>

#include <charconv>
#include <stdexcept>

#include "calibration/measure/measure_rank.hpp"

namespace accocal {
namespace {

class Writer {
 public:
  void operator()(std::int64_t& value) { text += fmt::format("{} ", value); }
  void operator()(double& value) { text += fmt::format("{} ", value); }
  std::size_t length(std::size_t length) {
    text += fmt::format("{} ", length);
    return length;
  }

  std::string text;
};

class Reader {
 public:
  explicit Reader(const std::string& text) : at_(text.data()), end_(text.data() + text.size()) {}

  template <typename Number>
  void operator()(Number& value) {
    const std::from_chars_result read = std::from_chars(at_, end_, value);
    if (read.ec != std::errc{} || read.ptr == end_) throw std::logic_error("a rank's times are not what it writes");
    at_ = read.ptr + 1;  // the blank
  }
  std::size_t length(std::size_t /*unknown*/) {
    std::size_t length = 0;
    (*this)(length);
    return length;
  }

 private:
  const char* at_;
  const char* end_;
};

template <typename Way>
void pass(Way& way, std::vector<double>& list) {
  list.resize(way.length(list.size()));
  for (double& value : list) way(value);
}

/// The one order, for both ways.
template <typename Way>
void pass(Way& way, RankTimes& times) {
  times.cells.resize(way.length(times.cells.size()));
  for (CellTimes& cell : times.cells) {
    for (std::vector<double>* list : {&cell.begin, &cell.end, &cell.waited}) pass(way, *list);
  }
  times.elements.resize(way.length(times.elements.size()));
  for (ElementTimes& one : times.elements) {
    way(one.elements);
    for (std::vector<double>* list : {&one.adamw, &one.copy}) pass(way, *list);
  }
  times.shorter.resize(way.length(times.shorter.size()));
  for (std::vector<double>& list : times.shorter) pass(way, list);
  way(times.parameters);
  way(times.tokens);
  TheftTimes& theft = times.theft;
  for (std::vector<double>* list :
       {&times.hand_off_start, &times.hand_off_end, &times.micro_batch, &theft.compute_alone, &theft.compute_beside,
        &theft.collective_alone, &theft.collective_beside})
    pass(way, *list);
}

}  // namespace

std::string write_times(const RankTimes& times) {
  RankTimes copy = times;
  Writer writer;
  pass(writer, copy);
  return writer.text;
}

RankTimes read_times(const std::string& text) {
  RankTimes times;
  Reader reader(text);
  pass(reader, times);
  return times;
}

}  // namespace accocal

#include "sim/bodies/write.hpp"

#include <algorithm>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace accosim {
namespace {

bool is_pass(const Piece& piece) { return piece.pass == Pass::kForward || piece.pass == Pass::kBackward; }

const char* name_of(Pass pass) { return pass == Pass::kForward ? "forward" : "backward"; }

OpClass class_of(Pass pass) { return pass == Pass::kForward ? OpClass::kForward : OpClass::kBackward; }

/// Op::pass.
int number_of(const Piece& piece) { return 4 * piece.chunk + static_cast<int>(piece.pass); }

using Pieces = std::vector<Piece>;

/// Lanes that passes and their messages are on: the first of the body's. What finishes may have further ones.
std::size_t lanes_of_passes(const Body& body) {
  int last = 0;
  for (const Pieces* list : {&body.open, &body.round, &body.close})
    for (const Piece& piece : *list) last = std::max(last, piece.lane);
  return static_cast<std::size_t>(last) + 1;
}

/// A number for each tensor of a body, where it is asked for.
class PerTensor {
 public:
  PerTensor(const Body& body, bool asked) {
    if (!asked) return;
    begins_.reserve(body.sets.size());
    for (const ParameterSet& each : body.sets) {
      begins_.push_back(static_cast<int>(numbers_.size()));
      numbers_.resize(numbers_.size() + each.tensors.size());
    }
  }
  int& of(const AtShare& each) { return numbers_[begins_[each.set] + each.tensor]; }

 private:
  std::vector<int> begins_, numbers_;
};

/// Whether a list needs, or gives, a tensor whose number is 0.
bool has_new(const Pieces& pieces, std::vector<AtShare> Piece::*list, PerTensor& numbers) {
  return std::ranges::any_of(pieces, [&](const Piece& piece) {
    return std::any_of((piece.*list).begin(), (piece.*list).end(),
                       [&](const AtShare& each) { return numbers.of(each) == 0; });
  });
}

class Writer {
 public:
  Writer(ProgramBuilder& program, const Body& body, const Hooks& hooks)
      : program_(program),
        body_(body),
        hooks_(hooks),
        before_(body.round.size(), OpRef{0, -1}),
        needed_(body, hooks.first.stands != nullptr),
        left_(body, hooks.last.stands != nullptr) {
    for (const std::string& name : body.lanes) lanes_.push_back(program.lane(name));
  }

  void write(const Often& often);
  /// Pieces of one list, after `ready`.
  void write_list(const Pieces& pieces, OpRef ready);
  void write_loop(const Often& often, int rounds);

 private:
  /// A wait for a round before, of an op that is written before what it waits for.
  struct Later {
    OpRef of;
    Wait wait;
  };
  /// Pieces [begin, end) of one pass, between which nothing but a hook stands.
  struct Run {
    const Pieces& pieces;
    int begin, end;
    bool whole;  ///< the pass over the chunk
    const Piece& front() const { return pieces[begin]; }
    const Piece& back() const { return pieces[end - 1]; }
  };

  bool hooks_into_rounds() const {
    return hooks_.begin || hooks_.end || hooks_.before.stands || hooks_.after.stands || hooks_.in_pieces;
  }
  bool hooks_anywhere() const { return hooks_.first.stands || hooks_.last.stands || hooks_into_rounds(); }
  bool is_plain() const;
  void write_plain_round();
  /// A flight that is `open` alone, of so many micro-batches.
  void write_short(int least);
  void write_round(const Often& often);
  void add_loop(const Often& often, int rounds);
  void write_other(const Piece& piece);
  /// Which pieces of a list others wait for.
  std::vector<bool> awaited_in(const Pieces& pieces) const;
  void wait_for_pieces(const Piece& piece);
  void write_run(const Run& run);
  void write_needs(const Run& run, const Piece& piece, Seconds begin, Seconds& done);
  int end_of_run(const Pieces& pieces, const std::vector<bool>& awaited, int begin) const;
  const After* taken_by(const AtShare& given);
  void count_gives(const Pieces& pieces);
  OpRef add(const Run& run, Seconds duration, bool last);
  void wait_for(OpRef op);
  Work work_of(const Run& run) const;

  ProgramBuilder& program_;
  const Body& body_;
  const Hooks& hooks_;
  std::vector<int> lanes_;     // of the program, by those of the body
  std::vector<OpRef> refs_;    // where each piece of the list under way ends
  std::vector<OpRef> before_;  // and each of the round before, or what stands for it
  std::vector<OpRef> waits_;   // of the next op
  std::vector<Later> later_;
  const bool plain_ = is_plain();  // rounds of whole passes on one lane that nothing cuts and nobody waits for
  std::vector<Run> plain_runs_;    // of such a round
  bool runs_on_ = false;           // inside a loop whose lanes do not meet
  std::map<std::pair<Pass, int>, bool> amid_;  // a pass over a chunk has begun and not ended
  PerTensor needed_;                           // how often forward passes have needed it
  PerTensor left_;                             // how often it will still be given
  bool counts_ = false;                        // which is known
};

/// What is on the same lane as another wait, and later, has waited for that.
void Writer::wait_for(OpRef op) {
  if (op.index < 0) return;
  for (OpRef& wait : waits_)
    if (wait.lane == op.lane) {
      wait.index = std::max(wait.index, op.index);
      return;
    }
  waits_.push_back(op);
}

Work Writer::work_of(const Run& run) const {
  const bool alone = run.end - run.begin == 1 && (hooks_.in_pieces || !run.whole);
  if (alone) return run.front().work;
  const LayerWork& work = body_.chunks[run.front().chunk].work;
  return run.front().pass == Pass::kForward ? work.forward : work.backward;
}

OpRef Writer::add(const Run& run, Seconds duration, bool last) {
  const Piece& of = run.front();
  const bool ends = last && run.back().ends_pass;
  const OpRef op = program_.compute(lanes_[of.lane], name_of(of.pass), class_of(of.pass), duration, waits_,
                                    last && run.back().ends_micro_batch ? 1 : 0, work_of(run));
  waits_.clear();
  program_.set_pass(op, number_of(of), ends);
  return op;
}

/// Cuts the pass before each need at which a rule stands.
void Writer::write_needs(const Run& run, const Piece& piece, Seconds begin, Seconds& done) {
  for (const AtShare& need : piece.needs) {
    const bool is_first = hooks_.first.stands && piece.pass == Pass::kForward && needed_.of(need)++ == 0;
    for (const Before* hook : {is_first ? &hooks_.first : nullptr, &hooks_.before}) {
      if (hook == nullptr || !hook->stands || !hook->stands(piece.pass, need.set, need.tensor)) continue;
      const Seconds here = begin + need.at * piece.duration;
      if (!hooks_.in_pieces && here - done > Seconds{0}) {
        add(run, here - done, false);
        done = here;
      }
      wait_for(hook->write(program_, piece.pass, need.set, need.tensor));
    }
  }
}

const After* Writer::taken_by(const AtShare& given) {
  const bool last = counts_ && --left_.of(given) == 0;
  if (last && hooks_.last.stands && hooks_.last.stands(given.set, given.tensor)) return &hooks_.last;
  return hooks_.after.stands && hooks_.after.stands(given.set, given.tensor) ? &hooks_.after : nullptr;
}

void Writer::count_gives(const Pieces& pieces) {
  for (const Piece& piece : pieces)
    for (const AtShare& each : piece.gives) ++left_.of(each);
}

/// A cut is where the sum of the pieces is; the end of a forward pass, and of a backward pass without hooks, where the
/// chunk's own time is.
void Writer::write_run(const Run& run) {
  struct Taken {
    const After* by;
    AtShare given;
  };
  std::vector<Taken> at_end;  // the last gradient of the run, or all those of a piece
  Seconds begin, done;
  bool cut = false;
  const bool hooked = hooks_anywhere();
  if (!hooked && !run.whole)
    for (int i = run.begin; i < run.end; ++i) begin += run.pieces[i].duration;
  for (int i = run.begin; hooked && i < run.end; ++i) {
    const Piece& piece = run.pieces[i];
    write_needs(run, piece, begin, done);
    for (const AtShare& given : piece.gives) {
      const After* by = taken_by(given);
      if (by == nullptr) continue;
      cut = true;
      const bool more = std::any_of(run.pieces.begin() + i + 1, run.pieces.begin() + run.end,
                                    [](const Piece& later) { return !later.gives.empty(); });
      if (hooks_.in_pieces || (!more && &given == &piece.gives.back())) {
        at_end.push_back({by, given});
        continue;
      }
      const Seconds here = begin + given.at * piece.duration;
      const OpRef op = add(run, here - done, false);
      done = here;
      by->write(program_, given.set, given.tensor, op);
    }
    begin += piece.duration;
  }
  const Chunk& chunk = body_.chunks[run.front().chunk];
  Seconds end = begin;
  if (run.whole && run.front().pass == Pass::kForward) end = chunk.forward;
  if (run.whole && run.front().pass == Pass::kBackward && !cut) end = chunk.backward;
  const OpRef op = add(run, std::max(Seconds{0}, end - done), true);
  for (int i = run.begin; !plain_ && i < run.end; ++i) refs_[i] = op;
  for (const Taken& each : at_end) each.by->write(program_, each.given.set, each.given.tensor, op);
}

int Writer::end_of_run(const Pieces& pieces, const std::vector<bool>& awaited, int begin) const {
  const int size = static_cast<int>(pieces.size());
  int end = begin + 1;
  while (!hooks_.in_pieces && end < size) {
    const Piece &before = pieces[end - 1], &piece = pieces[end];
    if (before.ends_pass || awaited[end - 1] || !piece.waits.empty() || piece.pass != before.pass ||
        piece.chunk != before.chunk || piece.lane != before.lane)
      break;
    ++end;
  }
  return end;
}

void Writer::write_other(const Piece& piece) {
  const int lane = lanes_[piece.lane];
  if (piece.pass == Pass::kMessage)
    program_.collective(lane, piece.name, piece.message, waits_);
  else
    program_.compute(lane, piece.name, OpClass::kCopy, piece.duration, waits_);
  waits_.clear();
}

std::vector<bool> Writer::awaited_in(const Pieces& pieces) const {
  std::vector<bool> awaited(pieces.size());
  for (const Piece& piece : pieces)
    for (const Wait& wait : piece.waits)
      if (wait.rounds_back == 0) awaited[wait.piece] = true;
  if (&pieces != &body_.round) return awaited;
  for (const Pieces* list : {&body_.round, &body_.close})
    for (const Piece& piece : *list)
      for (const Wait& wait : piece.waits)
        if (wait.rounds_back > 0) awaited[wait.piece] = true;
  return awaited;
}

void Writer::wait_for_pieces(const Piece& piece) {
  const int lane = lanes_[piece.lane];
  for (const Wait& wait : piece.waits) {
    wait_for(wait.rounds_back == 0 ? refs_[wait.piece] : before_[wait.piece]);
    if (wait.rounds_back > 0 && runs_on_) later_.push_back({{lane, program_.last(lane).index + 1}, wait});
  }
}

void Writer::write_list(const Pieces& pieces, OpRef ready) {
  const std::vector<bool> awaited = awaited_in(pieces);
  refs_.assign(pieces.size(), OpRef{0, -1});
  wait_for(ready);
  for (int i = 0, end = 0; i < static_cast<int>(pieces.size()); i = end) {
    const Piece& piece = pieces[i];
    wait_for_pieces(piece);
    end = is_pass(piece) ? end_of_run(pieces, awaited, i) : i + 1;
    if (!is_pass(piece)) {
      write_other(piece);
      refs_[i] = program_.last(lanes_[piece.lane]);
    } else {
      bool& amid = amid_[{piece.pass, piece.chunk}];
      const bool ends = pieces[end - 1].ends_pass;
      write_run({pieces, i, end, !amid && ends});
      amid = !ends;
    }
    for (int k = i; k < end; ++k)
      if (pieces[k].stands_for >= 0) before_[pieces[k].stands_for] = refs_[k];
  }
}

bool Writer::is_plain() const {
  return !hooks_anywhere() && lanes_of_passes(body_) == 1 && body_.open.empty() && body_.close.empty() &&
         std::ranges::all_of(body_.round, [](const Piece& piece) { return is_pass(piece) && piece.waits.empty(); });
}

/// Schedules write thousands of these: where their passes end is found once.
void Writer::write_plain_round() {
  const Pieces& pieces = body_.round;
  if (plain_runs_.empty()) {
    const std::vector<bool> nobody(pieces.size());  // is waited for
    for (int i = 0, end = 0; i < static_cast<int>(pieces.size()); i = end) {
      end = end_of_run(pieces, nobody, i);
      plain_runs_.push_back({pieces, i, end, pieces[end - 1].ends_pass});
    }
  }
  for (const Run& run : plain_runs_) write_run(run);
}

void Writer::write_round(const Often& often) {
  if (plain_) {
    write_plain_round();
  } else {
    write_list(body_.round, hooks_.begin ? hooks_.begin(program_) : OpRef{0, -1});
    before_ = refs_;
  }
  if (hooks_.end) hooks_.end(program_);
  if (often.until.lane >= 0) program_.host(lanes_[0], "drained host", 1.0 / often.every * often.look);
}

/// Once in `every` micro-batches the host waits for the GPU; each has its part of it, so that a loop of millions stays
/// one body.
void Writer::add_loop(const Often& often, int rounds) {
  if (hooks_into_rounds()) {
    program_.begin_loop_on_all(rounds);
    write_round(often);
    program_.end_loop_on_all();
    return;
  }
  NewLoop loop;
  loop.lanes.assign(lanes_.begin(), lanes_.begin() + static_cast<std::ptrdiff_t>(lanes_of_passes(body_)));
  loop.min = rounds;
  loop.until = often.until;
  if (often.until.lane >= 0) {
    loop.stride = std::max(1, often.every / body_.a_round);
    loop.min = (rounds + loop.stride - 1) / loop.stride;
    loop.decided_by = body_.replica;
  }
  loop.runs_on = runs_on_ = loop.lanes.size() > 1;
  program_.begin_loop(loop);
  write_round(often);
  for (const Later& each : later_) {
    OpRef op = refs_[each.wait.piece];
    op.rounds_back = each.wait.rounds_back;
    program_.add_wait(each.of, op);
  }
  later_.clear();
  runs_on_ = false;
  program_.end_loop(lanes_[0]);
}

void Writer::write_loop(const Often& often, int rounds) {
  if (rounds == 0) return;
  if (often.written) {
    for (int i = 0; i < rounds; ++i) write_round(often);
    return;
  }
  add_loop(often, rounds);
  for (std::size_t i = 0; i < body_.round.size(); ++i) before_[i] = program_.last(lanes_[body_.round[i].lane]);
}

void Writer::write_short(int least) {
  if (least > body_.opened) throw std::logic_error("a body without rounds has no more micro-batches than it opens");
  if (hooks_.last.stands) count_gives(body_.open);
  counts_ = hooks_.last.stands != nullptr;
  write_list(body_.open, {0, -1});
}

void Writer::write(const Often& often) {
  if (often.least <= 0) return;
  const int rounds = std::max(1, (often.least - body_.opened + body_.a_round - 1) / body_.a_round);
  if (often.until.lane >= 0 && hooks_anywhere()) throw std::logic_error("which round is the last is not known before");
  if (body_.round.empty()) return write_short(often.least);
  write_list(body_.open, {0, -1});
  const bool first = hooks_.first.stands && has_new(body_.round, &Piece::needs, needed_);
  if (hooks_.last.stands) count_gives(body_.close);
  const bool last = hooks_.last.stands && has_new(body_.round, &Piece::gives, left_);
  const int apart = std::min(rounds, (first ? 1 : 0) + (last ? 1 : 0));
  const auto write_last = [&] {
    count_gives(body_.round);
    counts_ = true;
    write_round(often);
  };
  if (first && !(last && apart == 1)) write_round(often);
  write_loop(often, rounds - apart);
  if (last) write_last();
  counts_ = hooks_.last.stands != nullptr;
  write_list(body_.close, {0, -1});
}

}  // namespace

void write(ProgramBuilder& program, const Body& body, const Often& often, const Hooks& hooks) {
  Writer(program, body, hooks).write(often);
}

struct OpenFlight::State {
  State(ProgramBuilder& program, const Body& of) : body(of), writer(program, of, hooks) {}
  const Body& body;
  const Hooks hooks{};
  Writer writer;
};

OpenFlight::OpenFlight(ProgramBuilder& program, const Body& body) : state_(std::make_unique<State>(program, body)) {
  if (body.round.empty()) throw std::logic_error("a flight that goes on has rounds");
  state_->writer.write_list(body.open, {0, -1});
}

OpenFlight::~OpenFlight() = default;

void OpenFlight::go_on(const Often& often) { state_->writer.write_loop(often, often.least); }

void OpenFlight::close() { state_->writer.write_list(state_->body.close, {0, -1}); }

OpRef write_finish(ProgramBuilder& program, const Body& body, OpRef ready) {
  if (body.finish.empty()) return ready;
  const Hooks none;
  Writer(program, body, none).write_list(body.finish, ready);
  return program.last(program.lane(body.lanes[body.finish.back().lane]));
}

}  // namespace accosim

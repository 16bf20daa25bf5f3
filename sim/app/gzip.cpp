// zlib's only home.
#include "sim/app/gzip.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <array>
#include <stdexcept>
#include <streambuf>
#include <vector>

namespace accosim {
namespace {

constexpr int kGzipWindow = 15 + 16;  // 32 KiB, and gzip's header around it
constexpr std::size_t kChunk = std::size_t{1} << 16;

Bytef* bytes_of(std::string_view text) {
  return reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));  // zlib 1.2 takes what it only reads as not const
}

}  // namespace

bool is_gzip_name(const std::string& path) {
  constexpr std::string_view kEnd = ".gz";
  return path.size() > kEnd.size() && path.compare(path.size() - kEnd.size(), kEnd.size(), kEnd) == 0;
}

bool is_gzipped(std::string_view bytes) { return bytes.substr(0, 2) == "\x1f\x8b"; }

struct GzipWriter::State : std::streambuf {
  State(std::ostream& to, std::string words) : out(to), comment(std::move(words)), plain(kChunk), packed(kChunk) {
    constexpr int kMemory = 8;  // zlib's default
    if (deflateInit2(&zlib, Z_DEFAULT_COMPRESSION, Z_DEFLATED, kGzipWindow, kMemory, Z_DEFAULT_STRATEGY) != Z_OK)
      throw std::runtime_error("zlib cannot be started");
    header.comment = bytes_of(comment);
    constexpr int kUnknownSystem = 255;
    header.os = kUnknownSystem;
    deflateSetHeader(&zlib, &header);
    setp(plain.data(), plain.data() + plain.size());
    stream.rdbuf(this);
    stream.exceptions(std::ios::badbit);  // which lets the other stream's own through
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() override { deflateEnd(&zlib); }

  int_type overflow(int_type c) override {
    pack(Z_NO_FLUSH);
    if (!traits_type::eq_int_type(c, traits_type::eof())) sputc(traits_type::to_char_type(c));
    return traits_type::not_eof(c);
  }

  void pack(int flush) {
    zlib.next_in = bytes_of({pbase(), static_cast<std::size_t>(pptr() - pbase())});
    zlib.avail_in = static_cast<uInt>(pptr() - pbase());
    do {
      zlib.next_out = reinterpret_cast<Bytef*>(packed.data());
      zlib.avail_out = static_cast<uInt>(packed.size());
      deflate(&zlib, flush);  // fails only where its arguments are wrong
      out.write(packed.data(), static_cast<std::streamsize>(packed.size() - zlib.avail_out));
    } while (zlib.avail_out == 0);
    setp(plain.data(), plain.data() + plain.size());
  }

  std::ostream& out;
  std::string comment;
  std::vector<char> plain, packed;
  z_stream zlib{};
  gz_header header{};
  std::ostream stream{nullptr};
};

GzipWriter::GzipWriter(std::ostream& out, const std::string& comment) : state_(std::make_unique<State>(out, comment)) {}

GzipWriter::~GzipWriter() = default;

std::ostream& GzipWriter::stream() { return state_->stream; }

void GzipWriter::finish() {
  state_->pack(Z_FINISH);
  state_->out.flush();
}

std::string gunzip(std::string_view bytes, std::string& text, std::size_t most_bytes) {
  z_stream zlib{};
  if (inflateInit2(&zlib, kGzipWindow) != Z_OK) return "cannot be unpacked: zlib cannot be started";
  const std::unique_ptr<z_stream, int (*)(z_stream*)> ended(&zlib, inflateEnd);
  zlib.next_in = bytes_of(bytes);
  zlib.avail_in = static_cast<uInt>(bytes.size());
  std::array<char, kChunk> chunk{};
  for (;;) {
    zlib.next_out = reinterpret_cast<Bytef*>(chunk.data());
    zlib.avail_out = static_cast<uInt>(chunk.size());
    const int status = inflate(&zlib, Z_NO_FLUSH);
    text.append(chunk.data(), chunk.size() - zlib.avail_out);
    if (text.size() > most_bytes)
      return fmt::format("is larger than {} MiB when it is unpacked; check that it is the right file",
                         most_bytes >> 20);
    if (status == Z_STREAM_END) {
      if (zlib.avail_in == 0) return {};
      inflateReset(&zlib);
    } else if (status == Z_BUF_ERROR || (status == Z_OK && zlib.avail_in == 0 && zlib.avail_out > 0)) {
      return "is cut off: it ends in the middle of what gzip has packed; copy it anew";
    } else if (status != Z_OK) {
      return "is damaged: gzip cannot unpack it; copy it anew";
    }
  }
}

}  // namespace accosim

// Objects inside an object: each is read where it stands and to its end, so that what nobody asked for is reported
// there.
#pragma once

#include <cstddef>
#include <functional>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>

#include "models/base/reader.hpp"

namespace accosim {

using ReadPart = std::function<void(ObjectReader& part)>;

/// The object at `key`; whether there is something. `notes`: of ObjectReader::finish().
bool read_part(ObjectReader& whole, std::string_view key, const ReadPart& read,
               const std::map<std::string, std::string>& notes = {});
/// The same where an absent one is an error.
void read_object(ObjectReader& whole, std::string_view key, const ReadPart& read);
/// Each object of a list of `least` to `most`.
void read_objects(ObjectReader& whole, std::string_view key, std::size_t least, std::size_t most, const ReadPart& read);
/// Accepts keys that are meant for people or for other programs.
void pass_over(ObjectReader& reader, std::initializer_list<const char*> keys);

}  // namespace accosim

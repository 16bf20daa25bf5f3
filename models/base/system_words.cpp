#include "models/base/system_words.hpp"

#include <cerrno>
#include <cstring>

namespace accosim {

std::string system_words(int error) {
  switch (error) {
    case EACCES:
    case EPERM: return "this user may not; change its permissions, or name another file";
    case EDQUOT:
    case ENOSPC: return "the disk is full; make room";
    case EINVAL: return "it is no path; name a file";
    case EISDIR: return "is a folder; name a file in it";
    case ELOOP: return "its symbolic links lead in a circle; name the file itself";
    case EMFILE:
    case ENFILE: return "too many files are open; close some";
    case ENAMETOOLONG: return "its name is too long; shorten it";
    case ENOENT: return "there is no such file; check the path";
    case ENOTDIR: return "a part of its path is a file, and no folder; check the path";
    case ENXIO: return "it is a socket or a pipe without a reader; name a file";
    case EROFS: return "its file system is read-only; name a file elsewhere";
    default: return std::strerror(error);
  }
}

}  // namespace accosim

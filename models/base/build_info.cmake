# What the code must know of its own build (where the sources are, which version, why there is no CUDA) comes to it as
# generated headers and never through COMPILE_DEFINITIONS: a definition passes through CMake's lists, ninja and a shell, and a
# semicolon, a quote or a # in a path or a sentence does not survive the way.
include_guard()
set(ACCOSIM_BUILD_INFO_DIR ${CMAKE_BINARY_DIR}/generated)

# accosim_build_info(NAME key text [key text]...): writes build_info/NAME.hpp with `inline constexpr char key[]` in
# namespace accosim for each pair. A file that would stay the same is left alone, so that nothing is compiled again for it.
function(accosim_build_info name)
  set(lines "// Written by models/base/build_info.cmake: what the code knows of its own build.\n#pragma once\n\nnamespace accosim {\n\n")
  math(EXPR last "${ARGC} - 1")
  foreach(at RANGE 1 ${last} 2)
    math(EXPR text_at "${at} + 1")
    set(text "${ARGV${text_at}}")
    string(REPLACE "\\" "\\\\" text "${text}")
    string(REPLACE "\"" "\\\"" text "${text}")
    string(REPLACE "\n" "\\n" text "${text}")
    string(REPLACE "\t" "\\t" text "${text}")
    string(APPEND lines "inline constexpr char ${ARGV${at}}[] = \"${text}\";\n")
  endforeach()
  string(APPEND lines "\n}  // namespace accosim\n")
  set(file "${ACCOSIM_BUILD_INFO_DIR}/build_info/${name}.hpp")
  set(present "")
  if(EXISTS "${file}")
    file(READ "${file}" present)
  endif()
  if(NOT present STREQUAL lines)
    file(WRITE "${file}" "${lines}")
  endif()
endfunction()

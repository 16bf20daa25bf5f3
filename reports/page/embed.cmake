# Puts the page together and writes it as a C++ source (reports/page_files.hpp). A script of CMake, so that nothing else is
# needed: cmake -D folder=reports/page -D to=FILE.cpp -P embed.cmake
cmake_minimum_required(VERSION 3.25)
include(${folder}/files.cmake)

# base64_of(hexadecimal result): of a whole number of bytes.
function(base64_of hex result)
  set(alphabet "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
  string(LENGTH "${hex}" digits)
  math(EXPR missing "(6 - ${digits} % 6) % 6")
  string(REPEAT "0" ${missing} zeros)
  string(APPEND hex "${zeros}")
  math(EXPR last "${digits} + ${missing} - 1")
  set(text "")
  foreach(at RANGE 0 ${last} 3)  # three hexadecimal digits are two characters
    string(SUBSTRING "${hex}" ${at} 3 three)
    math(EXPR high "0x${three} >> 6")
    math(EXPR low "0x${three} & 63")
    string(SUBSTRING "${alphabet}" ${high} 1 high)
    string(SUBSTRING "${alphabet}" ${low} 1 low)
    string(APPEND text "${high}${low}")
  endforeach()
  math(EXPR padding "${missing} / 2")
  string(LENGTH "${text}" length)
  math(EXPR length "${length} - ${padding}")
  string(SUBSTRING "${text}" 0 ${length} text)
  string(REPEAT "=" ${padding} equals)
  set(${result} "${text}${equals}" PARENT_SCOPE)
endfunction()

# The Content-Security-Policy allows these scripts, by their hashes, and no others.
function(policy_hash text result)
  string(SHA256 hash "${text}")
  base64_of("${hash}" hash)
  set(${result} "'sha256-${hash}'" PARENT_SCOPE)
endfunction()

file(READ "${folder}/echarts.js" charts)
set(script "'use strict';\n")
foreach(file IN LISTS page_scripts)
  file(READ "${folder}/${file}" text)
  string(APPEND script "\n${text}")
endforeach()
foreach(text IN ITEMS charts script)
  string(TOLOWER "${${text}}" lower)
  if(lower MATCHES "</script|<!--")
    message(FATAL_ERROR "a script of the page holds </script or <!--, which would end it")
  endif()
endforeach()
policy_hash("${charts}" charts_hash)
policy_hash("${script}" script_hash)

file(READ "${folder}/template.html" page)
file(READ "${folder}/style.css" style)
string(REPLACE "@SCRIPT_HASHES@" "${charts_hash} ${script_hash}" page "${page}")
string(REPLACE "@STYLE@" "${style}" page "${page}")
string(REPLACE "@CHARTS@" "${charts}" page "${page}")
string(REPLACE "@SCRIPT@" "${script}" page "${page}")
string(FIND "${page}" "@DOCUMENT@" cut)
math(EXPR after "${cut} + 10")
string(SUBSTRING "${page}" 0 ${cut} before)
string(SUBSTRING "${page}" ${after} -1 after)

# Bytes as escapes, in pieces of a size that every compiler takes.
function(pieces_of text result)
  file(WRITE "${to}.part" "${text}")
  file(READ "${to}.part" hex HEX)
  file(REMOVE "${to}.part")
  string(LENGTH "${hex}" digits)
  math(EXPR last "${digits} - 1")
  set(lines "")
  foreach(at RANGE 0 ${last} 16384)
    string(SUBSTRING "${hex}" ${at} 16384 piece)
    string(REGEX REPLACE "(..)" "\\\\x\\1" piece "${piece}")
    string(APPEND lines "  \"${piece}\",\n")
  endforeach()
  set(${result} "${lines}" PARENT_SCOPE)
endfunction()
pieces_of("${before}" before)
pieces_of("${after}" after)
file(WRITE "${to}" "// Written by reports/page/embed.cmake from the files beside it.
#include \"reports/page_files.hpp\"

namespace accosim {

const std::vector<std::string_view> kPageBefore = {
${before}};
const std::vector<std::string_view> kPageAfter = {
${after}};

}  // namespace accosim
")

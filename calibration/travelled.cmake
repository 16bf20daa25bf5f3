# The libraries of accocal where nothing can be installed, as on many GPU machines: headers that travel with the sources,
# in build/travelled, put there by calibration/pack. What is installed is taken where they are not.
set(travelled ${PROJECT_SOURCE_DIR}/build/travelled)
if(NOT EXISTS ${travelled}/include)
  find_package(fmt REQUIRED)
  find_package(nlohmann_json REQUIRED)
  find_package(CLI11 REQUIRED)
  find_package(Eigen3 REQUIRED)
  return()
endif()
foreach(library fmt::fmt nlohmann_json::nlohmann_json CLI11::CLI11 Eigen3::Eigen)
  add_library(${library} INTERFACE IMPORTED GLOBAL)
  target_include_directories(${library} INTERFACE ${travelled}/include)
endforeach()
target_compile_definitions(fmt::fmt INTERFACE FMT_HEADER_ONLY)
if(BUILD_TESTING)
  add_subdirectory(${travelled}/googletest ${CMAKE_BINARY_DIR}/googletest EXCLUDE_FROM_ALL)
  target_compile_options(gtest PRIVATE -w)  # its warnings are not ours to mend
endif()

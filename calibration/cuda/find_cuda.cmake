# Is there CUDA, and shall it be used? Leaves ACCOSIM_CUDA_FOUND, or why not in ACCOSIM_NO_CUDA. A language is enabled in
# the folder above all targets that have a part in it, so the project's own CMakeLists.txt includes this.
set(ACCOSIM_CUDA_FOUND OFF)
set(ACCOSIM_NO_CUDA "")

# What is missing is an error only where CUDA was insisted on.
macro(accosim_no_cuda why)
  set(ACCOSIM_CUDA_FOUND OFF)
  set(ACCOSIM_NO_CUDA "${why}")
  if(ACCOSIM_CUDA STREQUAL "ON")
    message(FATAL_ERROR "ACCOSIM_CUDA is ON, and ${why}")
  endif()
  message(STATUS "accocal runs on CPUs only: ${why}")
endmacro()

if(ACCOSIM_CUDA STREQUAL "OFF")
  accosim_no_cuda("ACCOSIM_CUDA is OFF")
  return()
endif()
include(CheckLanguage)
# A compiler that is not on the path is often still in its usual place.
if(NOT CMAKE_CUDA_COMPILER AND NOT DEFINED ENV{CUDACXX})
  find_program(ACCOSIM_NVCC nvcc HINTS /usr/local/cuda/bin)
  if(ACCOSIM_NVCC)
    set(CMAKE_CUDA_COMPILER ${ACCOSIM_NVCC})
  endif()
endif()
check_language(CUDA)
if(NOT CMAKE_CUDA_COMPILER)
  accosim_no_cuda("there is no nvcc that works; put it on the path, or set CMAKE_CUDA_COMPILER to it")
  return()
endif()

# Data-centre parts from A100 on. For a V100 take CUDA 12, the last to know it, and -DCMAKE_CUDA_ARCHITECTURES=70.
if(NOT CMAKE_CUDA_ARCHITECTURES)
  set(CMAKE_CUDA_ARCHITECTURES "80;90")
endif()
execute_process(COMMAND ${CMAKE_CUDA_COMPILER} --list-gpu-arch OUTPUT_VARIABLE known ERROR_QUIET)
foreach(architecture IN LISTS CMAKE_CUDA_ARCHITECTURES)
  string(REGEX MATCH "^[0-9]+" number "${architecture}")
  if(number AND known AND NOT known MATCHES "compute_${number}[^0-9]")
    message(FATAL_ERROR "${CMAKE_CUDA_COMPILER} does not know sm_${number}; name an nvcc that does: CUDACXX=/path/to/nvcc "
      "(CUDA 12 is the last to know a V100, sm_70)")
  endif()
endforeach()
enable_language(CUDA)
if(CMAKE_CUDA_COMPILER_VERSION VERSION_LESS 12)
  accosim_no_cuda("CUDA ${CMAKE_CUDA_COMPILER_VERSION} has no C++20; install CUDA 12 or 13")
  return()
endif()
set(CMAKE_CUDA_STANDARD 20)
# CMake before 3.25.2 does not know that nvcc has it.
if(NOT DEFINED CMAKE_CUDA20_STANDARD_COMPILE_OPTION)
  set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
  set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION -std=c++20)
endif()
find_package(CUDAToolkit REQUIRED)

# A compiler may come without the libraries: then those that pip brought for PyTorch do, which have no link names.
execute_process(COMMAND python3 -c
    "import importlib.util as u; s = u.find_spec('nvidia'); print(';'.join(s.submodule_search_locations) if s else '')"
  OUTPUT_VARIABLE wheels OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
set(wheel_includes "")
set(wheel_libraries "")
foreach(wheel IN LISTS wheels)
  file(GLOB found LIST_DIRECTORIES ON ${wheel}/*/include)
  list(APPEND wheel_includes ${found})
  file(GLOB found LIST_DIRECTORIES ON ${wheel}/*/lib)
  list(APPEND wheel_libraries ${found})
endforeach()
find_path(CUBLASLT_INCLUDE_DIR cublasLt.h HINTS ${CUDAToolkit_INCLUDE_DIRS} PATHS ${wheel_includes})
find_library(CUBLASLT_LIBRARY NAMES cublasLt libcublasLt.so.${CUDAToolkit_VERSION_MAJOR}
  HINTS ${CUDAToolkit_LIBRARY_DIR} ${CUDAToolkit_LIBRARY_ROOT}/lib PATHS ${wheel_libraries})
find_path(NCCL_INCLUDE_DIR nccl.h HINTS ${CUDAToolkit_INCLUDE_DIRS} PATHS ${wheel_includes})
find_library(NCCL_LIBRARY NAMES nccl libnccl.so.2
  HINTS ${CUDAToolkit_LIBRARY_DIR} ${CUDAToolkit_LIBRARY_ROOT}/lib PATHS ${wheel_libraries})
if(NOT CUBLASLT_INCLUDE_DIR OR NOT CUBLASLT_LIBRARY)
  accosim_no_cuda("there is nvcc and no cuBLASLt; install libcublas-dev, or set CUBLASLT_INCLUDE_DIR and CUBLASLT_LIBRARY")
  return()
endif()
if(NOT NCCL_INCLUDE_DIR OR NOT NCCL_LIBRARY)
  message(STATUS "accocal runs one rank on a GPU: there is no NCCL; install libnccl-dev for more")
endif()
set(ACCOSIM_CUDA_FOUND ON)

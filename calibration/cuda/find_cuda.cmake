# Is there CUDA, and shall it be used? Leaves ACCOSIM_CUDA_FOUND. A language is enabled in the folder above all targets
# that have a part in it, so the project's own CMakeLists.txt includes this.
set(ACCOSIM_CUDA_FOUND OFF)
if(NOT ACCOSIM_CUDA STREQUAL "OFF")
  include(CheckLanguage)
  # A compiler that is not on the path is often still in its usual place.
  if(NOT CMAKE_CUDA_COMPILER AND NOT DEFINED ENV{CUDACXX})
    find_program(ACCOSIM_NVCC nvcc HINTS /usr/local/cuda/bin)
    if(ACCOSIM_NVCC)
      set(CMAKE_CUDA_COMPILER ${ACCOSIM_NVCC})
    endif()
  endif()
  check_language(CUDA)
  if(CMAKE_CUDA_COMPILER)
    set(ACCOSIM_CUDA_FOUND ON)
  elseif(ACCOSIM_CUDA STREQUAL "ON")
    message(FATAL_ERROR "ACCOSIM_CUDA is ON and there is no nvcc; set CMAKE_CUDA_COMPILER to it")
  endif()
endif()

if(ACCOSIM_CUDA_FOUND)
  # Data-centre parts from A100 on. For a V100 take CUDA 12, the last to know it, and -DCMAKE_CUDA_ARCHITECTURES=70.
  if(NOT CMAKE_CUDA_ARCHITECTURES)
    set(CMAKE_CUDA_ARCHITECTURES "80;90")
  endif()
  enable_language(CUDA)
  set(CMAKE_CUDA_STANDARD 20)
  # CMake before 3.25.2 does not know that nvcc has it.
  if(NOT DEFINED CMAKE_CUDA20_STANDARD_COMPILE_OPTION)
    set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
    set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION -std=c++20)
  endif()
endif()

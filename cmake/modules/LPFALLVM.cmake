# Finds LLVM and MLIR 22, and a python for the tests.

find_package(LLVM REQUIRED CONFIG)
if(NOT LLVM_VERSION_MAJOR EQUAL 22)
  message(FATAL_ERROR "lpfa needs LLVM 22, found ${LLVM_VERSION} in ${LLVM_DIR}")
endif()
list(APPEND CMAKE_MODULE_PATH ${LLVM_CMAKE_DIR})
if(LPFA_BUILD_COMPILER)
  find_package(MLIR REQUIRED CONFIG)
  list(APPEND CMAKE_MODULE_PATH ${MLIR_CMAKE_DIR})
  include(TableGen)
  include(AddMLIR)
endif()
include(AddLLVM)
set(LLVM_ENABLE_ASSERTIONS ${LLVM_ENABLE_ASSERTIONS} CACHE BOOL "")
include(HandleLLVMOptions)

find_program(LPFA_PYTHON python3 PATHS ${PROJECT_SOURCE_DIR}/.venv/bin NO_DEFAULT_PATH
  DOC "A python that has lit, numpy and ml_dtypes")
find_program(LPFA_PYTHON python3)

include_directories(SYSTEM ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS})
separate_arguments(lpfa_llvm_definitions NATIVE_COMMAND "${LLVM_DEFINITIONS}")
add_definitions(${lpfa_llvm_definitions})

if(LPFA_STATIC_MLIR)
  get_property(LPFA_MLIR_LIBS GLOBAL PROPERTY MLIR_ALL_LIBS)
  set(LPFA_LLVM_LIBS LLVMSupport)
else()
  set(LPFA_MLIR_LIBS MLIR)
  set(LPFA_LLVM_LIBS LLVM)
endif()

# Finds LLVM and MLIR 22, unless the runtime is built alone, and defines the
# wrappers that every directory uses.

include(GNUInstallDirs)
include_directories(${PROJECT_SOURCE_DIR}/include ${PROJECT_BINARY_DIR}/include)
if(NOT LPFA_RUNTIME_ONLY)
  include(LPFALLVM)
endif()

# Makes a library part of the CMake package.
function(lpfa_export_library name)
  target_include_directories(${name} INTERFACE
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
    $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/include>
    $<INSTALL_INTERFACE:include>)
  set_property(GLOBAL APPEND PROPERTY LPFA_LIBRARIES ${name})
endfunction()

# lpfa_mlir_library(NAME sources... [LINK_LIBS libs...] [DEPENDS targets...])
# A static library of code that uses MLIR. MLIR's headers take half a minute to
# parse, so all such libraries share one precompiled header.
function(lpfa_mlir_library name)
  cmake_parse_arguments(ARG "" "" "LINK_LIBS;DEPENDS" ${ARGN})
  add_library(${name} STATIC ${ARG_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PUBLIC ${ARG_LINK_LIBS} ${LPFA_MLIR_LIBS} ${LPFA_LLVM_LIBS})
  target_precompile_headers(${name} REUSE_FROM lpfa_pch)
  add_dependencies(${name} lpfa-headers ${ARG_DEPENDS})
  lpfa_export_library(${name})
  set_property(GLOBAL APPEND PROPERTY LPFA_MLIR_LIBRARIES ${name})
endfunction()

# lpfa_library(NAME sources... [LINK_LIBS libs...])
# A static library that uses at most LLVM's support libraries.
function(lpfa_library name)
  cmake_parse_arguments(ARG "" "" "LINK_LIBS" ${ARGN})
  add_library(${name} STATIC ${ARG_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PUBLIC ${ARG_LINK_LIBS} ${LPFA_LLVM_LIBS})
  lpfa_export_library(${name})
endfunction()

# lpfa_tool(NAME sources... [LINK_LIBS libs...] [MLIR])
function(lpfa_tool name)
  cmake_parse_arguments(ARG "MLIR" "" "LINK_LIBS" ${ARGN})
  add_executable(${name} ${ARG_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PRIVATE ${ARG_LINK_LIBS})
  if(ARG_MLIR)
    # The precompiled header is built with -fPIC, CMake gives executables -fPIE.
    target_compile_options(${name} PRIVATE -fPIC)
    target_precompile_headers(${name} REUSE_FROM lpfa_pch)
    add_dependencies(${name} lpfa-headers)
  endif()
  set_property(GLOBAL APPEND PROPERTY LPFA_TOOLS ${name})
  install(TARGETS ${name} RUNTIME)
endfunction()

# lpfa_unittest(NAME sources... [LINK_LIBS libs...] [MLIR])
# A GoogleTest executable, named ...Tests, that check-lpfa builds and runs.
function(lpfa_unittest name)
  cmake_parse_arguments(ARG "MLIR" "" "LINK_LIBS" ${ARGN})
  add_executable(${name} EXCLUDE_FROM_ALL ${ARG_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PRIVATE ${ARG_LINK_LIBS} GTest::gtest GTest::gtest_main)
  set_target_properties(${name} PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR})
  if(ARG_MLIR)
    target_compile_options(${name} PRIVATE -fPIC)
    target_precompile_headers(${name} REUSE_FROM lpfa_pch)
    add_dependencies(${name} lpfa-headers)
  endif()
  set_property(GLOBAL APPEND PROPERTY LPFA_UNITTESTS ${name})
endfunction()

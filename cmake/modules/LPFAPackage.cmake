# Installs libraries, headers and the CMake package. find_package(LPFA) works
# with an install prefix and with a build tree (LPFA_DIR=<build>/lib/cmake/lpfa).

include(CMakePackageConfigHelpers)

set(lpfa_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/lpfa)
set(lpfa_build_package_dir ${PROJECT_BINARY_DIR}/lib/cmake/lpfa)

get_property(lpfa_libraries GLOBAL PROPERTY LPFA_LIBRARIES)
install(TARGETS ${lpfa_libraries} EXPORT LPFATargets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(EXPORT LPFATargets DESTINATION ${lpfa_package_dir})
export(EXPORT LPFATargets FILE ${lpfa_build_package_dir}/LPFATargets.cmake)

install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/lpfa ${PROJECT_BINARY_DIR}/include/lpfa
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  FILES_MATCHING PATTERN "*.h" PATTERN "*.td" PATTERN "*.inc"
  PATTERN CMakeFiles EXCLUDE)
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})

configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/LPFAConfig.cmake.in
  ${lpfa_build_package_dir}/LPFAConfig.cmake
  INSTALL_DESTINATION ${lpfa_package_dir})
write_basic_package_version_file(${lpfa_build_package_dir}/LPFAConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${lpfa_build_package_dir}/LPFAConfig.cmake
  ${lpfa_build_package_dir}/LPFAConfigVersion.cmake
  DESTINATION ${lpfa_package_dir})

# What `cmake --install BUILD_FOLDER` puts on a machine, the same as a Debian package, and how to take it away again.
# An installed program needs nothing of the clone: its data are in share/accosim, found from where the program is.

set(accosim_shares "${CMAKE_BINARY_DIR}/shell")  # written with the program
install(TARGETS accosim RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
install(TARGETS accocal RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}" OPTIONAL)  # `./accosim` alone does not build it
install(TARGETS accosim_simgrid LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}/accosim")
install(FILES "${accosim_shares}/accosim.1" DESTINATION "${CMAKE_INSTALL_MANDIR}/man1")
install(FILES "${accosim_shares}/accosim" DESTINATION "${CMAKE_INSTALL_DATADIR}/bash-completion/completions")
install(FILES "${accosim_shares}/_accosim" DESTINATION "${CMAKE_INSTALL_DATADIR}/zsh/site-functions")
install(FILES "${accosim_shares}/accosim.fish" DESTINATION "${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d")

# The folders of the clone that the programs and their documents name, under the same names.
set(data "${CMAKE_INSTALL_DATADIR}/accosim")
install(DIRECTORY scenarios DESTINATION "${data}")
install(DIRECTORY calibration/profiles calibration/tables calibration/data DESTINATION "${data}/calibration")
install(DIRECTORY calibration/samples DESTINATION "${data}/calibration" OPTIONAL)  # of our own GPUs
install(FILES calibration/constants.json DESTINATION "${data}/calibration")
install(DIRECTORY reports/published DESTINATION "${data}/reports")
install(FILES README.md CHANGELOG.md DESTINATION "${CMAKE_INSTALL_DOCDIR}")
install(FILES LICENSE DESTINATION "${CMAKE_INSTALL_DOCDIR}" RENAME copyright)
install(FILES reports/page/echarts.LICENSE DESTINATION "${CMAKE_INSTALL_DOCDIR}")

# `cmake --build BUILD_FOLDER --target uninstall` takes away what the last `cmake --install` of this folder put there.
file(WRITE "${CMAKE_BINARY_DIR}/uninstall.cmake" [=[
file(STRINGS "${CMAKE_CURRENT_LIST_DIR}/install_manifest.txt" installed)
foreach(file IN LISTS installed)
  file(REMOVE "$ENV{DESTDIR}${file}")
  cmake_path(GET file PARENT_PATH folder)
  while(folder MATCHES "/accosim(/|$)")  # folders that are ours alone
    file(GLOB left "$ENV{DESTDIR}${folder}/*")
    if(left)
      break()
    endif()
    file(REMOVE_RECURSE "$ENV{DESTDIR}${folder}")
    cmake_path(GET folder PARENT_PATH folder)
  endwhile()
endforeach()
file(REMOVE "${CMAKE_CURRENT_LIST_DIR}/install_manifest.txt")
]=])
add_custom_target(uninstall COMMAND "${CMAKE_COMMAND}" -P "${CMAKE_BINARY_DIR}/uninstall.cmake" VERBATIM)

# `cmake --build BUILD_FOLDER --target package` makes build/accosim.deb; it needs dpkg-dev and file, which .ci/package
# installs.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_FILE_NAME accosim)
set(CPACK_PACKAGE_DIRECTORY "${PROJECT_SOURCE_DIR}/build")
set(CPACK_PACKAGE_CONTACT "the authors of accosim")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION "predict how long distributed training of language models takes
 Describe a cluster and a training; accosim compares schedules (DDP, ZeRO, FSDP, DPU, ACCO, DiLoCo), says where the time
 goes, whether it fits into memory and what it costs, and draws it. accocal measures what the predictions rest on.")
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS iproute2)  # accocal's namespaces
set(CPACK_DEBIAN_PACKAGE_SUGGESTS librsvg2-bin)  # pictures as .png and .pdf
include(CPack)

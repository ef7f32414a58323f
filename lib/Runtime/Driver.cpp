//===- Driver.cpp - CUDA driver API ---------------------------------------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Driver.h"
#include <dlfcn.h>
#include <memory>

using namespace lpfa::cuda;

static std::unique_ptr<Driver> load(std::string &error) {
  void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    error = "no GPU: libcuda.so.1, which NVIDIA's driver installs, cannot be "
            "loaded";
    return nullptr;
  }
  auto driver = std::make_unique<Driver>();
#define LPFA_CUDA_FUNCTION(name, exported, parameters)                         \
  driver->name =                                                               \
      reinterpret_cast<decltype(driver->name)>(dlsym(library, #exported));     \
  if (!driver->name) {                                                         \
    error = "the GPU's driver is too old: it has no " #exported;               \
    return nullptr;                                                            \
  }
  LPFA_CUDA_FUNCTIONS
#undef LPFA_CUDA_FUNCTION
  driver->functionGetParameterInfo =
      reinterpret_cast<decltype(driver->functionGetParameterInfo)>(
          dlsym(library, "cuFuncGetParamInfo"));
  if (!driver->check(driver->init(0), "no GPU", error))
    return nullptr;
  return driver;
}

const Driver *Driver::get(std::string &error) {
  static std::string reason;
  static const std::unique_ptr<Driver> driver = load(reason);
  if (!driver)
    error = reason;
  return driver.get();
}

bool Driver::check(Result result, const std::string &what,
                   std::string &error) const {
  if (result == Success)
    return true;
  const char *name = nullptr, *text = nullptr;
  getErrorName(result, &name);
  getErrorString(result, &text);
  error = what + ": " + (text ? text : "unknown error") + " (" +
          (name ? name : std::to_string(result)) + ")";
  return false;
}

//===- Device.cpp - GPUs and their memory ---------------------------------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lpfa/Runtime/Device.h"
#include "Driver.h"
#include <algorithm>
#include <cstdlib>

using namespace lpfa;

//===----------------------------------------------------------------------===//
// Device
//===----------------------------------------------------------------------===//

bool lpfa::isCompatible(const std::string &chip, int computeCapability) {
  if (chip.rfind("sm_", 0) != 0)
    return false;
  char *suffix = nullptr;
  long wanted = std::strtol(chip.c_str() + 3, &suffix, 10);
  std::string kind = suffix;
  if (kind == "a")
    return wanted == computeCapability;
  return (kind.empty() || kind == "f") &&
         wanted / 10 == computeCapability / 10 && wanted <= computeCapability;
}

std::unique_ptr<Device> Device::open(int ordinal, std::string &error) {
  const cuda::Driver *driver = cuda::Driver::get(error);
  if (!driver)
    return nullptr;
  int count = 0;
  if (!driver->check(driver->deviceGetCount(&count), "no GPU", error))
    return nullptr;
  if (ordinal < 0 || ordinal >= count) {
    error = "no GPU " + std::to_string(ordinal) + ": the machine has " +
            std::to_string(count);
    return nullptr;
  }
  std::string what = "GPU " + std::to_string(ordinal);
  cuda::Device handle = 0;
  char name[256] = {};
  int driverVersion = 0;
  if (!driver->check(driver->deviceGet(&handle, ordinal), what, error) ||
      !driver->check(driver->driverGetVersion(&driverVersion), what, error) ||
      !driver->check(driver->deviceGetName(name, sizeof(name) - 1, handle),
                     what, error))
    return nullptr;

  std::unique_ptr<Device> device(new Device(*driver, handle));
  device->name = name;
  device->driverVersion = driverVersion;
  auto read = [&](cuda::DeviceAttribute attribute, int &value) {
    return driver->check(driver->deviceGetAttribute(&value, attribute, handle),
                         what, error);
  };
  int major = 0, minor = 0, multiprocessors = 0, l2 = 0, shared = 0;
  if (!read(cuda::AttributeComputeCapabilityMajor, major) ||
      !read(cuda::AttributeComputeCapabilityMinor, minor) ||
      !read(cuda::AttributeMultiprocessorCount, multiprocessors) ||
      !read(cuda::AttributeL2CacheSize, l2) ||
      !read(cuda::AttributeMaxSharedMemoryPerBlockOptin, shared))
    return nullptr;
  device->computeCapability = 10 * major + minor;
  device->multiprocessors = multiprocessors;
  device->l2Bytes = l2;
  device->sharedBytes = shared;
  cuda::Context *context = nullptr;
  if (!driver->check(driver->primaryContextRetain(&context, handle), what,
                     error))
    return nullptr;
  device->context = context;
  if (!device->makeCurrent(error))
    return nullptr;
  return device;
}

Device::~Device() {
  if (context)
    driver.primaryContextRelease(handle);
}

bool Device::makeCurrent(std::string &error) const {
  return driver.check(driver.contextSetCurrent(context), name, error);
}

bool Device::canRun(const std::string &chip, std::string &error) const {
  if (isCompatible(chip, computeCapability))
    return true;
  error = "kernels for " + chip + " do not run on this GPU, " + name + " (sm_" +
          std::to_string(computeCapability) +
          "): compile for it with lpfa-compile --chip";
  return false;
}

bool Device::synchronize(StreamHandle stream, std::string &error) const {
  return driver.check(driver.streamSynchronize(stream), "the GPU failed",
                      error);
}

//===----------------------------------------------------------------------===//
// DeviceBuffer
//===----------------------------------------------------------------------===//

std::optional<DeviceBuffer> DeviceBuffer::allocate(const Device &device,
                                                   uint64_t bytes,
                                                   std::string &error) {
  const cuda::Driver &driver = device.getDriver();
  DeviceBuffer buffer;
  if (!driver.check(
          driver.memAlloc(&buffer.address, std::max<uint64_t>(bytes, 1)),
          "cannot allocate " + std::to_string(bytes) + " bytes on the GPU",
          error))
    return std::nullopt;
  buffer.device = &device;
  buffer.size = bytes;
  return buffer;
}

DeviceBuffer::~DeviceBuffer() {
  if (device)
    device->getDriver().memFree(address);
}

void DeviceBuffer::swap(DeviceBuffer &other) noexcept {
  std::swap(device, other.device);
  std::swap(address, other.address);
  std::swap(size, other.size);
}

bool DeviceBuffer::upload(const void *data, uint64_t bytes, uint64_t offset,
                          std::string &error) {
  const cuda::Driver &driver = device->getDriver();
  return bytes == 0 ||
         driver.check(driver.memcpyHtoD(address + offset, data, bytes),
                      "cannot copy to the GPU", error);
}

bool DeviceBuffer::download(void *data, uint64_t bytes, uint64_t offset,
                            std::string &error) const {
  const cuda::Driver &driver = device->getDriver();
  return bytes == 0 ||
         driver.check(driver.memcpyDtoH(data, address + offset, bytes),
                      "cannot copy from the GPU", error);
}

bool DeviceBuffer::fill(uint8_t value, std::string &error) {
  const cuda::Driver &driver = device->getDriver();
  return size == 0 ||
         (driver.check(driver.memsetD8Async(address, value, size, nullptr),
                       "cannot fill the GPU's memory", error) &&
          device->synchronize(nullptr, error));
}

bool DeviceBuffer::repeat(const void *data, uint64_t bytes,
                          std::string &error) {
  const cuda::Driver &driver = device->getDriver();
  uint64_t done = std::min(bytes, size);
  if (!upload(data, done, 0, error))
    return false;
  // Doubles what is there.
  while (done < size) {
    uint64_t count = std::min(done, size - done);
    if (!driver.check(
            driver.memcpyDtoDAsync(address + done, address, count, nullptr),
            "cannot copy on the GPU", error))
      return false;
    done += count;
  }
  return device->synchronize(nullptr, error);
}

//===- Device.h - GPUs and their memory -------------------------*- C++ -*-===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All functions that can fail return false or nothing and leave one line in
// `error`.
//
//===----------------------------------------------------------------------===//

#ifndef LPFA_RUNTIME_DEVICE_H
#define LPFA_RUNTIME_DEVICE_H

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace lpfa {

namespace cuda {
struct Context;
struct Driver;
struct Stream;
} // namespace cuda

/// A CUDA stream: a `CUstream` or `cudaStream_t`, cast. Null is the default
/// stream.
using StreamHandle = cuda::Stream *;

/// Whether code for `chip`, such as sm_90a, runs on a GPU of this compute
/// capability, 90 for 9.0: an `a` asks for the very chip, an `f` for one of its
/// family that is no older, a plain number for one of the same generation that
/// is no older (CUDA C++ Programming Guide, compute capabilities).
bool isCompatible(const std::string &chip, int computeCapability);

/// A GPU. Uses the device's primary context, which is that of CUDA's runtime
/// API: memory and streams of PyTorch, JAX or a program's own can be used.
/// Outlives what was made on it.
class Device {
public:
  /// Opens device `ordinal` and makes its context current to the calling
  /// thread; another thread calls `makeCurrent` first.
  static std::unique_ptr<Device> open(int ordinal, std::string &error);
  ~Device();
  Device(const Device &) = delete;
  Device &operator=(const Device &) = delete;

  bool makeCurrent(std::string &error) const;

  const std::string &getName() const { return name; }
  /// 90 for compute capability 9.0.
  int getComputeCapability() const { return computeCapability; }
  int64_t getMultiprocessors() const { return multiprocessors; }
  int64_t getL2Bytes() const { return l2Bytes; }
  /// The CUDA version of the driver: 13000 for 13.0.
  int getDriverVersion() const { return driverVersion; }
  /// The most dynamic shared memory of a block.
  int64_t getSharedBytes() const { return sharedBytes; }

  /// Fails unless `isCompatible`.
  bool canRun(const std::string &chip, std::string &error) const;

  /// Waits for the work of a stream. This is where a fault of a kernel shows.
  bool synchronize(StreamHandle stream, std::string &error) const;

  const cuda::Driver &getDriver() const { return driver; }

private:
  Device(const cuda::Driver &driver, int handle)
      : driver(driver), handle(handle) {}

  const cuda::Driver &driver;
  int handle;
  cuda::Context *context = nullptr;
  std::string name;
  int computeCapability = 0, driverVersion = 0;
  int64_t multiprocessors = 0, l2Bytes = 0, sharedBytes = 0;
};

/// Memory of a device, aligned to 256 bytes.
class DeviceBuffer {
public:
  DeviceBuffer() = default;
  /// Allocates at least one byte, so that no address is null.
  static std::optional<DeviceBuffer>
  allocate(const Device &device, uint64_t bytes, std::string &error);
  DeviceBuffer(DeviceBuffer &&other) noexcept { swap(other); }
  DeviceBuffer &operator=(DeviceBuffer &&other) noexcept {
    swap(other);
    return *this;
  }
  ~DeviceBuffer();

  uint64_t getAddress() const { return address; }
  uint64_t getSize() const { return size; }

  /// Copies to and from the buffer's bytes from `offset`; returns when the copy
  /// is done.
  bool upload(const void *data, uint64_t bytes, uint64_t offset,
              std::string &error);
  bool download(void *data, uint64_t bytes, uint64_t offset,
                std::string &error) const;
  /// Sets every byte.
  bool fill(uint8_t value, std::string &error);
  /// Fills the buffer with copies of `data`, one after the other.
  bool repeat(const void *data, uint64_t bytes, std::string &error);

private:
  void swap(DeviceBuffer &other) noexcept;

  const Device *device = nullptr;
  uint64_t address = 0;
  uint64_t size = 0;
};

} // namespace lpfa

#endif // LPFA_RUNTIME_DEVICE_H

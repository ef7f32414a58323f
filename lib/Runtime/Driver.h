//===- Driver.h - CUDA driver API -------------------------------*- C++ -*-===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The functions of libcuda that the runtime calls, looked up when the program
// runs: nothing of CUDA is needed to build. Names, constants and layouts are
// those of cuda.h (CUDA 12.0 and later, whose driver API is stable).
//
//===----------------------------------------------------------------------===//

#ifndef LPFA_LIB_RUNTIME_DRIVER_H
#define LPFA_LIB_RUNTIME_DRIVER_H

#include <cstddef>
#include <cstdint>
#include <string>

namespace lpfa::cuda {

using Result = int;
using Device = int;
using Address = uint64_t;
struct Context;
struct Module;
struct Function;
struct Stream;
struct Event;
struct Graph;
struct GraphExec;

enum : Result { Success = 0 };

enum DeviceAttribute : int {
  AttributeMultiprocessorCount = 16,
  AttributeL2CacheSize = 38,
  AttributeComputeCapabilityMajor = 75,
  AttributeComputeCapabilityMinor = 76,
  AttributeMaxSharedMemoryPerBlockOptin = 97,
};

enum FunctionAttribute : int {
  FunctionMaxDynamicSharedSizeBytes = 8,
  FunctionNonPortableClusterSizeAllowed = 14,
};

enum JitOption : int { JitErrorLogBuffer = 5, JitErrorLogBufferSizeBytes = 6 };

enum StreamFlag : unsigned { StreamNonBlocking = 1 };
enum EventRecordFlag : unsigned { EventRecordExternal = 1 };
enum StreamCaptureMode : int { CaptureThreadLocal = 1 };

enum LaunchAttributeID : int { LaunchAttributeClusterDimension = 4 };

struct LaunchAttribute {
  LaunchAttributeID id;
  char pad[8 - sizeof(LaunchAttributeID)];
  union {
    char pad[64];
    struct {
      unsigned x, y, z;
    } clusterDim;
  } value;
};

struct LaunchConfig {
  unsigned gridDimX, gridDimY, gridDimZ;
  unsigned blockDimX, blockDimY, blockDimZ;
  unsigned sharedMemBytes;
  Stream *stream;
  LaunchAttribute *attributes;
  unsigned numAttributes;
};

struct alignas(128) TensorMap {
  uint64_t opaque[16];
};

enum TensorMapDataType : int {
  TensorMapUInt8,
  TensorMapUInt16,
  TensorMapUInt32,
  TensorMapInt32,
  TensorMapUInt64,
  TensorMapInt64,
  TensorMapFloat16,
  TensorMapFloat32,
  TensorMapFloat64,
  TensorMapBFloat16,
};

enum TensorMapSwizzle : int {
  TensorMapSwizzleNone,
  TensorMapSwizzle32B,
  TensorMapSwizzle64B,
  TensorMapSwizzle128B,
};

enum TensorMapL2Promotion : int { TensorMapL2Promotion256B = 3 };

/// What is called: LPFA_CUDA_FUNCTION(name, exported name, parameters).
#define LPFA_CUDA_FUNCTIONS                                                    \
  LPFA_CUDA_FUNCTION(init, cuInit, (unsigned flags))                           \
  LPFA_CUDA_FUNCTION(getErrorName, cuGetErrorName,                             \
                     (Result error, const char **name))                        \
  LPFA_CUDA_FUNCTION(getErrorString, cuGetErrorString,                         \
                     (Result error, const char **text))                        \
  LPFA_CUDA_FUNCTION(driverGetVersion, cuDriverGetVersion, (int *version))     \
  LPFA_CUDA_FUNCTION(deviceGetCount, cuDeviceGetCount, (int *count))           \
  LPFA_CUDA_FUNCTION(deviceGet, cuDeviceGet, (Device * device, int ordinal))   \
  LPFA_CUDA_FUNCTION(deviceGetName, cuDeviceGetName,                           \
                     (char *name, int length, Device device))                  \
  LPFA_CUDA_FUNCTION(deviceGetAttribute, cuDeviceGetAttribute,                 \
                     (int *value, DeviceAttribute attribute, Device device))   \
  LPFA_CUDA_FUNCTION(primaryContextRetain, cuDevicePrimaryCtxRetain,           \
                     (Context * *context, Device device))                      \
  LPFA_CUDA_FUNCTION(primaryContextRelease, cuDevicePrimaryCtxRelease_v2,      \
                     (Device device))                                          \
  LPFA_CUDA_FUNCTION(contextSetCurrent, cuCtxSetCurrent, (Context * context))  \
  LPFA_CUDA_FUNCTION(moduleLoadDataEx, cuModuleLoadDataEx,                     \
                     (Module * *module, const void *image,                     \
                      unsigned numOptions, JitOption *options, void **values)) \
  LPFA_CUDA_FUNCTION(moduleUnload, cuModuleUnload, (Module * module))          \
  LPFA_CUDA_FUNCTION(                                                          \
      moduleGetFunction, cuModuleGetFunction,                                  \
      (Function * *function, Module * module, const char *name))               \
  LPFA_CUDA_FUNCTION(                                                          \
      functionSetAttribute, cuFuncSetAttribute,                                \
      (Function * function, FunctionAttribute attribute, int value))           \
  LPFA_CUDA_FUNCTION(launchKernelEx, cuLaunchKernelEx,                         \
                     (const LaunchConfig *config, Function *function,          \
                      void **parameters, void **extra))                        \
  LPFA_CUDA_FUNCTION(memAlloc, cuMemAlloc_v2,                                  \
                     (Address * address, size_t size))                         \
  LPFA_CUDA_FUNCTION(memFree, cuMemFree_v2, (Address address))                 \
  LPFA_CUDA_FUNCTION(memcpyHtoD, cuMemcpyHtoD_v2,                              \
                     (Address to, const void *from, size_t size))              \
  LPFA_CUDA_FUNCTION(memcpyDtoH, cuMemcpyDtoH_v2,                              \
                     (void *to, Address from, size_t size))                    \
  LPFA_CUDA_FUNCTION(memcpyDtoDAsync, cuMemcpyDtoDAsync_v2,                    \
                     (Address to, Address from, size_t size, Stream *stream))  \
  LPFA_CUDA_FUNCTION(                                                          \
      memsetD8Async, cuMemsetD8Async,                                          \
      (Address address, unsigned char value, size_t size, Stream *stream))     \
  LPFA_CUDA_FUNCTION(streamCreate, cuStreamCreate,                             \
                     (Stream * *stream, unsigned flags))                       \
  LPFA_CUDA_FUNCTION(streamDestroy, cuStreamDestroy_v2, (Stream * stream))     \
  LPFA_CUDA_FUNCTION(streamSynchronize, cuStreamSynchronize,                   \
                     (Stream * stream))                                        \
  LPFA_CUDA_FUNCTION(streamBeginCapture, cuStreamBeginCapture_v2,              \
                     (Stream * stream, StreamCaptureMode mode))                \
  LPFA_CUDA_FUNCTION(streamEndCapture, cuStreamEndCapture,                     \
                     (Stream * stream, Graph * *graph))                        \
  LPFA_CUDA_FUNCTION(eventCreate, cuEventCreate,                               \
                     (Event * *event, unsigned flags))                         \
  LPFA_CUDA_FUNCTION(eventDestroy, cuEventDestroy_v2, (Event * event))         \
  LPFA_CUDA_FUNCTION(eventRecordWithFlags, cuEventRecordWithFlags,             \
                     (Event * event, Stream * stream, unsigned flags))         \
  LPFA_CUDA_FUNCTION(eventElapsedTime, cuEventElapsedTime,                     \
                     (float *milliseconds, Event *start, Event *end))          \
  LPFA_CUDA_FUNCTION(                                                          \
      graphInstantiate, cuGraphInstantiateWithFlags,                           \
      (GraphExec * *executable, Graph * graph, unsigned long long flags))      \
  LPFA_CUDA_FUNCTION(graphLaunch, cuGraphLaunch,                               \
                     (GraphExec * executable, Stream * stream))                \
  LPFA_CUDA_FUNCTION(graphExecDestroy, cuGraphExecDestroy,                     \
                     (GraphExec * executable))                                 \
  LPFA_CUDA_FUNCTION(graphDestroy, cuGraphDestroy, (Graph * graph))            \
  LPFA_CUDA_FUNCTION(                                                          \
      tensorMapEncodeTiled, cuTensorMapEncodeTiled,                            \
      (TensorMap * map, TensorMapDataType type, uint32_t rank, void *address,  \
       const uint64_t *sizes, const uint64_t *strides, const uint32_t *box,    \
       const uint32_t *elementStrides, int interleave,                         \
       TensorMapSwizzle swizzle, TensorMapL2Promotion promotion, int fill))

struct Driver {
#define LPFA_CUDA_FUNCTION(name, exported, parameters) Result(*name) parameters;
  LPFA_CUDA_FUNCTIONS
#undef LPFA_CUDA_FUNCTION
  /// Offset and size of a kernel parameter; null before CUDA 12.4.
  Result (*functionGetParameterInfo)(Function *function, size_t index,
                                     size_t *offset, size_t *size);

  /// The driver of this machine, initialized. Null if there is none, with a
  /// line in `error` that says why.
  static const Driver *get(std::string &error);

  /// Whether `result` is success; else the driver's words for it, after `what`
  /// was tried, in `error`.
  bool check(Result result, const std::string &what, std::string &error) const;
};

} // namespace lpfa::cuda

#endif // LPFA_LIB_RUNTIME_DRIVER_H

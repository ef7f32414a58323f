//===- DriverTest.cpp - CUDA driver API -----------------------------------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the runtime declares of the driver against the toolkit's header, where
// that is installed.
//
//===----------------------------------------------------------------------===//

#include "Driver.h"
#include "gtest/gtest.h"
#include <cuda.h>

using namespace lpfa;

#define EXPECT_SAME(ours, theirs)                                              \
  EXPECT_EQ(static_cast<int>(cuda::ours), static_cast<int>(theirs))
#define EXPECT_SAME_OFFSET(field, theirs)                                      \
  EXPECT_EQ(offsetof(cuda::LaunchConfig, field),                               \
            offsetof(CUlaunchConfig, theirs))

TEST(DriverTest, Constants) {
  EXPECT_SAME(AttributeMultiprocessorCount,
              CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  EXPECT_SAME(AttributeL2CacheSize, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
  EXPECT_SAME(AttributeComputeCapabilityMajor,
              CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
  EXPECT_SAME(AttributeComputeCapabilityMinor,
              CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  EXPECT_SAME(AttributeMaxSharedMemoryPerBlockOptin,
              CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
  EXPECT_SAME(FunctionMaxDynamicSharedSizeBytes,
              CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
  EXPECT_SAME(FunctionNonPortableClusterSizeAllowed,
              CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED);
  EXPECT_SAME(JitErrorLogBuffer, CU_JIT_ERROR_LOG_BUFFER);
  EXPECT_SAME(JitErrorLogBufferSizeBytes, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES);
  EXPECT_SAME(StreamNonBlocking, CU_STREAM_NON_BLOCKING);
  EXPECT_SAME(EventRecordExternal, CU_EVENT_RECORD_EXTERNAL);
  EXPECT_SAME(CaptureThreadLocal, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
  EXPECT_SAME(LaunchAttributeClusterDimension,
              CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION);
}

TEST(DriverTest, TensorMap) {
  EXPECT_EQ(sizeof(cuda::TensorMap), sizeof(CUtensorMap));
  EXPECT_GE(alignof(cuda::TensorMap), alignof(CUtensorMap));
  EXPECT_SAME(TensorMapUInt8, CU_TENSOR_MAP_DATA_TYPE_UINT8);
  EXPECT_SAME(TensorMapUInt16, CU_TENSOR_MAP_DATA_TYPE_UINT16);
  EXPECT_SAME(TensorMapUInt32, CU_TENSOR_MAP_DATA_TYPE_UINT32);
  EXPECT_SAME(TensorMapUInt64, CU_TENSOR_MAP_DATA_TYPE_UINT64);
  EXPECT_SAME(TensorMapFloat16, CU_TENSOR_MAP_DATA_TYPE_FLOAT16);
  EXPECT_SAME(TensorMapFloat32, CU_TENSOR_MAP_DATA_TYPE_FLOAT32);
  EXPECT_SAME(TensorMapFloat64, CU_TENSOR_MAP_DATA_TYPE_FLOAT64);
  EXPECT_SAME(TensorMapBFloat16, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16);
  EXPECT_SAME(TensorMapSwizzleNone, CU_TENSOR_MAP_SWIZZLE_NONE);
  EXPECT_SAME(TensorMapSwizzle32B, CU_TENSOR_MAP_SWIZZLE_32B);
  EXPECT_SAME(TensorMapSwizzle64B, CU_TENSOR_MAP_SWIZZLE_64B);
  EXPECT_SAME(TensorMapSwizzle128B, CU_TENSOR_MAP_SWIZZLE_128B);
  EXPECT_SAME(TensorMapL2Promotion256B, CU_TENSOR_MAP_L2_PROMOTION_L2_256B);
}

TEST(DriverTest, Launch) {
  EXPECT_EQ(sizeof(cuda::LaunchAttribute), sizeof(CUlaunchAttribute));
  EXPECT_EQ(offsetof(cuda::LaunchAttribute, value),
            offsetof(CUlaunchAttribute, value));
  EXPECT_EQ(sizeof(cuda::LaunchConfig), sizeof(CUlaunchConfig));
  EXPECT_SAME_OFFSET(gridDimX, gridDimX);
  EXPECT_SAME_OFFSET(blockDimX, blockDimX);
  EXPECT_SAME_OFFSET(sharedMemBytes, sharedMemBytes);
  EXPECT_SAME_OFFSET(stream, hStream);
  EXPECT_SAME_OFFSET(attributes, attrs);
  EXPECT_SAME_OFFSET(numAttributes, numAttrs);
}

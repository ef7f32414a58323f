//===- Witness.cu - Results of a Hopper GPU ---------------------*- C++ -*-===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Prints the hash of every case of WitnessCases.h as a Hopper GPU computes it:
//
//   nvcc -std=c++17 -gencode arch=compute_90a,code=sm_90a Witness.cu -o witness
//   ./witness > witness-h200.txt
//
// The results are kept, so that the test needs no GPU.
//
//===----------------------------------------------------------------------===//

#include "WitnessCases.h"
#include <cstdio>
#include <cstdlib>
#include <cuda.h>
#include <cuda_runtime.h>

using namespace witness;

static void check(int result, const char *what) {
  if (!result)
    return;
  fprintf(stderr, "%s: error %d\n", what, result);
  exit(1);
}

static void print(const std::string &name, const void *data, size_t size) {
  printf("%s %016llx\n", name.c_str(), (unsigned long long)hash(data, size));
}

__device__ uint32_t sharedAddress(const void *pointer) {
  return uint32_t(__cvta_generic_to_shared(pointer));
}

//===----------------------------------------------------------------------===//
// Tensor maps
//===----------------------------------------------------------------------===//

struct Coordinates {
  int32_t at[5];
};

__global__ void load(const __grid_constant__ CUtensorMap map, int rank,
                     Coordinates c, uint32_t offset, uint32_t bytes,
                     uint8_t *out, int *done) {
  extern __shared__ __align__(1024) uint8_t shared[];
  uint8_t *image = shared + 1024;
  for (uint32_t i = threadIdx.x; i < imageBytes; i += blockDim.x)
    image[i] = background;
  __syncthreads();
  if (threadIdx.x == 0) {
    uint32_t b = sharedAddress(shared), d = sharedAddress(image) + offset;
    asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(b));
    asm volatile("fence.proxy.async;");
    asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(b),
                 "r"(bytes));
#define LOAD(DIMENSIONS, COORDINATES)                                          \
  asm volatile("cp.async.bulk.tensor." DIMENSIONS                              \
               ".shared::cluster.global.mbarrier::complete_tx::bytes "         \
               "[%0], [%1, {" COORDINATES "}], [%2];" ::"r"(d),                \
               "l"(&map), "r"(b), "r"(c.at[0]), "r"(c.at[1]), "r"(c.at[2]),    \
               "r"(c.at[3]), "r"(c.at[4])                                      \
               : "memory")
    switch (rank) {
    case 1:
      LOAD("1d", "%3");
      break;
    case 2:
      LOAD("2d", "%3, %4");
      break;
    case 3:
      LOAD("3d", "%3, %4, %5");
      break;
    case 4:
      LOAD("4d", "%3, %4, %5, %6");
      break;
    case 5:
      LOAD("5d", "%3, %4, %5, %6, %7");
      break;
    }
    // A wrong count of bytes shows as a barrier that never completes.
    *done = 0;
    for (int i = 0; i != 2000000 && !*done; ++i)
      asm volatile("{ .reg .pred p;\n"
                   "mbarrier.try_wait.parity.shared.b64 p, [%1], 0;\n"
                   "selp.b32 %0, 1, 0, p; }"
                   : "=r"(*done)
                   : "r"(b)
                   : "memory");
  }
  __syncthreads();
  for (uint32_t i = threadIdx.x; i < imageBytes; i += blockDim.x)
    out[i] = image[i];
}

__global__ void store(const __grid_constant__ CUtensorMap map, int operation,
                      int32_t x, int32_t y, const uint8_t *source) {
  extern __shared__ __align__(1024) uint8_t shared[];
  for (uint32_t i = threadIdx.x; i < 4096; i += blockDim.x)
    shared[i] = source[i];
  __syncthreads();
  asm volatile("fence.proxy.async;");
  __syncthreads();
  if (threadIdx.x != 0)
    return;
  uint32_t s = sharedAddress(shared);
#define STORE(INSTRUCTION)                                                     \
  asm volatile(INSTRUCTION ".bulk_group [%0, {%2, %3}], [%1];" ::"l"(&map),    \
               "r"(s), "r"(x), "r"(y)                                          \
               : "memory")
#define REDUCE(OPERATION)                                                      \
  STORE("cp.reduce.async.bulk.tensor.2d.global.shared::cta." OPERATION)
  switch (operation) {
  case 0:
    STORE("cp.async.bulk.tensor.2d.global.shared::cta");
    break;
  case 1:
    REDUCE("add");
    break;
  case 2:
    REDUCE("min");
    break;
  case 3:
    REDUCE("max");
    break;
  case 4:
    REDUCE("inc");
    break;
  case 5:
    REDUCE("dec");
    break;
  }
  asm volatile("cp.async.bulk.commit_group;");
  asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}

static CUtensorMap encode(int element, const std::vector<uint64_t> &dims,
                          const std::vector<uint64_t> &strides,
                          const std::vector<uint32_t> &box,
                          std::vector<uint32_t> elementStrides, int swizzle,
                          bool nanFill, uint64_t address) {
  static decltype(&cuTensorMapEncodeTiled) function = [] {
    void *pointer = nullptr;
    cudaDriverEntryPointQueryResult result;
    check(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &pointer,
                                           12000, cudaEnableDefault, &result),
          "cuTensorMapEncodeTiled");
    return decltype(&cuTensorMapEncodeTiled)(pointer);
  }();
  constexpr CUtensorMapDataType types[] = {
      CU_TENSOR_MAP_DATA_TYPE_UINT8,       CU_TENSOR_MAP_DATA_TYPE_UINT16,
      CU_TENSOR_MAP_DATA_TYPE_UINT32,      CU_TENSOR_MAP_DATA_TYPE_INT32,
      CU_TENSOR_MAP_DATA_TYPE_UINT64,      CU_TENSOR_MAP_DATA_TYPE_INT64,
      CU_TENSOR_MAP_DATA_TYPE_FLOAT16,     CU_TENSOR_MAP_DATA_TYPE_FLOAT32,
      CU_TENSOR_MAP_DATA_TYPE_FLOAT32_FTZ, CU_TENSOR_MAP_DATA_TYPE_FLOAT64,
      CU_TENSOR_MAP_DATA_TYPE_BFLOAT16,    CU_TENSOR_MAP_DATA_TYPE_TFLOAT32,
      CU_TENSOR_MAP_DATA_TYPE_TFLOAT32_FTZ};
  elementStrides.resize(dims.size(), 1);
  std::vector<cuuint64_t> d(dims.begin(), dims.end());
  std::vector<cuuint64_t> s(strides.begin(), strides.end());
  s.resize(4);
  CUtensorMap map;
  check(function(&map, types[element], dims.size(), (void *)address, d.data(),
                 s.data(), box.data(), elementStrides.data(),
                 CU_TENSOR_MAP_INTERLEAVE_NONE, CUtensorMapSwizzle(swizzle),
                 CU_TENSOR_MAP_L2_PROMOTION_NONE,
                 CUtensorMapFloatOOBfill(nanFill)),
        "cuTensorMapEncodeTiled");
  return map;
}

static void runTensorMaps() {
  std::vector<uint8_t> global = globalImage(), image(imageBytes);
  uint8_t *deviceGlobal, *deviceImage;
  int *deviceDone;
  check(cudaMalloc(&deviceGlobal, globalBytes), "cudaMalloc");
  check(cudaMalloc(&deviceImage, imageBytes), "cudaMalloc");
  check(cudaMalloc(&deviceDone, 4), "cudaMalloc");
  auto upload = [&] {
    check(cudaMemcpy(deviceGlobal, global.data(), globalBytes,
                     cudaMemcpyHostToDevice),
          "cudaMemcpy");
  };
  upload();
  constexpr uint32_t dynamicBytes = 1024 + imageBytes;
  check(cudaFuncSetAttribute(load, cudaFuncAttributeMaxDynamicSharedMemorySize,
                             dynamicBytes),
        "cudaFuncSetAttribute");
  constexpr uint32_t elementBytes[] = {1, 2, 4, 4, 8, 8, 2, 4, 4, 8, 2, 4, 4};
  for (const LoadCase &c : loadCases()) {
    CUtensorMap map =
        encode(c.element, c.dims, c.strides, c.box, c.elementStrides, c.swizzle,
               c.nanFill, uint64_t(deviceGlobal) + c.baseOffset);
    uint32_t bytes = c.box[0] * elementBytes[c.element];
    for (size_t i = 1; i != c.box.size(); ++i) {
      uint32_t stride = c.elementStrides.empty() ? 1 : c.elementStrides[i];
      bytes *= (c.box[i] + stride - 1) / stride;
    }
    Coordinates coordinates = {};
    std::copy(c.coordinates.begin(), c.coordinates.end(), coordinates.at);
    load<<<1, 128, dynamicBytes>>>(map, int(c.dims.size()), coordinates,
                                   c.sharedOffset, bytes, deviceImage,
                                   deviceDone);
    check(cudaDeviceSynchronize(), c.name.c_str());
    int done;
    cudaMemcpy(&done, deviceDone, 4, cudaMemcpyDeviceToHost);
    check(!done, c.name.c_str());
    cudaMemcpy(image.data(), deviceImage, imageBytes, cudaMemcpyDeviceToHost);
    print(c.name, image.data(), imageBytes);
  }
  for (const StoreCase &c : storeCases) {
    upload();
    CUtensorMap map = encode(c.element, {storeDims[0], storeDims[1]},
                             {uint64_t(64) * c.bytes}, {16, 8}, {}, 0, false,
                             uint64_t(deviceGlobal));
    for (int i = 0; i != 2; ++i)
      store<<<1, 128, 4096>>>(map, c.operation, storeCoordinates[i][0],
                              storeCoordinates[i][1],
                              deviceGlobal + sourceOffset + 4096 * i);
    check(cudaDeviceSynchronize(), c.name);
    std::vector<uint8_t> matrix(40 * 64 * c.bytes);
    cudaMemcpy(matrix.data(), deviceGlobal, matrix.size(),
               cudaMemcpyDeviceToHost);
    print(c.name, matrix.data(), matrix.size());
  }
}

//===----------------------------------------------------------------------===//
// mma.sync and ldmatrix
//===----------------------------------------------------------------------===//

/// in[thread * 16 + register], out[(kind * 32 + thread) * 4 + i].
__global__ void mma(const uint32_t *in, uint32_t *out) {
  uint32_t t = threadIdx.x;
  const uint32_t *r = in + t * 16;
  uint32_t d[4];
  auto write = [&](uint32_t kind) {
    for (int i = 0; i != 4; ++i)
      out[(kind * 32 + t) * 4 + i] = d[i];
  };
#define MMA(KIND, SHAPE_AND_TYPES, CONSTRAINT, MASKING)                        \
  {                                                                            \
    uint32_t e[6];                                                             \
    for (int i = 0; i != 6; ++i)                                               \
      e[i] = in[512 * (1 + MASKING) + t * 16 + i];                             \
    asm volatile("mma.sync.aligned." SHAPE_AND_TYPES                           \
                 " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "             \
                 "{%10, %11, %12, %13};"                                       \
                 : "=" CONSTRAINT(d[0]), "=" CONSTRAINT(d[1]),                 \
                   "=" CONSTRAINT(d[2]), "=" CONSTRAINT(d[3])                  \
                 : "r"(e[0]), "r"(e[1]), "r"(e[2]), "r"(e[3]), "r"(e[4]),      \
                   "r"(e[5]), CONSTRAINT(r[6]), CONSTRAINT(r[7]),              \
                   CONSTRAINT(r[8]), CONSTRAINT(r[9]));                        \
    write(KIND);                                                               \
  }
  MMA(0, "m16n8k16.row.col.f32.f16.f16.f32", "r", Half)
  MMA(1, "m16n8k16.row.col.f32.bf16.bf16.f32", "r", Half)
  MMA(2, "m16n8k8.row.col.f32.tf32.tf32.f32", "r", Word)
  MMA(3, "m16n8k32.row.col.f32.e4m3.e4m3.f32", "r", Byte)
  MMA(4, "m16n8k32.row.col.s32.s8.s8.s32", "r", Integer)
  const uint32_t *h = in + 512 * (1 + Half) + t * 16;
  const uint32_t *b = in + 512 * (1 + Byte) + t * 16;
  d[2] = d[3] = 0;
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%0, %1}, "
               "{%2, %3, %4, %5}, {%6, %7}, {%8, %9};"
               : "=r"(d[0]), "=r"(d[1])
               : "r"(h[0]), "r"(h[1]), "r"(h[2]), "r"(h[3]), "r"(h[4]),
                 "r"(h[5]), "r"(h[6]), "r"(h[7]));
  write(5);
#define MMA_SHORT(KIND, SHAPE_AND_TYPES, E)                                    \
  asm volatile("mma.sync.aligned." SHAPE_AND_TYPES                             \
               " {%0, %1, %2, %3}, {%4, %5}, {%6}, {%7, %8, %9, %10};"         \
               : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3])                \
               : "r"(E[0]), "r"(E[1]), "r"(E[4]), "r"(r[6]), "r"(r[7]),        \
                 "r"(r[8]), "r"(r[9]));                                        \
  write(KIND);
  MMA_SHORT(6, "m16n8k16.row.col.f32.e5m2.e4m3.f32", b)
  MMA_SHORT(7, "m16n8k8.row.col.f32.f16.f16.f32", h)

  __shared__ __align__(128) uint16_t matrix[256];
  for (uint32_t i = t; i < 256; i += 32)
    matrix[i] = uint16_t(i);
  __syncwarp();
  uint32_t address = sharedAddress(matrix) + t * 16;
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, "
               "[%4];"
               : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3])
               : "r"(address));
  write(mmaKinds);
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 "
               "{%0, %1, %2, %3}, [%4];"
               : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3])
               : "r"(address));
  write(mmaKinds + 1);
}

static void runMma() {
  uint32_t *in, *out;
  constexpr uint32_t kinds = mmaKinds + 2;
  check(cudaMalloc(&in, 5 * 512 * 4), "cudaMalloc");
  check(cudaMalloc(&out, kinds * 128 * 4), "cudaMalloc");
  std::vector<std::vector<uint32_t>> results(kinds);
  for (uint32_t round = 0; round != mmaRounds; ++round) {
    // Registers as they are (with C in its range), then masked in four ways.
    std::vector<uint32_t> registers(5 * 512);
    for (uint32_t i = 0; i != 512; ++i) {
      uint32_t bits = mmaBits(round, i / 16, i % 16);
      registers[i] = i % 16 < 6 ? bits : maskAccumulator(bits);
      for (Masking masking : {Half, Word, Byte, Integer})
        registers[512 * (1 + masking) + i] = maskElements(masking, bits);
    }
    check(cudaMemcpy(in, registers.data(), registers.size() * 4,
                     cudaMemcpyHostToDevice),
          "cudaMemcpy");
    mma<<<1, 32>>>(in, out);
    check(cudaDeviceSynchronize(), "mma");
    std::vector<uint32_t> words(kinds * 128);
    cudaMemcpy(words.data(), out, words.size() * 4, cudaMemcpyDeviceToHost);
    for (uint32_t kind = 0; kind != kinds; ++kind)
      results[kind].insert(results[kind].end(), words.begin() + kind * 128,
                           words.begin() + (kind + 1) * 128);
  }
  for (uint32_t kind = 0; kind != kinds; ++kind)
    print("mma_sync_" + std::to_string(kind), results[kind].data(),
          results[kind].size() * 4);
}

/// in[(kind * 32 + thread) * 16 + register], out as that of mma.
__global__ void mmaExtreme(const uint32_t *in, uint32_t *out) {
  uint32_t t = threadIdx.x;
  uint32_t d[4];
  auto write = [&](uint32_t kind) {
    for (int i = 0; i != 4; ++i)
      out[(kind * 32 + t) * 4 + i] = d[i];
  };
#define EXTREME(KIND, SHAPE_AND_TYPES)                                         \
  {                                                                            \
    const uint32_t *r = in + (KIND * 32 + t) * 16;                             \
    asm volatile("mma.sync.aligned." SHAPE_AND_TYPES                           \
                 " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "             \
                 "{%10, %11, %12, %13};"                                       \
                 : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3])              \
                 : "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3]), "r"(r[4]),      \
                   "r"(r[5]), "r"(r[6]), "r"(r[7]), "r"(r[8]), "r"(r[9]));     \
    write(KIND);                                                               \
  }
#define EXTREME_HALF(KIND)                                                     \
  {                                                                            \
    const uint32_t *r = in + (KIND * 32 + t) * 16;                             \
    d[2] = d[3] = 0;                                                           \
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 "          \
                 "{%0, %1}, {%2, %3, %4, %5}, {%6, %7}, {%8, %9};"             \
                 : "=r"(d[0]), "=r"(d[1])                                      \
                 : "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3]), "r"(r[4]),      \
                   "r"(r[5]), "r"(r[6]), "r"(r[7]));                           \
    write(KIND);                                                               \
  }
  EXTREME(0, "m16n8k16.row.col.f32.bf16.bf16.f32")
  EXTREME(1, "m16n8k8.row.col.f32.tf32.tf32.f32")
  EXTREME(2, "m16n8k16.row.col.f32.f16.f16.f32")
  EXTREME(3, "m16n8k32.row.col.f32.e4m3.e4m3.f32")
  EXTREME(4, "m16n8k32.row.col.f32.e5m2.e5m2.f32")
  EXTREME_HALF(5)
  EXTREME(6, "m16n8k16.row.col.f32.bf16.bf16.f32")
  EXTREME(7, "m16n8k8.row.col.f32.tf32.tf32.f32")
  EXTREME_HALF(8)
}

static void runMmaExtremes() {
  uint32_t *in, *out;
  check(cudaMalloc(&in, extremeKinds * 512 * 4), "cudaMalloc");
  check(cudaMalloc(&out, extremeKinds * 128 * 4), "cudaMalloc");
  std::vector<std::vector<uint32_t>> results(extremeKinds);
  for (uint32_t round = 0; round != extremeRounds; ++round) {
    std::vector<uint32_t> registers, words(extremeKinds * 128);
    for (uint32_t kind = 0; kind != extremeKinds; ++kind)
      for (uint32_t i = 0; i != 512; ++i)
        registers.push_back(extremeBits(kind, round, i / 16, i % 16));
    cudaMemcpy(in, registers.data(), registers.size() * 4,
               cudaMemcpyHostToDevice);
    mmaExtreme<<<1, 32>>>(in, out);
    check(cudaDeviceSynchronize(), "mma");
    cudaMemcpy(words.data(), out, words.size() * 4, cudaMemcpyDeviceToHost);
    for (uint32_t kind = 0; kind != extremeKinds; ++kind)
      results[kind].insert(results[kind].end(), words.begin() + kind * 128,
                           words.begin() + (kind + 1) * 128);
  }
  for (uint32_t kind = 0; kind != extremeKinds; ++kind)
    print("mma_extreme_" + std::to_string(kind), results[kind].data(),
          results[kind].size() * 4);
}

//===----------------------------------------------------------------------===//
// wgmma
//===----------------------------------------------------------------------===//

template <int kind>
__global__ void wgmma(const uint8_t *source, uint64_t a, uint64_t b,
                      uint32_t *out) {
  extern __shared__ __align__(1024) uint8_t shared[];
  for (uint32_t i = threadIdx.x; i < 65536; i += blockDim.x)
    shared[i] = source[i];
  asm volatile("fence.proxy.async;");
  __syncthreads();
  uint64_t base = (sharedAddress(shared) & 0x3FFFF) >> 4;
  a += base;
  b += base;
  float d[4];
  for (int i = 0; i != 4; ++i)
    d[i] = __uint_as_float(out[threadIdx.x * 4 + i]);
  asm volatile("wgmma.fence.sync.aligned;");
#define WGMMA(SHAPE_AND_TYPES, MAJORS)                                         \
  asm volatile("wgmma.mma_async.sync.aligned." SHAPE_AND_TYPES                 \
               " {%0, %1, %2, %3}, %4, %5, 1, 1, 1" MAJORS ";"                 \
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])                \
               : "l"(a), "l"(b))
  if constexpr (kind == 0)
    WGMMA("m64n8k16.f32.f16.f16", ", 0, 0");
  if constexpr (kind == 1)
    WGMMA("m64n8k16.f32.bf16.bf16", ", 1, 1");
  if constexpr (kind == 2)
    WGMMA("m64n8k8.f32.tf32.tf32", "");
  if constexpr (kind == 3)
    WGMMA("m64n8k32.f32.e4m3.e4m3", "");
  if constexpr (kind == 4)
    WGMMA("m64n8k32.f32.e5m2.e4m3", "");
  if constexpr (kind == 5)
    WGMMA("m64n8k16.f32.f16.f16", ", 1, 0");
  asm volatile("wgmma.commit_group.sync.aligned;\n"
               "wgmma.wait_group.sync.aligned 0;" ::
                   : "memory");
  for (int i = 0; i != 4; ++i)
    out[threadIdx.x * 4 + i] = __float_as_uint(d[i]);
}

template <int kind>
static void runWgmma(const WgmmaCase &c, uint8_t *shared, uint32_t *out) {
  check(cudaFuncSetAttribute(
            wgmma<kind>, cudaFuncAttributeMaxDynamicSharedMemorySize, 65536),
        "cudaFuncSetAttribute");
  wgmma<kind><<<1, 128, 65536>>>(shared, wgmmaDescriptor(c.a),
                                 wgmmaDescriptor(c.b), out);
}

static void runWgmma() {
  uint8_t *shared;
  uint32_t *out;
  check(cudaMalloc(&shared, 65536), "cudaMalloc");
  check(cudaMalloc(&out, 2048), "cudaMalloc");
  using Run = void (*)(const WgmmaCase &, uint8_t *, uint32_t *);
  constexpr Run runs[] = {runWgmma<0>, runWgmma<1>, runWgmma<2>,
                          runWgmma<3>, runWgmma<4>, runWgmma<5>};
  for (const WgmmaCase &c : wgmmaCases()) {
    std::vector<uint8_t> image = wgmmaShared(c.kind);
    std::vector<uint32_t> words(512);
    for (uint32_t i = 0; i != 512; ++i)
      words[i] = wgmmaAccumulator(i / 4, i % 4);
    cudaMemcpy(shared, image.data(), 65536, cudaMemcpyHostToDevice);
    cudaMemcpy(out, words.data(), 2048, cudaMemcpyHostToDevice);
    runs[c.kind](c, shared, out);
    check(cudaDeviceSynchronize(), c.name);
    cudaMemcpy(words.data(), out, 2048, cudaMemcpyDeviceToHost);
    print("wgmma_" + std::to_string(c.kind) + "_" + c.name, words.data(), 2048);
  }
}

//===----------------------------------------------------------------------===//
// Conversions
//===----------------------------------------------------------------------===//

__global__ void convert(const uint32_t *in, uint32_t *out) {
  uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  float x = __uint_as_float(in[i]);
  auto write = [&](uint32_t kind, uint32_t word) {
    out[kind * conversionInputs + i] = word;
  };
  uint16_t h;
  uint32_t w;
#define CONVERT_PAIR(KIND, TYPE)                                               \
  asm("cvt." TYPE ".f32 %0, %1, %2;" : "=h"(h) : "f"(x), "f"(-x));             \
  write(KIND, h);
#define CONVERT_HALF(KIND, TYPE)                                               \
  asm("cvt." TYPE ".f32 %0, %1;" : "=h"(h) : "f"(x));                          \
  write(KIND, h);
#define CONVERT_WORD(KIND, TYPE)                                               \
  asm("cvt." TYPE ".f32 %0, %1;" : "=r"(w) : "f"(x));                          \
  write(KIND, w);
  CONVERT_PAIR(0, "rn.satfinite.e4m3x2")
  CONVERT_PAIR(1, "rn.satfinite.e5m2x2")
  CONVERT_PAIR(2, "rn.satfinite.relu.e4m3x2")
  CONVERT_HALF(3, "rn.f16")
  CONVERT_HALF(4, "rz.f16")
  CONVERT_HALF(5, "rn.bf16")
  CONVERT_HALF(6, "rn.satfinite.f16")
  CONVERT_HALF(7, "rz.satfinite.bf16")
  CONVERT_WORD(8, "rna.tf32")
  CONVERT_WORD(9, "rn.tf32")
  CONVERT_WORD(10, "rz.relu.tf32")
  CONVERT_HALF(11, "rz.relu.bf16")
}

static void runConversions() {
  std::vector<uint32_t> words(conversionInputs);
  for (uint32_t i = 0; i != conversionInputs; ++i)
    words[i] = conversionInput(i);
  uint32_t *in, *out;
  check(cudaMalloc(&in, conversionInputs * 4), "cudaMalloc");
  check(cudaMalloc(&out, conversionInputs * 4 * conversionKinds), "cudaMalloc");
  cudaMemcpy(in, words.data(), conversionInputs * 4, cudaMemcpyHostToDevice);
  convert<<<conversionInputs / 256, 256>>>(in, out);
  check(cudaDeviceSynchronize(), "convert");
  for (uint32_t kind = 0; kind != conversionKinds; ++kind) {
    cudaMemcpy(words.data(), out + kind * conversionInputs,
               conversionInputs * 4, cudaMemcpyDeviceToHost);
    print("cvt_" + std::to_string(kind), words.data(), conversionInputs * 4);
  }
}

int main() {
  runTensorMaps();
  runMma();
  runMmaExtremes();
  runWgmma();
  runConversions();
}

//===- cutlass_launch.cu - Launches of CUTLASS's examples -----------------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Prints, as JSON, how an example of CUTLASS launches its kernel: its one
// parameter, with the tensor maps and addresses in it, the grid, the cluster.
// Compiled with the example's file as EXAMPLE. The program runs without a GPU:
// the driver's function that encodes tensor maps is its own and writes down
// what it is asked for.
//
//   program M N K alpha beta
//
//===----------------------------------------------------------------------===//

#define main exampleMain
#include EXAMPLE
#undef main

#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

/// Buffers as a launch sees them: far apart, so that an address names one.
static const char *const bufferNames[] = {"A", "B", "SFA", "SFB", "C", "D"};
static char *address(unsigned buffer) {
  return reinterpret_cast<char *>(uint64_t(0x510000000000) +
                                  (uint64_t(buffer) << 36));
}
static std::string bufferAt(uint64_t value) {
  for (unsigned i = 0; i != 6; ++i)
    if (value == reinterpret_cast<uint64_t>(address(i)))
      return bufferNames[i];
  return "";
}

static const uint64_t mapTag = 0x70616D726F736E65;
static std::vector<std::string> maps;

extern "C" CUresult CUDAAPI cuTensorMapEncodeTiled(
    CUtensorMap *map, CUtensorMapDataType element, cuuint32_t rank, void *base,
    const cuuint64_t *dims, const cuuint64_t *strides, const cuuint32_t *box,
    const cuuint32_t *elementStrides, CUtensorMapInterleave interleave,
    CUtensorMapSwizzle swizzle, CUtensorMapL2promotion, CUtensorMapFloatOOBfill
    fill) {
  auto list = [](auto *values, unsigned count) {
    std::string text = "[";
    for (unsigned i = 0; i != count; ++i)
      text += (i ? ", " : "") + std::to_string(values[i]);
    return text + "]";
  };
  maps.push_back(
      "\"buffer\": \"" + bufferAt(reinterpret_cast<uint64_t>(base)) +
      "\", \"element\": " + std::to_string(element) +
      ", \"swizzle\": " + std::to_string(swizzle) +
      ", \"interleave\": " + std::to_string(interleave) +
      ", \"fill\": " + std::to_string(fill) + ", \"dims\": " +
      list(dims, rank) + ", \"strides\": " + list(strides, rank - 1) +
      ", \"box\": " + list(box, rank) + ", \"element_strides\": " +
      list(elementStrides, rank));
  std::memset(map, 0, sizeof(*map));
  uint64_t words[2] = {mapTag, maps.size() - 1};
  std::memcpy(map, words, sizeof(words));
  return CUDA_SUCCESS;
}

int main(int argc, char **argv) {
  if (argc != 6)
    return 1;
  int m = std::atoi(argv[1]), n = std::atoi(argv[2]), k = std::atoi(argv[3]);
  using Mainloop = GemmKernel::CollectiveMainloop;
  using Scales = Mainloop::Sm1xxBlkScaledConfig;
  auto shape = cute::make_shape(m, n, k, 1);
  auto stride = [](auto stride, int rows, int columns) {
    return cutlass::make_cute_packed_stride(stride, {rows, columns, 1});
  };
  auto at = [](auto *&pointer, unsigned buffer) {
    pointer = reinterpret_cast<std::remove_reference_t<decltype(pointer)>>(
        address(buffer));
  };
  GemmKernel::Arguments arguments;
  arguments.mode = cutlass::gemm::GemmUniversalMode::kGemm;
  arguments.problem_shape = {m, n, k, 1};
  arguments.mainloop.dA = stride(StrideA{}, m, k);
  arguments.mainloop.dB = stride(StrideB{}, n, k);
  arguments.mainloop.layout_SFA = Scales::tile_atom_to_shape_SFA(shape);
  arguments.mainloop.layout_SFB = Scales::tile_atom_to_shape_SFB(shape);
  arguments.epilogue.thread.alpha = std::atof(argv[4]);
  arguments.epilogue.thread.beta = std::atof(argv[5]);
  arguments.epilogue.dC = stride(StrideC{}, m, n);
  arguments.epilogue.dD = stride(StrideD{}, m, n);
  at(arguments.mainloop.ptr_A, 0);
  at(arguments.mainloop.ptr_B, 1);
  at(arguments.mainloop.ptr_SFA, 2);
  at(arguments.mainloop.ptr_SFB, 3);
  at(arguments.epilogue.ptr_C, 4);
  at(arguments.epilogue.ptr_D, 5);
  arguments.hw_info.sm_count = 148;
  arguments.hw_info.max_active_clusters = 148 / cute::size(ClusterShape{});
  arguments.hw_info.cluster_shape = dim3(cute::size<0>(ClusterShape{}),
                                         cute::size<1>(ClusterShape{}), 1);
  arguments.hw_info.cluster_shape_fallback = arguments.hw_info.cluster_shape;

  alignas(128) static unsigned char bytes[sizeof(GemmKernel::Params)];
  GemmKernel::Params *params = new (bytes)
      GemmKernel::Params(GemmKernel::to_underlying_arguments(arguments,
                                                             nullptr));
  dim3 grid = GemmKernel::get_grid_shape(*params);
  dim3 block = GemmKernel::get_block_shape();
  std::printf("{\"grid\": [%u, %u, %u], \"cluster\": [%u, %u, %u], "
              "\"block\": %u, \"shared\": %d,\n \"fields\": [",
              grid.x, grid.y, grid.z, unsigned(cute::size<0>(ClusterShape{})),
              unsigned(cute::size<1>(ClusterShape{})), 1, block.x,
              int(GemmKernel::SharedStorageSize));
  const char *separator = "\n  ";
  std::string hex;
  for (size_t i = 0; i != sizeof(bytes);) {
    uint64_t words[2] = {0, 0};
    std::memcpy(words, bytes + i, std::min<size_t>(16, sizeof(bytes) - i));
    size_t zeros = 0;
    if (i % 64 == 0 && words[0] == mapTag) {
      std::printf("%s{\"offset\": %zu, \"tensor_map\": {%s}}", separator, i,
                  maps[words[1]].c_str());
      zeros = sizeof(CUtensorMap);
    } else if (i % 8 == 0 && !bufferAt(words[0]).empty()) {
      std::printf("%s{\"offset\": %zu, \"buffer\": \"%s\"}", separator, i,
                  bufferAt(words[0]).c_str());
      zeros = 8;
    }
    if (zeros)
      separator = ",\n  ";
    hex.append(2 * zeros, '0');
    i += zeros;
    if (!zeros) {
      char digits[3];
      std::snprintf(digits, sizeof(digits), "%02x", bytes[i++]);
      hex += digits;
    }
  }
  std::printf("],\n \"bytes\": \"%s\"}\n", hex.c_str());
}

//===- main.cpp - Launches a function -------------------------------------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// runtime-consumer PLAN: launches the plan's function, which takes and gives a
// matrix of bytes, on memory and a stream of its own.
//
//===----------------------------------------------------------------------===//

#include "lpfa/Runtime/Launch.h"
#include <cstdio>
#include <numeric>

using namespace lpfa;

static bool run(const char *path, std::string &error) {
  auto device = Device::open(0, error);
  if (!device)
    return false;
  auto loaded = LoadedPlan::load(*device, path, error);
  if (!loaded)
    return false;
  const LaunchPlan *function = findFunction(loaded->getPlan(), "", error);
  if (!function)
    return false;

  std::vector<uint8_t> bytes(70 * 64);
  std::iota(bytes.begin(), bytes.end(), 0);
  auto x = DeviceBuffer::allocate(*device, bytes.size(), error);
  if (!x || !x->upload(bytes.data(), bytes.size(), 0, error))
    return false;
  std::vector<TensorRef> arguments = {{x->getAddress(), "i8", {70, 64}, {}}};
  auto shape = loaded->inferShape(*function, arguments, error);
  if (!shape)
    return false;
  auto y = DeviceBuffer::allocate(*device, bytes.size(), error);
  auto workspace =
      DeviceBuffer::allocate(*device, shape->workspaceBytes, error);
  if (!y || !workspace)
    return false;
  std::vector<TensorRef> results = {
      {y->getAddress(), "i8", shape->results[0], {}}};
  auto launch = loaded->prepare(*function, arguments, results,
                                workspace->getAddress(), error);
  StreamHandle stream = nullptr;
  if (!launch || !launch->enqueue(stream, error) ||
      !device->synchronize(stream, error) ||
      !y->download(bytes.data(), bytes.size(), 0, error))
    return false;
  std::printf("%s: %u %u ... %u\n", function->function.c_str(), bytes[0],
              bytes[1], bytes.back());
  return true;
}

int main(int argc, char **argv) {
  std::string error;
  if (argc == 2 && run(argv[1], error))
    return 0;
  std::fprintf(stderr, "%s\n", error.c_str());
  return 1;
}

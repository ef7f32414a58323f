//===- WarpMemory.cpp - Accesses of a warp to memory ----------------------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Machine.h"
#include "llvm/ADT/Twine.h"

using namespace lpfa::sim;
using llvm::Twine;

BytesRef Warp::locateShared(uint64_t address, unsigned bytes, bool isWrite,
                            unsigned alignment) {
  uint64_t rank = address >> rankShift;
  uint64_t offset = address & ((uint64_t(1) << rankShift) - 1);
  const char *verb = isWrite ? "write" : "read";
  if (rank >= cluster.ctas.size() || offset < sharedBase ||
      offset + bytes > context.sharedBytes) {
    fault("bounds", Twine(verb) + " of " + Twine(bytes) +
                        " bytes at shared address 0x" +
                        Twine::utohexstr(address) +
                        " is outside the CTA's shared memory (0x" +
                        Twine::utohexstr(sharedBase) + " to 0x" +
                        Twine::utohexstr(context.sharedBytes) + ")");
    return {};
  }
  if (offset & (alignment - 1)) {
    if (context.options.checks.bounds &&
        complain("alignment", Twine(verb) + " at shared address 0x" +
                                  Twine::utohexstr(address) +
                                  " is not aligned to " + Twine(alignment) +
                                  " bytes"))
      return {};
  }
  SharedMemory &shared = cluster.ctas[rank]->shared;
  return {&shared.bytes[offset], &shared.undefined[offset]};
}

bool Warp::noteShared(uint64_t address, unsigned bytes, bool isWrite,
                      bool isUnchanged) {
  if (!cluster.races)
    return true;
  uint32_t shared = address & windowMask;
  return cluster.races->shared(
      *this, shared >> rankShift, shared & ((1u << rankShift) - 1), bytes,
      isWrite ? RaceDetector::Access::Write : RaceDetector::Access::Read,
      isUnchanged);
}

bool Warp::noteGlobal(uint64_t address, uint64_t bytes, bool isWrite,
                      Scope scope, bool isUnchanged) {
  return !cluster.races ||
         cluster.races->global(*this, address, bytes,
                               isWrite ? RaceDetector::Access::Write
                                       : RaceDetector::Access::Read,
                               scope, isUnchanged);
}

BytesRef Warp::locate(Space space, uint64_t address, unsigned bytes,
                      unsigned lane, bool isWrite, unsigned alignment) {
  if (space == Space::Generic) {
    switch (address >> 32) {
    case sharedWindow >> 32:
      space = Space::Shared;
      address &= windowMask;
      break;
    case localWindow >> 32:
      space = Space::Local;
      address &= windowMask;
      break;
    case paramWindow >> 32:
      space = Space::Param;
      address &= windowMask;
      break;
    default:
      space = Space::Global;
    }
  }
  const char *verb = isWrite ? "write" : "read";
  switch (space) {
  case Space::Shared:
    return locateShared(address, bytes, isWrite, alignment);
  case Space::Local: {
    uint64_t size = context.function.localBytes;
    if (address + bytes > size || address > size) {
      fault("bounds", Twine(verb) + " of " + Twine(bytes) +
                          " bytes at local address 0x" +
                          Twine::utohexstr(address) +
                          " is outside the thread's " + Twine(size) + " bytes");
      return {};
    }
    return {&local[lane * size + address], nullptr};
  }
  case Space::Param: {
    uint64_t size = context.parameters.size();
    if (isWrite || address > size || address + bytes > size) {
      fault("bounds", Twine(verb) + " of " + Twine(bytes) +
                          " bytes at parameter offset " + Twine(address) +
                          (isWrite ? " is not allowed"
                                   : " is outside the entry's parameters"));
      return {};
    }
    return {const_cast<uint8_t *>(&context.parameters[address]), nullptr};
  }
  default:
    break;
  }
  GlobalBuffer *buffer = context.findBuffer(address);
  if (!buffer || address < buffer->address || bytes > buffer->size ||
      address - buffer->address > buffer->size - bytes) {
    std::string where = !buffer ? "outside every buffer"
                        : address < buffer->address
                            ? (Twine(buffer->address - address) +
                               " bytes before buffer '" + buffer->name + "'")
                                  .str()
                            : ("at offset " + Twine(address - buffer->address) +
                               " of buffer '" + buffer->name + "' of " +
                               Twine(buffer->size) + " bytes")
                                  .str();
    fault("bounds", Twine(verb) + " of " + Twine(bytes) +
                        " bytes at global address 0x" +
                        Twine::utohexstr(address) + " (lane " + Twine(lane) +
                        ") is " + where);
    return {};
  }
  if (address & (alignment - 1)) {
    if (context.options.checks.bounds &&
        complain("alignment", Twine(verb) + " at global address 0x" +
                                  Twine::utohexstr(address) +
                                  " is not aligned to " + Twine(alignment) +
                                  " bytes"))
      return {};
  }
  uint64_t offset = address - buffer->address;
  return {buffer->data + offset, buffer->undefined.empty()
                                     ? nullptr
                                     : buffer->undefined.data() + offset};
}

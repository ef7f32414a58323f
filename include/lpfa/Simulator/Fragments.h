//===- Fragments.h - Matrix fragments of warps ------------------*- C++ -*-===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which element of a matrix each register of each thread holds, for mma.sync
// (PTX ISA 9.7.14.5), ldmatrix and stmatrix (9.7.14.5.15 and .16) and wgmma
// (9.7.15.5). An element is counted in a 32-bit register from its low bits:
// element 0 of two, four or eight.
//
//===----------------------------------------------------------------------===//

#ifndef LPFA_SIMULATOR_FRAGMENTS_H
#define LPFA_SIMULATOR_FRAGMENTS_H

namespace lpfa::sim {

struct FragmentElement {
  unsigned row = 0;
  unsigned column = 0;
};

/// A (M x K, M 8 or 16) of mma.sync with elements of 4, 8, 16 or 32 bits; with
/// M = 16 also A in registers of wgmma, whose warp w holds rows 16 * w and on.
/// Not the shapes m8n8k4 of 16-bit elements and those of f64.
constexpr FragmentElement fragmentA(unsigned m, unsigned elementBits,
                                    unsigned lane, unsigned reg,
                                    unsigned element) {
  unsigned perRegister = 32 / elementBits;
  unsigned column = lane % 4 * perRegister + element;
  if (m == 8)
    return {lane / 4, column + reg * 4 * perRegister};
  return {lane / 4 + reg % 2 * 8, column + reg / 2 * 4 * perRegister};
}

/// Registers of A that a thread holds.
constexpr unsigned numRegistersA(unsigned m, unsigned k, unsigned elementBits) {
  return m * k * elementBits / 1024;
}

/// B (K x 8) of mma.sync: row counts K.
constexpr FragmentElement fragmentB(unsigned elementBits, unsigned lane,
                                    unsigned reg, unsigned element) {
  unsigned perRegister = 32 / elementBits;
  return {lane % 4 * perRegister + element + reg * 4 * perRegister, lane / 4};
}

constexpr unsigned numRegistersB(unsigned k, unsigned elementBits) {
  return k * elementBits / 128;
}

/// Element `index` of a thread's part of C and D, whose rows are 8 columns wide
/// in mma.sync (M 8 or 16; binary16 takes two elements a register) and N wide
/// in wgmma, whose warp w holds rows 16 * w and on: every four elements are
/// eight columns further.
constexpr FragmentElement fragmentD(unsigned m, unsigned lane, unsigned index) {
  if (m == 8)
    return {lane / 4, lane % 4 * 2 + index % 2};
  return {lane / 4 + index / 2 % 2 * 8,
          index / 4 * 8 + lane % 4 * 2 + index % 2};
}

/// ldmatrix and stmatrix `.m8n8.b16`: the element of the 8 x 8 matrix that half
/// `half` of the register holds. Row r of matrix i comes from the address of
/// lane 8 * i + r and goes to register i.
constexpr FragmentElement fragmentOfMatrix8x8(bool transposed, unsigned lane,
                                              unsigned half) {
  if (transposed)
    return {lane % 4 * 2 + half, lane / 4};
  return {lane / 4, lane % 4 * 2 + half};
}

} // namespace lpfa::sim

#endif // LPFA_SIMULATOR_FRAGMENTS_H

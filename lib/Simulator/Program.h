//===- Program.h - Decoded programs -----------------------------*- C++ -*-===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The form that runs. Every operand, immediate constants and special registers
// included, is a place in the warp's register file, so that an instruction
// is a function applied to arrays of 32 lanes.
//
//===----------------------------------------------------------------------===//

#ifndef LPFA_LIB_SIMULATOR_PROGRAM_H
#define LPFA_LIB_SIMULATOR_PROGRAM_H

#include "PTXSyntax.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace lpfa::sim {

class Warp;

/// One bit a lane.
using LaneMask = uint32_t;
constexpr LaneMask allLanes = ~LaneMask(0);
constexpr unsigned warpSize = 32;

enum class Type : uint8_t {
  None,
  Pred,
  B8,
  B16,
  B32,
  B64,
  B128,
  U8,
  U16,
  U32,
  U64,
  S8,
  S16,
  S32,
  S64,
  F16,
  BF16,
  F32,
  F64,
  F16x2,
  BF16x2,
  F32x2,
};

unsigned bytesOf(Type type);
bool isSigned(Type type);
bool isFloat(Type type);

enum class Space : uint8_t {
  Generic,
  Global,
  Shared, ///< of the cluster; addresses carry the CTA's rank
  Local,
  Param,
  Const,
};

/// Generic addresses: each space but global has a window below 2^36, where
/// buffers begin.
constexpr uint64_t windowMask = 0xFFFFFFFF;
constexpr uint64_t sharedWindow = uint64_t(1) << 32;
constexpr uint64_t localWindow = uint64_t(2) << 32;
constexpr uint64_t paramWindow = uint64_t(3) << 32;
constexpr uint64_t constWindow = uint64_t(4) << 32;
constexpr unsigned bufferShift = 36;

/// Shared memory begins here in every CTA: the hardware keeps the first KiB.
constexpr uint32_t sharedBase = 1024;
/// A shared address holds the rank of its CTA in the cluster from this bit on.
constexpr unsigned rankShift = 24;

/// A place in the register file.
struct Operand {
  static constexpr uint32_t none = ~0u;
  /// Number of the register; `none` for `_` and absent operands.
  uint32_t reg = none;
  /// Its byte offset in the value file.
  uint32_t offset = 0;
  /// Bytes of one lane: 4 (also for 8 and 16 bits), 8, 16, or 0 for predicates,
  /// which are one LaneMask.
  uint8_t bytes = 0;
  /// A predicate that is used negated.
  bool negated = false;
  /// Added to the register's value where it is an address.
  int64_t displacement = 0;

  explicit operator bool() const { return reg != none; }
};

/// What an instruction's function tells the warp.
enum class Status : uint8_t {
  Next,    ///< go on with the following instruction
  Jump,    ///< the fragment's pc has been set
  Blocked, ///< try the same instruction again when something has happened
  Yield,   ///< go on, but let others run first
  Stop     ///< a finding ended the run
};

/// How undefinedness of sources reaches the destinations.
enum class Undef : uint8_t {
  Any,     ///< an undefined byte of a lane makes the lane's results undefined
  Copy,    ///< sources and destinations are byte strings of the same length
  Bitwise, ///< byte by byte, union of the sources
  And,     ///< as Bitwise, but a byte of zeros makes a byte of zeros
  Shift,   ///< by whole bytes if the amount is a constant multiple of 8
  Extract, ///< bfe of whole bytes at a constant place
  Permute, ///< prmt with a constant selector
  Select,  ///< the chosen source; the predicate must be defined to choose
  Self     ///< the instruction's function sees to it
};

struct Instruction;
using ExecuteFn = Status (*)(Warp &, const Instruction &, LaneMask);

/// Tables and modifiers that only some instructions have.
struct InstructionData {
  virtual ~InstructionData() = default;
};

struct Instruction {
  ExecuteFn execute = nullptr;
  /// The guard predicate; `none` if unconditional.
  Operand guard;
  Undef undef = Undef::Any;
  /// Warp-wide instructions run although the guard is false in all lanes.
  bool isBranch = false;
  uint8_t numDestinations = 0;
  Type type = Type::None;
  Type sourceType = Type::None;
  Space space = Space::Generic;
  /// Meaning depends on the opcode; each group of instructions names them.
  uint8_t vector = 1;
  uint32_t flags = 0;
  uint32_t selector = 0;
  /// Branches: where to, and where their lanes meet again.
  uint32_t target = 0;
  uint32_t reconverge = ~0u;
  unsigned line = 0;
  llvm::StringRef text;
  llvm::SmallVector<Operand, 5> operands;
  std::shared_ptr<const InstructionData> data;

  template <typename T> const T &as() const {
    return static_cast<const T &>(*data);
  }
  const Operand &operator[](unsigned i) const { return operands[i]; }
};

/// A register that holds the same value in every lane from the start.
struct Constant {
  enum class Kind : uint8_t {
    Value,
    Shared, ///< an offset in the CTA's shared memory; the rank is added
    Global, ///< number of a module variable
    Const,  ///< number of a module variable
    Special ///< `value` is a SpecialRegister
  };
  Operand place;
  Kind kind = Kind::Value;
  uint64_t value = 0;
  int64_t addend = 0;
  /// A generic address: the window's base is added.
  bool generic = false;
};

enum class SpecialRegister : uint8_t {
  TidX,
  TidY,
  TidZ,
  NtidX,
  NtidY,
  NtidZ,
  CtaidX,
  CtaidY,
  CtaidZ,
  NctaidX,
  NctaidY,
  NctaidZ,
  ClusteridX,
  ClusteridY,
  ClusteridZ,
  NclusteridX,
  NclusteridY,
  NclusteridZ,
  ClusterCtaidX,
  ClusterCtaidY,
  ClusterCtaidZ,
  ClusterNctaidX,
  ClusterNctaidY,
  ClusterNctaidZ,
  ClusterCtarank,
  ClusterNctarank,
  IsExplicitCluster,
  LaneId,
  WarpId,
  NWarpId,
  SmId,
  NSmId,
  GridId,
  LanemaskEq,
  LanemaskLe,
  LanemaskLt,
  LanemaskGe,
  LanemaskGt,
  DynamicSmemSize,
  TotalSmemSize,
  ZeroRegister,
};

/// A kernel or device function.
struct Function {
  std::string name;
  const ptx::SyntaxFunction *syntax = nullptr;
  std::vector<Instruction> code;
  std::vector<Constant> constants;
  /// Number of registers, constants included, and bytes of their values.
  uint32_t numRegisters = 0;
  uint32_t valueBytes = 0;
  /// Bytes of parameters, of local variables, and of static shared variables
  /// (from `sharedBase` on) including module-scope ones.
  std::vector<uint32_t> parameterOffsets;
  uint32_t parameterBytes = 0;
  uint32_t localBytes = 0;
  uint32_t staticSharedBytes = 0;
  uint32_t dynamicSharedAlign = 16;
  bool usesTensorMemory = false;
  /// Whether it has a clusterlaunchcontrol.try_cancel.
  bool cancelsLaunches = false;
  /// Contains griddepcontrol.wait: it may start before the launch before it has
  /// ended.
  bool waitsForGrid = false;
};

class Program {
public:
  std::unique_ptr<ptx::SyntaxModule> syntax;
  /// Entries, in file order.
  std::vector<std::unique_ptr<Function>> functions;

  const Function *find(llvm::StringRef name) const;
};

/// Decodes every entry; fails at the first instruction that is not supported.
llvm::Expected<std::unique_ptr<Program>>
decode(std::unique_ptr<ptx::SyntaxModule> module);

} // namespace lpfa::sim

#endif // LPFA_LIB_SIMULATOR_PROGRAM_H

//===- Decoder.cpp - From syntax to instructions --------------------------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Decoder.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/MathExtras.h"
#include <cstring>

using namespace lpfa::sim;
using llvm::Error;
using llvm::StringRef;
using llvm::Twine;
using ptx::SyntaxOperand;

unsigned lpfa::sim::bytesOf(Type type) {
  switch (type) {
  case Type::None:
  case Type::Pred:
    return 0;
  case Type::B8:
  case Type::U8:
  case Type::S8:
    return 1;
  case Type::B16:
  case Type::U16:
  case Type::S16:
  case Type::F16:
  case Type::BF16:
    return 2;
  case Type::B32:
  case Type::U32:
  case Type::S32:
  case Type::F32:
  case Type::F16x2:
  case Type::BF16x2:
    return 4;
  case Type::B64:
  case Type::U64:
  case Type::S64:
  case Type::F64:
  case Type::F32x2:
    return 8;
  case Type::B128:
    return 16;
  }
  return 0;
}

bool lpfa::sim::isSigned(Type type) {
  return type == Type::S8 || type == Type::S16 || type == Type::S32 ||
         type == Type::S64;
}

bool lpfa::sim::isFloat(Type type) {
  return type >= Type::F16 && type <= Type::F32x2;
}

static std::optional<Type> parseType(StringRef name) {
  return llvm::StringSwitch<std::optional<Type>>(name)
      .Case("pred", Type::Pred)
      .Case("b8", Type::B8)
      .Case("b16", Type::B16)
      .Case("b32", Type::B32)
      .Case("b64", Type::B64)
      .Case("b128", Type::B128)
      .Case("u8", Type::U8)
      .Case("u16", Type::U16)
      .Case("u32", Type::U32)
      .Case("u64", Type::U64)
      .Case("s8", Type::S8)
      .Case("s16", Type::S16)
      .Case("s32", Type::S32)
      .Case("s64", Type::S64)
      .Case("f16", Type::F16)
      .Case("bf16", Type::BF16)
      .Case("f32", Type::F32)
      .Case("f64", Type::F64)
      .Case("f16x2", Type::F16x2)
      .Case("bf16x2", Type::BF16x2)
      .Case("f32x2", Type::F32x2)
      .Default(std::nullopt);
}

/// Bytes of a lane in the register file.
static unsigned fileBytes(Type type) {
  unsigned bytes = bytesOf(type);
  return bytes && bytes < 4 ? 4 : bytes;
}

//===----------------------------------------------------------------------===//
// Decoder
//===----------------------------------------------------------------------===//

Decoder::Decoder(FunctionDecoder &function,
                 const ptx::SyntaxInstruction &syntax, Instruction &instruction)
    : inst(instruction), syntax(syntax), function(function),
      modifiers(syntax.modifiers.begin(), syntax.modifiers.end()) {}

void Decoder::fail(const Twine &message) {
  if (complaint.empty())
    complaint = message.str();
}

bool Decoder::take(StringRef modifier) {
  auto it = llvm::find(modifiers, modifier);
  if (it == modifiers.end())
    return false;
  modifiers.erase(it);
  return true;
}

int Decoder::takeOneOf(llvm::ArrayRef<StringRef> names) {
  for (auto it = modifiers.begin(); it != modifiers.end(); ++it)
    if (auto found = llvm::find(names, *it); found != names.end()) {
      modifiers.erase(it);
      return found - names.begin();
    }
  return -1;
}

std::optional<Type> Decoder::takeType() {
  for (auto it = modifiers.begin(); it != modifiers.end(); ++it)
    if (std::optional<Type> type = parseType(*it)) {
      modifiers.erase(it);
      return type;
    }
  return std::nullopt;
}

Type Decoder::needType() {
  if (std::optional<Type> type = takeType())
    return *type;
  fail("'" + syntax.opcode + "' without a type");
  return Type::B32;
}

Space Decoder::takeSpace() {
  static constexpr StringRef names[] = {
      "global", "shared",       "shared::cta", "shared::cluster", "local",
      "param",  "param::entry", "param::func", "const",           "generic"};
  static constexpr Space spaces[] = {
      Space::Global, Space::Shared, Space::Shared, Space::Shared,
      Space::Local,  Space::Param,  Space::Param,  Space::Param,
      Space::Const,  Space::Generic};
  int i = takeOneOf(names);
  return i < 0 ? Space::Generic : spaces[i];
}

void Decoder::operands(Type type, unsigned sources) {
  finish();
  needOperands(sources + 1);
  inst.type = type;
  destination(0, type);
  for (unsigned s = 1; s <= sources; ++s)
    source(s, type);
}

void Decoder::finish() {
  if (!modifiers.empty())
    fail("modifier '." + modifiers.front() + "' of '" + syntax.opcode +
         "' is not supported here");
}

void Decoder::needOperands(unsigned from, unsigned to) {
  if (numOperands() < from || numOperands() > std::max(from, to))
    fail("'" + syntax.opcode + "' with " + Twine(numOperands()) +
         " operands; expected " + Twine(from) +
         (to > from ? " to " + Twine(to) : Twine()));
}

const SyntaxOperand &Decoder::operand(unsigned i) const {
  static const SyntaxOperand nothing;
  return i < syntax.operands.size() ? syntax.operands[i] : nothing;
}

bool Decoder::isImmediate(unsigned i) const {
  return operand(i).kind == SyntaxOperand::Kind::Integer;
}

bool Decoder::isAddress(unsigned i) const {
  return operand(i).kind == SyntaxOperand::Kind::Address;
}

int64_t Decoder::immediate(unsigned i) {
  if (!isImmediate(i)) {
    fail("operand " + Twine(i + 1) + " must be an integer constant");
    return 0;
  }
  return operand(i).value;
}

static std::optional<SpecialRegister> findSpecial(StringRef name) {
  using S = SpecialRegister;
  static const llvm::StringMap<S> table = {
      {"%tid.x", S::TidX},
      {"%tid.y", S::TidY},
      {"%tid.z", S::TidZ},
      {"%ntid.x", S::NtidX},
      {"%ntid.y", S::NtidY},
      {"%ntid.z", S::NtidZ},
      {"%ctaid.x", S::CtaidX},
      {"%ctaid.y", S::CtaidY},
      {"%ctaid.z", S::CtaidZ},
      {"%nctaid.x", S::NctaidX},
      {"%nctaid.y", S::NctaidY},
      {"%nctaid.z", S::NctaidZ},
      {"%clusterid.x", S::ClusteridX},
      {"%clusterid.y", S::ClusteridY},
      {"%clusterid.z", S::ClusteridZ},
      {"%nclusterid.x", S::NclusteridX},
      {"%nclusterid.y", S::NclusteridY},
      {"%nclusterid.z", S::NclusteridZ},
      {"%cluster_ctaid.x", S::ClusterCtaidX},
      {"%cluster_ctaid.y", S::ClusterCtaidY},
      {"%cluster_ctaid.z", S::ClusterCtaidZ},
      {"%cluster_nctaid.x", S::ClusterNctaidX},
      {"%cluster_nctaid.y", S::ClusterNctaidY},
      {"%cluster_nctaid.z", S::ClusterNctaidZ},
      {"%cluster_ctarank", S::ClusterCtarank},
      {"%cluster_nctarank", S::ClusterNctarank},
      {"%is_explicit_cluster", S::IsExplicitCluster},
      {"%laneid", S::LaneId},
      {"%warpid", S::WarpId},
      {"%nwarpid", S::NWarpId},
      {"%smid", S::SmId},
      {"%nsmid", S::NSmId},
      {"%gridid", S::GridId},
      {"%lanemask_eq", S::LanemaskEq},
      {"%lanemask_le", S::LanemaskLe},
      {"%lanemask_lt", S::LanemaskLt},
      {"%lanemask_ge", S::LanemaskGe},
      {"%lanemask_gt", S::LanemaskGt},
      {"%dynamic_smem_size", S::DynamicSmemSize},
      {"%total_smem_size", S::TotalSmemSize},
      {"%clock", S::ZeroRegister},
      {"%clock_hi", S::ZeroRegister},
      {"%clock64", S::ZeroRegister},
      {"%globaltimer", S::ZeroRegister},
      {"%globaltimer_lo", S::ZeroRegister},
      {"%globaltimer_hi", S::ZeroRegister},
      {"%aggr_smem_size", S::TotalSmemSize},
  };
  auto it = table.find(name);
  if (it == table.end())
    return std::nullopt;
  return it->second;
}

Operand Decoder::resolve(const SyntaxOperand &operand, Type type, Width width) {
  using Kind = SyntaxOperand::Kind;
  bool isAddress = width == Width::Address;
  unsigned bytes = fileBytes(type);
  Operand place;
  switch (operand.kind) {
  case Kind::Register: {
    place = function.registerPlace(operand.index);
    place.negated = operand.negated;
    bool wantsPredicate = type == Type::Pred;
    if (wantsPredicate != (place.bytes == 0))
      fail("register '" + operand.name + "' is " +
           (wantsPredicate ? "no predicate" : "a predicate"));
    if (isAddress               ? place.bytes != 4 && place.bytes != 8
        : width == Width::Wider ? place.bytes < bytes
                                : place.bytes != bytes)
      fail("register '" + operand.name + "' has the wrong width");
    return place;
  }
  case Kind::Special: {
    if (operand.name == "WARP_SZ")
      return function.constant(Constant::Kind::Value, warpSize, bytes);
    std::optional<SpecialRegister> special = findSpecial(operand.name);
    if (!special) {
      fail("unknown register '" + operand.name + "'");
      return place;
    }
    return function.constant(Constant::Kind::Special, uint64_t(*special),
                             isAddress ? 4 : bytes);
  }
  case Kind::Integer: {
    if (type == Type::Pred)
      return function.constant(Constant::Kind::Value, operand.value ? 1 : 0, 0);
    uint64_t value = operand.value;
    if (isAddress)
      bytes = 8;
    if (bytes == 16)
      fail("a 128-bit operand cannot be a constant");
    return function.constant(Constant::Kind::Value, value, bytes);
  }
  case Kind::Float: {
    uint64_t bits = operand.value;
    if (type == Type::F32 && operand.isDouble) {
      double d;
      std::memcpy(&d, &bits, 8);
      float f = float(d);
      bits = 0;
      std::memcpy(&bits, &f, 4);
    } else if (type == Type::F64 && !operand.isDouble) {
      float f;
      uint32_t low = bits;
      std::memcpy(&f, &low, 4);
      double d = f;
      std::memcpy(&bits, &d, 8);
    } else if (bytesOf(type) < 4) {
      fail("a floating-point constant in a 16-bit operand is not supported");
    }
    return function.constant(Constant::Kind::Value, bits, bytes ? bytes : 4);
  }
  case Kind::Symbol: {
    const FunctionDecoder::Variable *variable =
        function.findVariable(operand.name);
    if (!variable) {
      fail("unknown name '" + operand.name + "'");
      return place;
    }
    unsigned width = isAddress ? 8 : bytes;
    switch (variable->space) {
    case Space::Shared:
      return function.constant(Constant::Kind::Shared, variable->value, width,
                               operand.offset);
    case Space::Global:
      return function.constant(Constant::Kind::Global, variable->value, width,
                               operand.offset);
    case Space::Const:
      return function.constant(Constant::Kind::Const, variable->value, width,
                               operand.offset);
    default:
      return function.constant(Constant::Kind::Value,
                               variable->value + operand.offset, width);
    }
  }
  default:
    fail("operand is not of the expected form");
    return place;
  }
}

void Decoder::sourceOf(const SyntaxOperand &operand, Type type) {
  inst.operands.push_back(resolve(operand, type));
}

void Decoder::source(unsigned i, Type type) { sourceOf(operand(i), type); }

void Decoder::addDestination(const SyntaxOperand &operand, Type type,
                             Width width) {
  ++inst.numDestinations;
  if (operand.kind == SyntaxOperand::Kind::Sink)
    return absent();
  if (operand.kind != SyntaxOperand::Kind::Register || operand.negated)
    return fail("the destination must be a register");
  inst.operands.push_back(resolve(operand, type, width));
}

void Decoder::destinationOf(const SyntaxOperand &operand, Type type) {
  addDestination(operand, type, Width::Exact);
}

void Decoder::wideDestination(unsigned i, Type type) {
  addDestination(operand(i), type, Width::Wider);
}

void Decoder::wideSource(unsigned i, Type type) {
  inst.operands.push_back(resolve(operand(i), type, Width::Wider));
}

void Decoder::destination(unsigned i, Type type) {
  destinationOf(operand(i), type);
}

void Decoder::addressOf(const SyntaxOperand &operand) {
  if (operand.kind != SyntaxOperand::Kind::Address || operand.elements.empty())
    return fail("expected an address in brackets");
  // The parser moves a symbol's offset to the address itself.
  SyntaxOperand base = operand.elements.front();
  base.offset = 0;
  Operand place = resolve(base, Type::B32, Width::Address);
  place.displacement = operand.offset;
  inst.operands.push_back(place);
}

void Decoder::address(unsigned i) { addressOf(operand(i)); }

unsigned Decoder::sourceVector(unsigned i, Type type, bool wide) {
  const SyntaxOperand &list = operand(i);
  Width width = wide ? Width::Wider : Width::Exact;
  if (list.kind != SyntaxOperand::Kind::Vector) {
    inst.operands.push_back(resolve(list, type, width));
    return 1;
  }
  for (const SyntaxOperand &element : list.elements)
    inst.operands.push_back(resolve(element, type, width));
  return list.elements.size();
}

unsigned Decoder::destinationVector(unsigned i, Type type, bool wide) {
  const SyntaxOperand &list = operand(i);
  Width width = wide ? Width::Wider : Width::Exact;
  if (list.kind != SyntaxOperand::Kind::Vector) {
    addDestination(list, type, width);
    return 1;
  }
  for (const SyntaxOperand &element : list.elements)
    addDestination(element, type, width);
  return list.elements.size();
}

void Decoder::constant(uint64_t value, Type type) {
  inst.operands.push_back(
      function.constant(Constant::Kind::Value, value, fileBytes(type)));
}

uint32_t Decoder::label(const SyntaxOperand &operand) {
  if (operand.kind == SyntaxOperand::Kind::Symbol)
    if (int index = function.syntax.findLabel(syntax.scope, operand.name);
        index >= 0)
      return index;
  fail("unknown label '" + operand.name + "'");
  return 0;
}

//===----------------------------------------------------------------------===//
// FunctionDecoder
//===----------------------------------------------------------------------===//

Operand FunctionDecoder::allocate(unsigned bytes) {
  Operand place;
  place.reg = function.numRegisters++;
  place.bytes = bytes;
  // Predicates take a full alignment unit as well.
  place.offset = function.valueBytes;
  function.valueBytes += bytes ? bytes * warpSize : 32;
  return place;
}

Operand FunctionDecoder::constant(Constant::Kind kind, uint64_t value,
                                  unsigned bytes, int64_t addend,
                                  bool generic) {
  auto [it, isNew] = constantIndex.try_emplace(
      std::make_tuple(kind, value, bytes, addend, generic),
      function.constants.size());
  if (isNew) {
    Constant constant;
    constant.place = allocate(bytes);
    constant.kind = kind;
    constant.value = value;
    constant.addend = addend;
    constant.generic = generic;
    function.constants.push_back(constant);
  }
  return function.constants[it->second].place;
}

const FunctionDecoder::Variable *
FunctionDecoder::findVariable(StringRef name) const {
  auto it = variables.find(name);
  return it == variables.end() ? nullptr : &it->second;
}

Error FunctionDecoder::layOut() {
  for (const ptx::SyntaxRegister &r : syntax.registers)
    places.push_back(allocate(fileBytes(*parseType(r.type))));

  auto place = [](uint64_t &end, const ptx::SyntaxVariable &v) {
    uint64_t offset = llvm::alignTo(end, v.align);
    end = offset + v.size;
    return offset;
  };
  uint64_t parameterEnd = 0, sharedEnd = sharedBase, localEnd = 0;
  for (const ptx::SyntaxVariable &v : syntax.parameters) {
    uint64_t offset = place(parameterEnd, v);
    function.parameterOffsets.push_back(offset);
    variables[v.name] = {Space::Param, offset};
  }
  std::vector<const ptx::SyntaxVariable *> dynamic;
  auto addShared = [&](const ptx::SyntaxVariable &v) {
    if (v.isUnsized || (v.isExtern && v.size == 0))
      dynamic.push_back(&v);
    else
      variables[v.name] = {Space::Shared, place(sharedEnd, v)};
  };
  for (auto [index, v] : llvm::enumerate(module.variables)) {
    if (v.space == "shared")
      addShared(v);
    else
      variables[v.name] = {v.space == "const" ? Space::Const : Space::Global,
                           index};
  }
  for (const ptx::SyntaxVariable &v : syntax.variables) {
    if (v.space == "shared")
      addShared(v);
    else if (v.space == "local")
      variables[v.name] = {Space::Local, place(localEnd, v)};
    else
      return ptx::errorAt(module.name, v.line,
                          "a ." + v.space +
                              " variable in a function is not supported");
  }
  for (const ptx::SyntaxVariable *v : dynamic)
    function.dynamicSharedAlign =
        std::max<uint32_t>(function.dynamicSharedAlign, v->align);
  uint64_t dynamicBase = llvm::alignTo(sharedEnd, function.dynamicSharedAlign);
  for (const ptx::SyntaxVariable *v : dynamic)
    variables[v->name] = {Space::Shared, dynamicBase};
  constexpr uint64_t limit = 1 << rankShift;
  if (sharedEnd > limit || localEnd > limit || parameterEnd > limit)
    return ptx::errorAt(module.name, syntax.line,
                        "variables of '" + syntax.name + "' are too large");
  function.parameterBytes = parameterEnd;
  function.localBytes = localEnd;
  function.staticSharedBytes =
      (dynamic.empty() ? sharedEnd : dynamicBase) - sharedBase;
  return Error::success();
}

Error FunctionDecoder::run() {
  function.name = syntax.name;
  function.syntax = &syntax;
  if (Error e = layOut())
    return e;
  function.code.resize(syntax.body.size());
  for (auto [index, s] : llvm::enumerate(syntax.body)) {
    Instruction &instruction = function.code[index];
    instruction.line = s.line;
    instruction.text = s.text;
    if (s.guard >= 0) {
      instruction.guard = places[s.guard];
      instruction.guard.negated = s.guardNegated;
    }
    auto it = table.find(s.opcode);
    if (it == table.end())
      return ptx::errorAt(module.name, s.line,
                          "instruction '" + s.opcode + "' is not supported");
    Decoder decoder(*this, s, instruction);
    it->second(decoder);
    if (!decoder.failed() && !instruction.execute)
      decoder.fail("'" + s.opcode + "' is not supported in this form");
    if (decoder.failed())
      return ptx::errorAt(module.name, s.line, decoder.message());
  }
  findReconvergence(function);
  return Error::success();
}

const Function *Program::find(StringRef name) const {
  for (const std::unique_ptr<Function> &f : functions)
    if (f->name == name)
      return f.get();
  return nullptr;
}

llvm::Expected<std::unique_ptr<Program>>
lpfa::sim::decode(std::unique_ptr<ptx::SyntaxModule> module) {
  if (Error e = ptx::inlineCalls(*module))
    return std::move(e);
  static const DecodeTable table = [] {
    DecodeTable t;
    addArithmetic(t);
    addBits(t);
    addComparisons(t);
    addFloatArithmetic(t);
    addConversions(t);
    addMovement(t);
    addControlFlow(t);
    addWarpInstructions(t);
    addMemory(t);
    addAtomics(t);
    addBarriers(t);
    addMBarriers(t);
    addFences(t);
    addBulkCopies(t);
    addTensorMaps(t);
    addLaunchControl(t);
    addTensorInstructions(t);
    addMatrixInstructions(t);
    addWarpMatrix(t);
    return t;
  }();
  auto program = std::make_unique<Program>();
  program->syntax = std::move(module);
  for (const std::unique_ptr<ptx::SyntaxFunction> &f :
       program->syntax->functions) {
    if (!f->isEntry || !f->hasBody)
      continue;
    auto function = std::make_unique<Function>();
    if (Error e = FunctionDecoder(*program->syntax, *f, *function, table).run())
      return std::move(e);
    program->functions.push_back(std::move(function));
  }
  return std::move(program);
}

//===- InlineCalls.cpp - Bodies of called functions in place of calls -----===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX ISA 7.1 (device functions), 9.7.12.6 (call). Parameters in .param space
// become one variable of the caller, so that passing them costs nothing;
// recursion, indirect calls and functions without a body are refused.
//
//===----------------------------------------------------------------------===//

#include "PTXSyntax.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/Twine.h"

using namespace lpfa::sim::ptx;
using llvm::Error;
using llvm::StringRef;
using llvm::Twine;

namespace {

using Kind = SyntaxOperand::Kind;

class Inliner {
public:
  explicit Inliner(SyntaxModule &module) : module(module) {}
  Error run(SyntaxFunction &function);

private:
  using Names = llvm::StringMap<StringRef>;
  Error inlineCall(SyntaxFunction &caller, const SyntaxInstruction &call,
                   std::vector<SyntaxInstruction> &body);
  Error bindParameters(const SyntaxFunction &caller,
                       const SyntaxInstruction &call,
                       const std::vector<SyntaxVariable> &formal,
                       const SyntaxOperand *actual, Names &names);
  /// A name that lives as long as the module.
  StringRef keep(SyntaxFunction &function, const Twine &name) {
    return function.names.emplace_back(name.str());
  }
  static void rename(SyntaxOperand &operand, unsigned firstRegister,
                     const Names &names);
  static void makeLocal(SyntaxFunction &function);

  SyntaxModule &module;
  /// Functions whose calls are being replaced, and those that are done.
  std::vector<const SyntaxFunction *> active, done;
};

} // namespace

static const SyntaxVariable *findVariable(const SyntaxFunction &function,
                                          StringRef name) {
  auto it = llvm::find_if(function.variables, [&](const SyntaxVariable &v) {
    return v.name == name;
  });
  return it == function.variables.end() ? nullptr : &*it;
}

void Inliner::rename(SyntaxOperand &operand, unsigned firstRegister,
                     const Names &names) {
  if (operand.kind == Kind::Register)
    operand.index += firstRegister;
  else if (auto it = names.find(operand.name); it != names.end())
    operand.name = it->second;
  for (SyntaxOperand &element : operand.elements)
    rename(element, firstRegister, names);
}

/// .param variables of a body are memory of the thread.
void Inliner::makeLocal(SyntaxFunction &function) {
  llvm::StringSet<> passed;
  for (SyntaxVariable &v : function.variables)
    if (v.space == "param") {
      v.space = "local";
      passed.insert(v.name);
    }
  auto names = [&](const SyntaxOperand &o) {
    return passed.contains(o.name) ||
           llvm::any_of(o.elements, [&](const SyntaxOperand &e) {
             return passed.contains(e.name);
           });
  };
  for (SyntaxInstruction &i : function.body)
    if ((i.opcode == "ld" || i.opcode == "st") &&
        llvm::any_of(i.operands, names))
      for (StringRef &m : i.modifiers)
        if (m == "param" || m == "param::func")
          m = "local";
}

Error Inliner::run(SyntaxFunction &function) {
  if (llvm::is_contained(done, &function))
    return Error::success();
  active.push_back(&function);
  std::vector<SyntaxInstruction> body;
  std::vector<unsigned> moved;
  size_t ownScopes = function.scopes.size();
  for (const SyntaxInstruction &i : function.body) {
    moved.push_back(body.size());
    if (i.opcode != "call")
      body.push_back(i);
    else if (Error e = inlineCall(function, i, body))
      return e;
  }
  moved.push_back(body.size());
  for (size_t s = 0; s != ownScopes; ++s)
    for (auto &label : function.scopes[s].labels)
      label.second = moved[label.second];
  function.body = std::move(body);
  active.pop_back();
  done.push_back(&function);
  if (function.isEntry)
    makeLocal(function);
  return Error::success();
}

Error Inliner::bindParameters(const SyntaxFunction &caller,
                              const SyntaxInstruction &call,
                              const std::vector<SyntaxVariable> &formal,
                              const SyntaxOperand *actual, Names &names) {
  size_t count = actual ? actual->elements.size() : 0;
  if (count != formal.size())
    return errorAt(module.name, call.line,
                   "'call' passes " + Twine(count) + " values where " +
                       Twine(formal.size()) + " are declared");
  for (size_t k = 0; k != count; ++k) {
    const SyntaxOperand &value = actual->elements[k];
    const SyntaxVariable *v =
        value.kind == Kind::Symbol ? findVariable(caller, value.name) : nullptr;
    if (!v || v->space != "param" || formal[k].space != "param")
      return errorAt(module.name, call.line,
                     "'call' with values in registers is not supported");
    if (v->size != formal[k].size)
      return errorAt(module.name, call.line,
                     "'call' passes " + Twine(v->size) + " bytes for '" +
                         formal[k].name + "' of " + Twine(formal[k].size));
    names[formal[k].name] = value.name;
  }
  return Error::success();
}

Error Inliner::inlineCall(SyntaxFunction &caller, const SyntaxInstruction &call,
                          std::vector<SyntaxInstruction> &body) {
  constexpr size_t maxInstructions = 1 << 20;
  // (results), function, (parameters)
  llvm::ArrayRef<SyntaxOperand> operands = call.operands;
  const SyntaxOperand *results = nullptr, *parameters = nullptr;
  if (!operands.empty() && operands.front().kind == Kind::Group) {
    results = &operands.front();
    operands = operands.drop_front();
  }
  if (operands.size() > 1 && operands[1].kind == Kind::Group)
    parameters = &operands[1];
  if (operands.empty() || operands.front().kind != Kind::Symbol ||
      operands.size() > (parameters ? 2 : 1))
    return errorAt(module.name, call.line,
                   "an indirect 'call' is not supported");
  StringRef name = operands.front().name;
  auto it = llvm::find_if(module.functions,
                          [&](const auto &f) { return f->name == name; });
  if (it == module.functions.end() || !(*it)->hasBody)
    return errorAt(module.name, call.line,
                   "'call' of '" + name +
                       "', which has no body here, is not supported");
  SyntaxFunction &callee = **it;
  if (llvm::is_contained(active, &callee))
    return errorAt(module.name, call.line,
                   "'call' of '" + name + "' is recursive: not supported");
  if (Error e = run(callee))
    return e;
  if (body.size() + callee.body.size() > maxInstructions)
    return errorAt(module.name, call.line,
                   "too many instructions after 'call' of '" + name + "'");

  unsigned number = caller.names.size();
  unsigned firstRegister = caller.registers.size();
  unsigned firstScope = caller.scopes.size();
  Names names;
  if (Error e = bindParameters(caller, call, callee.results, results, names))
    return e;
  if (Error e =
          bindParameters(caller, call, callee.parameters, parameters, names))
    return e;
  llvm::append_range(caller.registers, callee.registers);
  for (const SyntaxVariable &v : callee.variables) {
    // Shared variables are one for all calls.
    if (v.space == "shared") {
      if (!findVariable(caller, v.name))
        caller.variables.push_back(v);
      continue;
    }
    caller.variables.push_back(v);
    caller.variables.back().name = v.name + "." + std::to_string(number);
    names[v.name] = keep(caller, caller.variables.back().name);
  }
  // A guard that is false skips the body.
  StringRef end = keep(caller, "end of call " + Twine(number));
  auto branchToEnd = [&](const SyntaxInstruction &from, unsigned scope) {
    SyntaxInstruction branch = from;
    branch.opcode = "bra";
    branch.modifiers.clear();
    branch.operands.clear();
    branch.operands.emplace_back();
    branch.operands.back().kind = Kind::Symbol;
    branch.operands.back().name = end;
    branch.scope = scope;
    return branch;
  };
  if (call.guard >= 0) {
    body.push_back(branchToEnd(call, firstScope));
    body.back().guardNegated = !call.guardNegated;
  }
  unsigned first = body.size();
  for (const SyntaxFunction::Scope &scope : callee.scopes) {
    caller.scopes.push_back(scope);
    SyntaxFunction::Scope &copy = caller.scopes.back();
    if (copy.parent >= 0)
      copy.parent += firstScope;
    for (auto &label : copy.labels)
      label.second += first;
  }
  for (const SyntaxInstruction &i : callee.body) {
    SyntaxInstruction copy = i;
    if (copy.guard >= 0)
      copy.guard += firstRegister;
    copy.scope += firstScope;
    if (copy.opcode == "ret")
      copy = branchToEnd(copy, firstScope);
    else
      for (SyntaxOperand &o : copy.operands)
        rename(o, firstRegister, names);
    body.push_back(std::move(copy));
  }
  caller.scopes[firstScope].labels[end] = body.size();
  return Error::success();
}

Error lpfa::sim::ptx::inlineCalls(SyntaxModule &module) {
  Inliner inliner(module);
  for (const std::unique_ptr<SyntaxFunction> &f : module.functions)
    if (f->isEntry && f->hasBody)
      if (Error e = inliner.run(*f))
        return e;
  return Error::success();
}

//===- Report.cpp - A page that shows a module's schedules ----------------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lpfa/Target/Report.h"
#include "lpfa/Analysis/ScheduleReport.h"
#include "lpfa/Analysis/ScheduleTimeline.h"
#include "lpfa/Analysis/ScheduleVerifier.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"

using namespace mlir;
using namespace lpfa;
namespace json = llvm::json;

/// The page around the data.
static const char page[] = {
#include "Report.html.inc"
};

/// Steps of the work tiles that the page shows: enough to see a steady state,
/// and a seam.
static constexpr int64_t kShownSteps[] = {4, 2};

static std::string getName(BufferId buffer) {
  std::string name = getBufferName(buffer.declaration).str();
  if (auto channel = dyn_cast<ChannelOp>(buffer.declaration))
    if (channel.getChannel().getType().getBuffers().size() > 1)
      name += "." + std::to_string(buffer.index);
  return name;
}

static StringRef getKind(Operation *op) {
  return TypeSwitch<Operation *, StringRef>(op)
      .Case<MmaOp>([](auto) { return "mma"; })
      .Case<CopyScalesOp, CopyTileOp>([](auto) { return "copy"; })
      .Case<LoadAsyncOp>([](auto) { return "load"; })
      .Case<StoreAsyncOp, StoreOp>([](auto) { return "store"; })
      .Case<WaitOp>([](auto) { return "wait"; })
      .Case<ArriveOp, CommitOp, ExpectBytesOp>([](auto) { return "arrive"; })
      .Default([](Operation *) { return "compute"; });
}

static std::string getLabel(const ScheduleTimeline::Event &event) {
  std::string label = event.op->getName().stripDialect().str();
  if (isa<WaitOp, ArriveOp, CommitOp, ExpectBytesOp>(event.op))
    if (auto barrier = event.op->getOperand(0).getDefiningOp<BarrierOp>())
      label += " " + barrier.getName().str();
  auto list = [&](StringRef verb, ArrayRef<BufferId> buffers) {
    if (!buffers.empty())
      label += llvm::formatv(
          "{0} {1}", verb, llvm::join(llvm::map_range(buffers, getName), ", "));
  };
  list(", reads", event.reads);
  list(", writes", event.writes);
  return label;
}

namespace {
/// The data of one kernel.
class KernelData {
public:
  KernelData(KernelOp kernel, const ScheduleTimeline &timeline)
      : kernel(kernel), timeline(timeline), buffers(getBuffers(kernel)),
        roles(kernel.getBody().getOps<RoleOp>()) {}

  json::Object build(StringRef verdict, ArrayRef<OverlapProof> proofs);

private:
  int64_t getIndex(RoleOp role) const {
    return llvm::find(roles, role) - roles.begin();
  }
  json::Array getRoles();
  json::Array getTiles();
  json::Array getBarriers();
  json::Array getEvents();
  json::Array getArrows();
  json::Array getLives();
  json::Array getMarks();
  json::Array getOverlaps(ArrayRef<OverlapProof> proofs);

  KernelOp kernel;
  const ScheduleTimeline &timeline;
  std::vector<BufferId> buffers;
  SmallVector<RoleOp> roles;
};
} // namespace

json::Array KernelData::getRoles() {
  json::Array array;
  for (RoleOp role : roles)
    array.push_back(json::Object{{"name", role.getName()},
                                 {"warps", int64_t(role.getWarps())},
                                 {"firstWarp", int64_t(role.getFirstWarp())},
                                 {"registers", int64_t(role.getRegisters())},
                                 {"elected", role.getElected()}});
  return array;
}

json::Array KernelData::getTiles() {
  json::Array array;
  for (BufferId buffer : buffers) {
    BufferType type = getBufferType(buffer);
    std::string text;
    llvm::raw_string_ostream(text) << type.getTile();
    PlaceAttr place = getPlace(buffer);
    array.push_back(
        json::Object{{"name", getName(buffer)},
                     {"type", text},
                     {"space", stringifyMemorySpace(type.getSpace())},
                     {"offset", place.getOffset()},
                     {"size", place.getSize()},
                     {"stages", getStages(buffer)},
                     {"distance", place.getDistance()}});
  }
  return array;
}

json::Array KernelData::getBarriers() {
  json::Array array;
  for (auto barrier : kernel.getBody().getOps<BarrierOp>()) {
    llvm::SetVector<StringRef> arrive, wait;
    // In the order of the roles, whatever that of the uses.
    for (RoleOp role : roles)
      for (Operation *user : barrier.getBarrier().getUsers())
        if (user->getParentOfType<RoleOp>() == role)
          (isa<WaitOp>(user) ? wait : arrive).insert(role.getName());
    array.push_back(
        json::Object{{"name", barrier.getName()},
                     {"stages", int64_t(barrier.getStages())},
                     {"arrivals", int64_t(barrier.getArrivals())},
                     {"arrive", json::Array(arrive.getArrayRef())},
                     {"wait", json::Array(wait.getArrayRef())},
                     {"guards", barrier.getGuards().value_or("").str()}});
  }
  return array;
}

json::Array KernelData::getEvents() {
  json::Array array;
  for (const ScheduleTimeline::Event &event : timeline.events)
    array.push_back(json::Object{{"role", getIndex(event.role)},
                                 {"time", event.time},
                                 {"kind", getKind(event.op)},
                                 {"label", getLabel(event)}});
  return array;
}

json::Array KernelData::getArrows() {
  json::Array array;
  for (const ScheduleTimeline::Arrow &arrow : timeline.arrows)
    array.push_back(
        json::Object{{"from", int64_t(arrow.from)},
                     {"to", int64_t(arrow.to)},
                     {"barrier", BarrierOp(arrow.barrier).getName()}});
  return array;
}

json::Array KernelData::getLives() {
  json::Array array;
  for (const ScheduleTimeline::Life &life : timeline.lives) {
    const ScheduleTimeline::Event &first = timeline.events[life.first],
                                  &last = timeline.events[life.last];
    auto describe = [&](const ScheduleTimeline::Event &event) {
      return llvm::formatv("{0}: {1}", RoleOp(event.role).getName(),
                           getLabel(event))
          .str();
    };
    array.push_back(json::Object{
        {"buffer", int64_t(llvm::find(buffers, life.buffer) - buffers.begin())},
        {"content", life.content},
        {"begin", life.range.begin},
        {"end", life.range.end},
        {"from", first.time},
        {"to", last.time},
        {"first", describe(first)},
        {"last", describe(last)}});
  }
  return array;
}

json::Array KernelData::getMarks() {
  json::Array array;
  for (const ScheduleTimeline::Mark &mark : timeline.marks)
    array.push_back(json::Object{
        {"time", mark.time},
        {"label",
         llvm::formatv("tile {0}, step {1}", mark.workTile, mark.step).str()}});
  return array;
}

json::Array KernelData::getOverlaps(ArrayRef<OverlapProof> proofs) {
  json::Array array;
  for (const OverlapProof &proof : proofs) {
    std::string range;
    llvm::raw_string_ostream(range) << proof.range;
    array.push_back(json::Object{{"first", getName(proof.first)},
                                 {"second", getName(proof.second)},
                                 {"range", range},
                                 {"chain", json::Array(proof.chain)}});
  }
  return array;
}

json::Object KernelData::build(StringRef verdict,
                               ArrayRef<OverlapProof> proofs) {
  return json::Object{
      {"name", kernel.getSymName()},
      {"verdict", ("The schedule is " + verdict + ".").str()},
      {"threads", int64_t(kernel.getThreads().value_or(0))},
      {"tensorColumns", int64_t(kernel.getTensorColumns().value_or(0))},
      {"sharedBytes", int64_t(kernel.getSharedBytes().value_or(0))},
      {"length", timeline.length},
      {"steps", json::Array(ArrayRef(kShownSteps))},
      {"roles", getRoles()},
      {"buffers", getTiles()},
      {"barriers", getBarriers()},
      {"events", getEvents()},
      {"arrows", getArrows()},
      {"lifetimes", getLives()},
      {"marks", getMarks()},
      {"overlaps", getOverlaps(proofs)}};
}

FailureOr<std::string> lpfa::buildReport(ModuleOp module, StringRef chip,
                                         Ordering ordering) {
  json::Array kernels;
  for (auto kernel : module.getOps<KernelOp>()) {
    if (kernel.getStage() != Stage::Synchronized)
      continue;
    FailureOr<ScheduleVerdict> verdict = verifySchedule(kernel, ordering);
    if (failed(verdict))
      return failure();
    FailureOr<ScheduleTimeline> timeline =
        buildScheduleTimeline(kernel, kShownSteps);
    if (failed(timeline))
      return failure();
    FailureOr<std::vector<OverlapProof>> proofs = explainOverlaps(kernel);
    if (failed(proofs))
      return failure();
    kernels.push_back(
        KernelData(kernel, *timeline).build(verdict->describe(), *proofs));
  }
  std::string data;
  llvm::raw_string_ostream(data) << json::Value(
      json::Object{{"chip", chip}, {"kernels", std::move(kernels)}});
  // No string of the data may end the element that it stands in.
  std::string text;
  for (char c : data)
    text += c == '<' ? std::string("\\u003c") : std::string(1, c);
  auto [before, after] = StringRef(page).split("LPFA_REPORT_DATA");
  return (before + text + after).str();
}

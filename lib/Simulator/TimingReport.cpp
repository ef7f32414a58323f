//===- TimingReport.cpp - Modelled time as text, JSON and trace -----------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lpfa/Simulator/Simulator.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/FormatVariadic.h"

using namespace lpfa::sim;
using llvm::formatv;

void Timing::print(llvm::raw_ostream &os) const {
  os << formatv("modelled on {0} at {1:F3} GHz: {2:F0} clocks, {3:F3} us; a "
                "model, not a measurement\n",
                chip, clockGHz, cycles, seconds() * 1e6);
  if (sampledClusters < clusters)
    os << formatv("  of {0} clusters {1} were run, those of the sampled SMs; "
                  "the other SMs are taken for alike\n",
                  clusters, sampledClusters);
  os << "busy:\n";
  for (const auto &[name, share] : units)
    os << formatv("  {0,-16} {1,6:F1} %\n", name, 100 * share);
  os << "warps, in clocks (issuing; then what they waited for):\n";
  // One CTA stands for the others.
  llvm::StringRef first;
  if (!warps.empty())
    first = warps.front().name;
  llvm::StringRef cta = first.take_front(first.rfind(" warp "));
  for (const WarpTime &w : warps) {
    if (!llvm::StringRef(w.name).starts_with(cta))
      continue;
    os << formatv("  {0}: {1:F0} ({2:F0}", w.name, w.cycles, w.issueCycles);
    for (const auto &[what, clocks] : llvm::ArrayRef(w.waits).take_front(4))
      os << formatv("; {0} {1:F0}", what, clocks);
    os << ")\n";
  }
  os << "assumptions:\n";
  for (const std::string &a : assumptions)
    os << "  " << a << "\n";
}

void Timing::writeTrace(llvm::raw_ostream &os) const {
  llvm::json::OStream json(os);
  llvm::StringMap<unsigned> tracks;
  json.object([&] {
    json.attribute("displayTimeUnit", "ms");
    json.attributeObject("otherData", [&] {
      json.attribute("unit", "1 us of the trace is one modelled clock");
      json.attribute("chip", chip);
    });
    json.attributeArray("traceEvents", [&] {
      for (const Slice &s : slices) {
        auto [it, isNew] = tracks.try_emplace(s.track, tracks.size());
        if (isNew)
          json.object([&] {
            json.attribute("ph", "M");
            json.attribute("name", "thread_name");
            json.attribute("pid", 0);
            json.attribute("tid", it->second);
            json.attributeObject("args",
                                 [&] { json.attribute("name", s.track); });
          });
        json.object([&] {
          json.attribute("ph", "X");
          json.attribute("name", s.name);
          json.attribute("pid", 0);
          json.attribute("tid", it->second);
          json.attribute("ts", s.from);
          json.attribute("dur", s.to - s.from);
        });
      }
    });
  });
  os << "\n";
}

llvm::json::Value Timing::toJSON() const {
  llvm::json::Object busy;
  for (const auto &[name, share] : units)
    busy[name] = share;
  llvm::json::Array list;
  for (const WarpTime &w : warps) {
    llvm::json::Array waits;
    for (const auto &[what, clocks] : w.waits)
      waits.push_back(llvm::json::Object{{"for", what}, {"clocks", clocks}});
    list.push_back(llvm::json::Object{{"warp", w.name},
                                      {"clocks", w.cycles},
                                      {"issuing", w.issueCycles},
                                      {"instructions", int64_t(w.instructions)},
                                      {"waits", std::move(waits)}});
  }
  return llvm::json::Object{{"chip", chip},
                            {"clock_ghz", clockGHz},
                            {"clocks", cycles},
                            {"seconds", seconds()},
                            {"clusters", int64_t(clusters)},
                            {"sampled_clusters", int64_t(sampledClusters)},
                            {"busy", std::move(busy)},
                            {"warps", std::move(list)},
                            {"assumptions", llvm::json::Array(assumptions)}};
}

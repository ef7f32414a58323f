#!/usr/bin/env bash
# ===- quantization.sh - Speed of the quantization kernels -----------------===#
#
# Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===-----------------------------------------------------------------------===#
#
# On any machine, for a chip:
#
#   benchmark/quantization.sh compile DIR [--chip=sm_90a]
#
# on one with such a GPU, which needs lpfa-launch alone:
#
#   benchmark/quantization.sh run DIR
#
# Prints a Markdown table: time, the bytes an element that a kernel must move
# (tensors are read and written once; rows too wide to stay in a CTA or cluster
# are read twice), GB/s, and the fraction of a copy of as many bytes, measured
# beside.

set -euo pipefail

# Rows and columns.
sizes="16384x16384 32768x4096 8192x8192 131072x128"
# Rows are a CTA's, a cluster's, and so wide that they are read twice.
norm_sizes="32768x4096 16384x8192 16384x16384 8192x8192 131072x128 65536x256
32768x512 16384x1536 4096x65536 2048x131072"
# The widest row that is read once.
norm_once=65536
# Of gradients, which are all read once.
backward_sizes="32768x4096 16384x8192 16384x16384 4096x65536"
# Of squares.
square_sizes="32768x4096 16384x16384 131072x2048 8192x8192 131072x128 65536x256
32768x512"
square_once=4096
# Of scales.
layout_size=262144x4096

# The functions of a module for rows of $1 elements.
functions() {
  local c=$1 g=$(($1 / 32)) t=$((($1 + 127) / 128))
  local x="tensor<?x${c}xbf16>" q="tensor<?x${c}xf8E4M3FN>"
  local s="tensor<?x${g}xf8E8M0FNU>" u="tensor<?x${c}xf8E8M0FNU>"
  local b="tensor<?x${t}x32x4x4xf8E8M0FNU>" d="tensor<${t}x?x32x4x4xf8E8M0FNU>"
  cat <<END
func.func @row(%x: $x) -> ($q, $s) {
  %q, %s = lpfa.quantize %x axis(1) : $x -> $q, $s
  return %q, %s : $q, $s
}
func.func @row_blocked(%x: $x) -> ($q, $b) {
  %q, %s = lpfa.quantize %x axis(1) : $x -> $q, $s
  %b = lpfa.pack_scales %s : $s -> $b
  return %q, %b : $q, $b
}
func.func @column(%x: $x) -> ($q, $u) {
  %q, %s = lpfa.quantize %x axis(0) : $x -> $q, $u
  return %q, %s : $q, $u
}
func.func @both(%x: $x) -> ($q, $s, $q, $u) {
  %q, %s = lpfa.quantize %x axis(1) : $x -> $q, $s
  %p, %t = lpfa.quantize %x axis(0) : $x -> $q, $u
  return %q, %s, %p, %t : $q, $s, $q, $u
}
func.func @both_blocked(%x: $x) -> ($q, $b, $q, $d) {
  %q, %s = lpfa.quantize %x axis(1) : $x -> $q, $s
  %b = lpfa.pack_scales %s : $s -> $b
  %p, %t = lpfa.quantize %x axis(0) : $x -> $q, $u
  %d = lpfa.pack_scales %t transposed : $u -> $d
  return %q, %b, %p, %d : $q, $b, $q, $d
}
func.func @squares(%x: $x) -> ($q, $b, $d) {
  %q, %s = lpfa.quantize %x axis(1) square : $x -> $q, $s
  %b = lpfa.pack_scales %s : $s -> $b
  %p, %t = lpfa.quantize %x axis(0) square : $x -> $q, $u
  %d = lpfa.pack_scales %t transposed : $u -> $d
  return %q, %b, %d : $q, $b, $d
}
END
}

norm() {
  local c=$1 g=$(($1 / 32))
  local x="tensor<?x${c}xbf16>" w="tensor<${c}xbf16>"
  local q="tensor<?x${c}xf8E4M3FN>" s="tensor<?x${g}xf8E8M0FNU>"
  cat <<END
func.func @norm_row(%x: $x, %w: $w) -> ($q, $s) {
  %y = lpfa.rms_norm %x weight %w epsilon(1.0e-6) : $x, $w -> $x
  %q, %s = lpfa.quantize %y axis(1) : $x -> $q, $s
  return %q, %s : $q, $s
}
END
}

norm_squares() {
  local c=$1 g=$(($1 / 32)) t=$((($1 + 127) / 128))
  local x="tensor<?x${c}xbf16>" w="tensor<${c}xbf16>" q="tensor<?x${c}xf8E4M3FN>"
  local s="tensor<?x${g}xf8E8M0FNU>" u="tensor<?x${c}xf8E8M0FNU>"
  local b="tensor<?x${t}x32x4x4xf8E8M0FNU>" d="tensor<${t}x?x32x4x4xf8E8M0FNU>"
  cat <<END
func.func @norm_squares(%x: $x, %w: $w) -> ($q, $b, $d) {
  %y = lpfa.rms_norm %x weight %w epsilon(1.0e-6) : $x, $w -> $x
  %q, %s = lpfa.quantize %y axis(1) square : $x -> $q, $s
  %b = lpfa.pack_scales %s : $s -> $b
  %p, %t = lpfa.quantize %y axis(0) square : $x -> $q, $u
  %d = lpfa.pack_scales %t transposed : $u -> $d
  return %q, %b, %d : $q, $b, $d
}
END
}

backward() {
  local c=$1 g=$(($1 / 32))
  local x="tensor<?x${c}xbf16>" w="tensor<${c}xbf16>" r="tensor<?xf32>"
  local q="tensor<?x${c}xf8E4M3FN>" s="tensor<?x${g}xf8E8M0FNU>"
  cat <<END
func.func @norm_backward(%dy: $x, %x: $x, %w: $w, %r: $r) -> ($x, $w) {
  %dx, %dw = lpfa.rms_norm_backward %dy, %x weight %w rstd %r
      : $x, $x, $w, $r -> $x, $w
  return %dx, %dw : $x, $w
}
func.func @norm_backward_mxfp8(%q: $q, %s: $s, %x: $x, %w: $w, %r: $r)
    -> ($x, $w) {
  %dy = lpfa.dequantize %q scaled %s axis(1) : $q, $s -> $x
  %dx, %dw = lpfa.rms_norm_backward %dy, %x weight %w rstd %r
      : $x, $x, $w, $r -> $x, $w
  return %dx, %dw : $x, $w
}
END
}

layouts() {
  local s="tensor<${layout_size}xf8E8M0FNU>"
  local b="tensor<2048x1024x32x4x4xf8E8M0FNU>"
  cat <<END
func.func @pack(%s: $s) -> $b {
  %b = lpfa.pack_scales %s : $s -> $b
  return %b : $b
}
func.func @unpack(%b: $b) -> $s {
  %s = lpfa.unpack_scales %b : $b -> $s
  return %s : $s
}
END
}

compile() {
  local dir=$1
  shift
  for size in $sizes $norm_sizes $square_sizes; do
    mkdir -p "$dir/$size"
  done
  for size in $sizes; do
    functions "${size#*x}" >"$dir/$size/quantize.mlir"
    lpfa-compile "$dir/$size/quantize.mlir" -o "$dir/$size/quantize" "$@"
  done
  for size in $norm_sizes; do
    norm "${size#*x}" >"$dir/$size/norm.mlir"
    lpfa-compile "$dir/$size/norm.mlir" -o "$dir/$size/norm" "$@"
  done
  for size in $backward_sizes; do
    backward "${size#*x}" >"$dir/$size/backward.mlir"
    lpfa-compile "$dir/$size/backward.mlir" -o "$dir/$size/backward" "$@"
  done
  for size in $square_sizes; do
    norm_squares "${size#*x}" >"$dir/$size/squares.mlir"
    lpfa-compile "$dir/$size/squares.mlir" -o "$dir/$size/squares" "$@"
  done
  layouts >"$dir/layouts.mlir"
  lpfa-compile "$dir/layouts.mlir" -o "$dir/layouts" "$@"
}

# A line of the table: function, size, bytes an element that are read again,
# plan, arguments.
measure() {
  local function=$1 size=$2 again=$3 plan=$4
  shift 4
  local report
  report=$(lpfa-launch "$plan" --function="$function" "$@" --benchmark)
  awk -v name="$function" -v size="$size" -v again="$again" '
    $1 == "launch" { time = $2; rate = $(NF - 1) }
    /of the faster copy/ { fraction = $1 + 0 }
    END {
      split(size, sizes, "x")
      bytes = rate * time * 1000 / sizes[1] / sizes[2]
      more = (bytes + again) / bytes
      printf "| %s | %s | %.1f | %.2f | %.0f | %.1f%% |\n", name, size, time,
             bytes * more, rate * more, fraction * more
    }
  ' <<<"$report"
}

run() {
  local dir=$1
  echo "| function | rows x columns | us | bytes an element | GB/s | of a copy |"
  echo "| --- | --- | --- | --- | --- | --- |"
  for size in $sizes; do
    for function in row row_blocked column both both_blocked squares; do
      measure $function $size 0 "$dir/$size/quantize/plan.json" --size=$size
    done
  done
  for size in $norm_sizes; do
    measure norm_row $size $((${size#*x} > norm_once ? 2 : 0)) \
      "$dir/$size/norm/plan.json" --size=$size --size="${size#*x}"
  done
  for size in $backward_sizes; do
    local c=${size#*x} rows=${size%x*}
    measure norm_backward $size 0 "$dir/$size/backward/plan.json" \
      --size=$size --size=$size --size=$c --size=$rows
    measure norm_backward_mxfp8 $size 0 "$dir/$size/backward/plan.json" \
      --size=$size --size=${rows}x$((c / 32)) --size=$size --size=$c \
      --size=$rows
  done
  for size in $square_sizes; do
    measure norm_squares $size $((${size#*x} > square_once ? 2 : 0)) \
      "$dir/$size/squares/plan.json" --size=$size --size="${size#*x}"
  done
  measure pack $layout_size 0 "$dir/layouts/plan.json" --size=$layout_size
  measure unpack $layout_size 0 "$dir/layouts/plan.json" --size=2048x1024x32x4x4
}

case ${1:-} in
compile | run) "$@" ;;
*) sed -n '9,21p' "$0" >&2 && exit 1 ;;
esac

// A wait once for a work tile costs less than one in every step.

!operands = !lpfa.channel<128x128xf8E4M3FN shared, 64x128xf8E4M3FN shared, 32x4x4xf8E8M0FNU shared>
!result = !lpfa.channel<128x64xf32 tensor>
!wide = !lpfa.buffer<128x128xf8E4M3FN, shared>
!narrow = !lpfa.buffer<64x128xf8E4M3FN, shared>
!d = !lpfa.buffer<128x64xf32, tensor>
!tile = !lpfa.tile<128x64xf32>
!shared_scales = !lpfa.buffer<32x4x4xf8E8M0FNU, shared>
!scales = !lpfa.buffer<32x4x4xf8E8M0FNU, tensor>
!view = !lpfa.view<?x128xf8E4M3FN>
!scales_view = !lpfa.view<?x32x4x4xf8E8M0FNU>

// Beside three results are four columns for one of two scales: those of X, copied
// in every step, or those kept from before the steps to the product after them.
// The first could lie in `after` at a wait in every step; the others lie in
// `before` at one for a work tile.

// RUN: lpfa-opt %s -pass-pipeline='builtin.module(lpfa.kernel(lpfa-place-tiles{columns=196},lpfa-insert-barriers,lpfa-verify-schedule),lpfa-print-tmem-map,lpfa-print-schedule)' -o /dev/null \
// RUN:   | FileCheck %s
// CHECK: tensor memory of @f: 196 columns
// CHECK-NEXT:   0-64    before,
// CHECK-NEXT:   0-4     . kept,
// CHECK-NEXT:  64-128   X,
// CHECK-NEXT: 128-192   after,
// CHECK-NEXT: 192-196   first,
// CHECK-NEXT: 192-196   . scales,
// CHECK: role mma, 1 thread
// CHECK:          wait before.free
// CHECK:          copy_scales B, kept
// CHECK:        for
// CHECK-NEXT:     wait A.full
// CHECK-NEXT:     wait X.free
// CHECK-NOT:      wait
// CHECK:        if

lpfa.kernel @f stage(roles) threads(256) (%in: !view, %s: !scales_view) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = lpfa.dim %in, 0 : !view
  %A = lpfa.channel "A" stages(1) : !operands
  %B = lpfa.channel "B" stages(1) : !operands
  %W = lpfa.channel "before" stages(1) : !result
  %X = lpfa.channel "X" stages(1) : !result
  %U = lpfa.channel "after" stages(1) : !result
  %tU = lpfa.scratch "kept" : !scales
  %tW = lpfa.scratch "first" : !scales
  %tX = lpfa.scratch "scales" : !scales
  lpfa.role "reader" warps(4 from 0) registers(128) {
    lpfa.for_work (%w) in (%n) {
      %first, %last = lpfa.key_range %w count(128) rows(%n) keys(%n) tile(128) <none>
      %some = arith.cmpi ult, %first, %last : index
      scf.if %some {
        %d = lpfa.get %W : !result
        %v = lpfa.read %d : !d -> !tile
        lpfa.release %W : !result
      }
      scf.for %i = %first to %last step %c1 {
        %d = lpfa.get %X : !result
        %v = lpfa.read %d : !d -> !tile
        lpfa.release %X : !result
      }
      scf.if %some {
        %d = lpfa.get %U : !result
        %v = lpfa.read %d : !d -> !tile
        lpfa.release %U : !result
      }
    }
  }
  lpfa.role "mma" warps(1 from 4) registers(128) elected {
    lpfa.for_work (%w) in (%n) {
      %first, %last = lpfa.key_range %w count(128) rows(%n) keys(%n) tile(128) <none>
      %some = arith.cmpi ult, %first, %last : index
      scf.if %some {
        %a, %b, %sa = lpfa.get %B : !operands
        %d = lpfa.acquire %W : !result
        lpfa.copy_scales %sa -> %tW : !shared_scales, !scales
        lpfa.mma %a, %b scaled %tW, %tW into %d transpose_b : !wide, !narrow, !d
        lpfa.put %W : !result
        lpfa.copy_scales %sa -> %tU : !shared_scales, !scales
      }
      scf.for %i = %first to %last step %c1 {
        %a, %b, %sa = lpfa.get %A : !operands
        %d = lpfa.acquire %X : !result
        lpfa.copy_scales %sa -> %tX : !shared_scales, !scales
        lpfa.mma %a, %b scaled %tX, %tX into %d transpose_b : !wide, !narrow, !d
        lpfa.put %X : !result
        lpfa.release %A : !operands
      }
      scf.if %some {
        %a, %b, %sa = lpfa.get %B : !operands
        %d = lpfa.acquire %U : !result
        lpfa.mma %a, %b scaled %tU, %tU into %d transpose_b : !wide, !narrow, !d
        lpfa.put %U : !result
        lpfa.release %B : !operands
      }
    }
  }
  lpfa.role "load" warps(1 from 5) registers(128) elected {
    lpfa.for_work (%w) in (%n) {
      %first, %last = lpfa.key_range %w count(128) rows(%n) keys(%n) tile(128) <none>
      %some = arith.cmpi ult, %first, %last : index
      scf.if %some {
        %a, %b, %sa = lpfa.acquire %B : !operands
        lpfa.load_async %in[%w, %c0] -> %a : !view, !wide
        lpfa.load_async %in[%w, %c0] -> %b : !view, !narrow
        lpfa.load_async %s[%w, %c0, %c0, %c0] -> %sa : !scales_view, !shared_scales
        lpfa.put %B : !operands
      }
      scf.for %i = %first to %last step %c1 {
        %a, %b, %sa = lpfa.acquire %A : !operands
        lpfa.load_async %in[%i, %c0] -> %a : !view, !wide
        lpfa.load_async %in[%i, %c0] -> %b : !view, !narrow
        lpfa.load_async %s[%i, %c0, %c0, %c0] -> %sa : !scales_view, !shared_scales
        lpfa.put %A : !operands
      }
    }
  }
}

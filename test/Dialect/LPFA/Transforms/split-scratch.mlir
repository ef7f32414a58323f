// A place for each use of a scratch buffer, where one place for all costs more.

!operands = !lpfa.channel<128x128xf8E4M3FN shared, 64x128xf8E4M3FN shared, 32x4x4xf8E8M0FNU shared>
!scales_channel = !lpfa.channel<32x4x4xf8E8M0FNU shared>
!p_channel = !lpfa.channel<128x128xf8E4M3FN shared, 32x4x4xf8E8M0FNU shared>
!result = !lpfa.channel<128x64xf32 tensor>
!wide = !lpfa.buffer<128x128xf8E4M3FN, shared>
!narrow = !lpfa.buffer<64x128xf8E4M3FN, shared>
!d = !lpfa.buffer<128x64xf32, tensor>
!tile = !lpfa.tile<128x64xf32>
!shared_scales = !lpfa.buffer<32x4x4xf8E8M0FNU, shared>
!scales = !lpfa.buffer<32x4x4xf8E8M0FNU, tensor>
!view = !lpfa.view<?x128xf8E4M3FN>
!scales_view = !lpfa.view<?x32x4x4xf8E8M0FNU>

// The scales of X and Y are copied to one buffer. Neither may lie in its own
// result, and the four columns beside the results are taken by scales that are
// kept. The copy for Y may go to Z, which has been read when P is there; that for
// X to Y, which is read before X. One place for both would have to be in Z, where
// the copy for X waits.

// RUN: lpfa-opt %s -pass-pipeline='builtin.module(lpfa.kernel(lpfa-place-tiles{columns=196},lpfa-insert-barriers,lpfa-verify-schedule),lpfa-print-tmem-map,lpfa-print-schedule)' \
// RUN:   -o /dev/null --remarks-filter='lpfa-barriers|lpfa-schedule' 2> %t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARKS < %t.remarks
// REMARKS-NOT: wait-overlap
// REMARKS: schedule-verdict {{.*}}safe
// CHECK: tensor memory of @f: 196 columns
// CHECK-NEXT:   0-64    X,
// CHECK-NEXT:  64-128   Y,
// CHECK-NEXT:  64-68    . scales.1,
// CHECK-NEXT: 128-192   Z,
// CHECK-NEXT: 128-132   . scales,
// CHECK-NEXT: 192-196   kept,
// CHECK: role mma, 1 thread
// CHECK:     copy_scales A, scales.1
// CHECK:     mma A, A, scales.1, scales.1, X
// CHECK:     copy_scales P, scales
// CHECK:     mma P, A, scales, scales, Y

// Where X is read before Y, the copy for X waits in any place: one buffer then.

// RUN: sed -e '/Y first/d' -e 's,// X first: ,,' %s | lpfa-opt -pass-pipeline='builtin.module(lpfa.kernel(lpfa-place-tiles{columns=196},lpfa-insert-barriers,lpfa-verify-schedule),lpfa-print-tmem-map)' \
// RUN:   -o /dev/null --remarks-filter='lpfa-barriers' 2> %t.whole | FileCheck %s --check-prefix=WHOLE
// RUN: FileCheck %s --check-prefix=WAIT < %t.whole
// WAIT-COUNT-1: wait-overlap
// WAIT-NOT: wait-overlap
// WHOLE: tensor memory of @f: 196 columns
// WHOLE-NOT: scales.1
// WHOLE: . scales,
// WHOLE-NOT: scales.1

// From the second step on the product X reads what the copy for Y wrote: the two
// are one, for which four columns are left where Z lies in those of X.

// RUN: sed -e 's,// either: ,,' %s | lpfa-opt -pass-pipeline='builtin.module(lpfa.kernel(lpfa-place-tiles{columns=196},lpfa-insert-barriers,lpfa-verify-schedule),lpfa-print-tmem-map)' \
// RUN:   -o /dev/null | FileCheck %s --check-prefix=EITHER
// EITHER: tensor memory of @f: 136 columns
// EITHER-NEXT:   0-64    X,
// EITHER-NEXT:   0-64    . Z,
// EITHER-NEXT:  64-128   Y,
// EITHER-NEXT: 128-132   scales,
// EITHER-NEXT: 132-136   kept,
// EITHER-NOT: scales.1

lpfa.kernel @f stage(roles) threads(384) (%in: !view, %s: !scales_view) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = lpfa.dim %in, 0 : !view
  %A = lpfa.channel "A" stages(1) : !operands
  %K = lpfa.channel "K" stages(1) : !scales_channel
  %P = lpfa.channel "P" stages(1) : !p_channel
  %X = lpfa.channel "X" stages(1) : !result
  %Y = lpfa.channel "Y" stages(1) : !result
  %Z = lpfa.channel "Z" stages(1) : !result
  %t = lpfa.scratch "scales" : !scales
  %u = lpfa.scratch "kept" : !scales
  lpfa.role "x_and_y" warps(4 from 0) registers(128) {
    lpfa.for_work (%w) in (%n) {
      %first, %last = lpfa.key_range %w count(128) rows(%n) keys(%n) tile(128) <none>
      scf.for %i = %first to %last step %c1 {
        %x = lpfa.get %X : !result
        // X first: %v = lpfa.read %x : !d -> !tile
        // X first: lpfa.release %X : !result
        %y = lpfa.get %Y : !result
        %z = lpfa.read %y : !d -> !tile
        lpfa.release %Y : !result
        %v = lpfa.read %x : !d -> !tile // Y first
        lpfa.release %X : !result // Y first
      }
    }
  }
  lpfa.role "p_and_z" warps(4 from 4) registers(128) {
    lpfa.for_work (%w) in (%n) {
      %first, %last = lpfa.key_range %w count(128) rows(%n) keys(%n) tile(128) <none>
      scf.for %i = %first to %last step %c1 {
        %p = lpfa.splat 1.0 : !lpfa.tile<128x128xf8E4M3FN>
        %sp = lpfa.splat 1.0 : !lpfa.tile<32x4x4xf8E8M0FNU>
        %p0, %p1 = lpfa.acquire %P : !p_channel
        lpfa.write %p -> %p0 : !lpfa.tile<128x128xf8E4M3FN>, !wide
        lpfa.write %sp -> %p1 : !lpfa.tile<32x4x4xf8E8M0FNU>, !shared_scales
        lpfa.put %P : !p_channel
        %z = lpfa.get %Z : !result
        %v = lpfa.read %z : !d -> !tile
        lpfa.release %Z : !result
      }
    }
  }
  lpfa.role "mma" warps(1 from 8) registers(64) elected {
    lpfa.for_work (%w) in (%n) {
      %first, %last = lpfa.key_range %w count(128) rows(%n) keys(%n) tile(128) <none>
      %some = arith.cmpi ult, %first, %last : index
      scf.if %some {
        %k = lpfa.get %K : !scales_channel
        lpfa.copy_scales %k -> %u : !shared_scales, !scales
        lpfa.release %K : !scales_channel
      }
      scf.for %i = %first to %last step %c1 {
        %is_first = arith.cmpi eq, %i, %first : index
        %a, %b, %sa = lpfa.get %A : !operands
        %x = lpfa.acquire %X : !result
        // either: scf.if %is_first {
        lpfa.copy_scales %sa -> %t : !shared_scales, !scales
        // either: }
        lpfa.mma %a, %b scaled %t, %t into %x transpose_b : !wide, !narrow, !d
        lpfa.put %X : !result
        %p, %sp = lpfa.get %P : !p_channel
        %y = lpfa.acquire %Y : !result
        lpfa.copy_scales %sp -> %t : !shared_scales, !scales
        lpfa.mma %p, %b scaled %t, %t into %y transpose_b : !wide, !narrow, !d
        lpfa.put %Y : !result
        lpfa.release %P : !p_channel
        %z = lpfa.acquire %Z : !result
        lpfa.mma %a, %b scaled %u, %u into %z transpose_b : !wide, !narrow, !d
        lpfa.put %Z : !result
        lpfa.release %A : !operands
      }
    }
  }
  lpfa.role "load" warps(1 from 9) registers(64) elected {
    lpfa.for_work (%w) in (%n) {
      %first, %last = lpfa.key_range %w count(128) rows(%n) keys(%n) tile(128) <none>
      %some = arith.cmpi ult, %first, %last : index
      scf.if %some {
        %k = lpfa.acquire %K : !scales_channel
        lpfa.load_async %s[%w, %c0, %c0, %c0] -> %k : !scales_view, !shared_scales
        lpfa.put %K : !scales_channel
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

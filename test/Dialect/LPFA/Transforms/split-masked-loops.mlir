// RUN: lpfa-opt %s -pass-pipeline='builtin.module(lpfa.kernel(lpfa-split-masked-loops))' -split-input-file | FileCheck %s

!f32 = !lpfa.tile<128x64xf32>
!scores = !lpfa.buffer<128x64xf32, tensor>

// The end of keys hides some in the last tile only. What is carried goes
// through both loops.

// CHECK-LABEL: lpfa.kernel @tail
// CHECK-SAME: %[[ROW:.*]]: index, %[[FIRST:.*]]: index, %[[LAST:.*]]: index, %[[ROWS:.*]]: index, %[[KEYS:.*]]: index)
lpfa.kernel @tail stage(synchronized) threads(128) tensor_columns(64) (%row: index, %first: index, %last: index, %rows: index, %keys: index) {
  %S = lpfa.scratch "S" at <tensor, 0, 64> : !scores
  lpfa.role "softmax" warps(4 from 0) registers(192) {
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    // CHECK: %[[ZERO:.*]] = arith.constant 0 : index
    // CHECK: %[[END:.*]] = arith.maxsi %[[KEYS]], %[[ZERO]]
    // CHECK: %[[SIZE:.*]] = arith.constant 64 : index
    // CHECK: %[[TILES:.*]] = arith.divui %[[END]], %[[SIZE]]
    // CHECK: %[[AFTER:.*]] = arith.maxsi %[[TILES]], %[[FIRST]]
    // CHECK: %[[WHOLE:.*]] = arith.minsi %[[AFTER]], %[[LAST]]
    // CHECK: %[[STATE:.*]] = scf.for %{{.*}} = %[[FIRST]] to %[[WHOLE]] step %{{.*}} iter_args(%{{.*}} = %[[FIRST]])
    // CHECK:   %[[S:.*]] = lpfa.read
    // CHECK-NOT: lpfa.apply_mask
    // CHECK:   lpfa.write %[[S]]
    // CHECK: scf.for %{{.*}} = %[[WHOLE]] to %[[LAST]] step %{{.*}} iter_args(%{{.*}} = %[[STATE]])
    // CHECK:   %[[S:.*]] = lpfa.read
    // CHECK:   %[[X:.*]] = lpfa.apply_mask %[[S]]
    // CHECK:   lpfa.write %[[X]]
    // CHECK-NOT: scf.for
    %r = scf.for %n = %first to %last step %c1 iter_args(%count = %first) -> (index) {
      %key = arith.muli %n, %c64 : index
      %s = lpfa.read %S : !scores -> !f32
      %x = lpfa.apply_mask %s at(%row, %key) of(%rows, %keys) <none> : !f32
      lpfa.write %x -> %S : !f32, !scores
      %next = arith.addi %count, %c1 : index
      scf.yield %next : index
    }
  }
}

// -----

!f32 = !lpfa.tile<128x64xf32>
!scores = !lpfa.buffer<128x64xf32, tensor>

// A window has two edges: tiles that the last row does not see from their first
// key on, tiles in between, tiles that the first row does not see to their last
// key.

// CHECK-LABEL: lpfa.kernel @window
// CHECK-SAME: %[[ROW:.*]]: index, %[[FIRST:.*]]: index, %[[LAST:.*]]: index, %[[ROWS:.*]]: index, %[[KEYS:.*]]: index)
lpfa.kernel @window stage(synchronized) threads(128) tensor_columns(64) (%row: index, %first: index, %last: index, %rows: index, %keys: index) {
  %S = lpfa.scratch "S" at <tensor, 0, 64> : !scores
  lpfa.role "softmax" warps(4 from 0) registers(192) {
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    // The keys that the first row sees to the right of it, and the last row to
    // the left.
    // CHECK: %[[C8:.*]] = arith.constant 8 : index
    // CHECK: %[[END:.*]] = arith.addi %[[ROW]], %[[C8]]
    // CHECK: arith.minsi %[[KEYS]], %[[END]]
    // CHECK: %[[C28:.*]] = arith.constant 28 : index
    // CHECK: %[[BEGIN:.*]] = arith.addi %[[ROW]], %[[C28]]
    // CHECK: scf.for %{{.*}} = %[[FIRST]] to %[[WHOLEFIRST:.*]] step
    // CHECK:   lpfa.apply_mask
    // CHECK: scf.for %{{.*}} = %[[WHOLEFIRST]] to %[[WHOLELAST:.*]] step
    // CHECK-NOT: lpfa.apply_mask
    // CHECK: scf.for %{{.*}} = %[[WHOLELAST]] to %[[LAST]] step
    // CHECK:   lpfa.apply_mask
    scf.for %n = %first to %last step %c1 {
      %key = arith.muli %n, %c64 : index
      %s = lpfa.read %S : !scores -> !f32
      %x = lpfa.apply_mask %s at(%row, %key) of(%rows, %keys) <sliding_window, top_left, left = 99, right = 7> : !f32
      lpfa.write %x -> %S : !f32, !scores
    }
  }
}

// -----

!f32 = !lpfa.tile<128x64xf32>
!scores = !lpfa.buffer<128x64xf32, tensor>

// A tile that does not begin at a multiple of the counter is left as it is.

// CHECK-LABEL: lpfa.kernel @other
// CHECK: scf.for
// CHECK: lpfa.apply_mask
// CHECK-NOT: scf.for
lpfa.kernel @other stage(synchronized) threads(128) tensor_columns(64) (%row: index, %first: index, %last: index, %rows: index, %keys: index) {
  %S = lpfa.scratch "S" at <tensor, 0, 64> : !scores
  lpfa.role "softmax" warps(4 from 0) registers(192) {
    %c1 = arith.constant 1 : index
    scf.for %n = %first to %last step %c1 {
      %key = arith.addi %n, %first : index
      %s = lpfa.read %S : !scores -> !f32
      %x = lpfa.apply_mask %s at(%row, %key) of(%rows, %keys) <none> : !f32
      lpfa.write %x -> %S : !f32, !scores
    }
  }
}

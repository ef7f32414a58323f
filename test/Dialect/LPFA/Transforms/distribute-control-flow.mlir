// RUN: lpfa-opt %s --lpfa-distribute-to-threads -split-input-file | FileCheck %s

// Work tiles: point number blockIdx.x + k * gridDim.x, the last coordinate
// fastest.

!row = !lpfa.tile<128xf32>
!out = !lpfa.view<?x?x?xf32>

// CHECK: gpu.func @work
// CHECK: %[[FIRST:.*]] = gpu.block_id
// CHECK: %[[STEP:.*]] = gpu.grid_dim
// CHECK: scf.for %[[WORK:.*]] = %[[FIRST]] to %{{.*}} step %[[STEP]]
// CHECK: %[[M:.*]] = arith.remui %[[WORK]], %[[TILES:.*]] : index
// CHECK: %[[REST:.*]] = arith.divui %[[WORK]], %[[TILES]]
// CHECK: %[[H:.*]] = arith.remui %[[REST]], %[[HEADS:.*]] : index
// CHECK: %[[B:.*]] = arith.divui %[[REST]], %[[HEADS]]
// Addresses are computed in 64 bits.
// CHECK: %[[B64:.*]] = arith.index_cast %[[B]] : index to i64
// CHECK: arith.muli %[[B64]], %{{.*}} : i64
// CHECK: %[[H64:.*]] = arith.index_cast %[[H]] : index to i64
// CHECK: arith.muli %[[H64]], %{{.*}} : i64
lpfa.kernel @work stage(tile) (%out: !out) {
  %batch = lpfa.dim %out, 0 : !out
  %heads = lpfa.dim %out, 1 : !out
  %rows = lpfa.dim %out, 2 : !out
  %tiles = affine.apply affine_map<(d0) -> (d0 ceildiv 128)>(%rows)
  lpfa.for_work (%b, %h, %m) in (%batch, %heads, %tiles) {
    %c128 = arith.constant 128 : index
    %row = arith.muli %m, %c128 : index
    %zero = lpfa.splat 0.0 : !row
    lpfa.store %zero -> %out[%b, %h, %row] : !row, !out
  }
}

// -----

// A cursor over three stages: a slot that wraps and a phase that flips then. A
// ring of one has a phase only. Going back a ring is the other parity.

// CHECK: gpu.func @cursors
// CHECK-DAG: %[[PHASE:.*]] = llvm.alloca %{{.*}} x i32
// CHECK-DAG: %[[SLOT:.*]] = llvm.alloca %{{.*}} x i32
// CHECK-DAG: %[[ONE:.*]] = llvm.alloca %{{.*}} x i32
// CHECK: lpfa.elect_sync
lpfa.kernel @cursors stage(synchronized) threads(128) () {
  %full = lpfa.barrier "full" stages(3) arrivals(1) : !lpfa.barrier
  %single = lpfa.barrier "single" stages(1) arrivals(1) : !lpfa.barrier
  lpfa.role "mma" warps(1 from 0) registers(48) elected {
    %u = lpfa.cursor stages(3) : !lpfa.cursor
    %v = lpfa.cursor stages(1) : !lpfa.cursor
    // CHECK: %[[P:.*]] = llvm.load %[[PHASE3:.*]] :
    // CHECK: %[[PARITY:.*]] = arith.xori %[[P]], %{{.*}} : i32
    // CHECK: %[[S:.*]] = llvm.load %[[SLOT3:.*]] :
    // CHECK: %[[BYTES:.*]] = arith.muli %[[S]], %{{.*}} : i32
    // CHECK: %[[BARRIER:.*]] = llvm.getelementptr %{{.*}}[%[[BYTES]]]
    // CHECK: lpfa.mbarrier.wait %[[BARRIER]], %[[PARITY]]
    lpfa.wait %full use %u back(3) : !lpfa.barrier
    // CHECK: lpfa.tcgen05.commit
    lpfa.commit %full use %u : !lpfa.barrier
    // CHECK: %[[P1:.*]] = llvm.load %[[PHASE3]]
    // CHECK: %[[FLIPPED:.*]] = arith.xori %[[P1]], %{{.*}}
    // CHECK: %[[S1:.*]] = llvm.load %[[SLOT3]]
    // CHECK: %[[NEXT:.*]] = arith.addi %[[S1]], %{{.*}}
    // CHECK: %[[C3:.*]] = arith.constant 3 : i32
    // CHECK: %[[WRAPS:.*]] = arith.cmpi eq, %[[NEXT]], %[[C3]]
    // CHECK: %[[NEWSLOT:.*]] = arith.select %[[WRAPS]], %{{.*}}, %[[NEXT]]
    // CHECK: llvm.store %[[NEWSLOT]], %[[SLOT3]]
    // CHECK: %[[NEWPHASE:.*]] = arith.select %[[WRAPS]], %[[FLIPPED]], %[[P1]]
    // CHECK: llvm.store %[[NEWPHASE]], %[[PHASE3]]
    lpfa.advance %u : !lpfa.cursor
    // CHECK: %[[P2:.*]] = llvm.load %[[PHASE1:.*]] :
    // CHECK-NOT: getelementptr {{.*}}[%
    // CHECK: lpfa.mbarrier.wait %{{.*}}, %[[P2]]
    lpfa.wait %single use %v : !lpfa.barrier
    // CHECK: %[[P3:.*]] = llvm.load %[[PHASE1]]
    // CHECK: %[[F3:.*]] = arith.xori %[[P3]], %{{.*}}
    // CHECK: llvm.store %[[F3]], %[[PHASE1]]
    lpfa.advance %v : !lpfa.cursor
  }
}

// -----

// The flattened loop: the leader walks, shift 0 follows it one step behind;
// work tiles without keys are passed over.

!q = !lpfa.view<?x?xf32>

// CHECK: gpu.func @steps
lpfa.kernel @steps stage(synchronized) threads(128) (%q: !q) {
  %rows = lpfa.dim %q, 0 : !q
  %keys = lpfa.dim %q, 1 : !q
  %a = lpfa.barrier "a" stages(1) arrivals(1) : !lpfa.barrier
  %b = lpfa.barrier "b" stages(1) arrivals(1) : !lpfa.barrier
  lpfa.role "mma" warps(1 from 0) registers(48) elected {
    %u = lpfa.cursor stages(1) : !lpfa.cursor
    // CHECK: %[[FOUND:.*]]:3 = scf.while (%[[W:.*]] = %{{.*}}) : (index) -> (index, index, index) {
    // CHECK:   %[[INSIDE:.*]] = arith.cmpi slt, %[[W]], %[[COUNT:.*]] : index
    // CHECK:   %[[RANGE:.*]]:2 = scf.if %[[INSIDE]]
    // CHECK:   %[[EMPTY:.*]] = arith.cmpi sge, %[[RANGE]]#0, %[[RANGE]]#1
    // CHECK:   %[[AGAIN:.*]] = arith.andi %[[INSIDE]], %[[EMPTY]]
    // CHECK:   scf.condition(%[[AGAIN]]) %[[W]], %[[RANGE]]#0, %[[RANGE]]#1
    // CHECK: scf.while (%[[WORK:.*]] = %[[FOUND]]#0, %{{.*}} = %[[FOUND]]#1, %{{.*}} = %[[FOUND]]#2, %{{.*}} = %[[FOUND]]#1, %[[VALID:.*]] = %{{.*}}, %{{.*}} = %{{.*}}, %{{.*}} = %{{.*}}, %{{.*}} = %{{.*}})
    // CHECK:   %[[ISIN:.*]] = arith.cmpi slt, %[[WORK]], %[[COUNT]]
    // CHECK:   %[[ACTIVE:.*]] = arith.ori %[[ISIN]], %[[VALID]]
    // CHECK:   scf.condition(%[[ACTIVE]])
    // CHECK: ^bb0(%[[WORK:.*]]: index, %[[FIRST:.*]]: index, %[[LAST:.*]]: index, %[[TILE:.*]]: index, %[[OLD:.*]]: i1, %[[OLDTILE:.*]]: index, %{{.*}}: i1, %{{.*}}: i1):
    // CHECK:   %[[NEXT:.*]] = arith.addi %[[TILE]], %{{.*}}
    // CHECK:   %[[LEADS:.*]] = arith.cmpi slt, %[[WORK]], %[[COUNT]]
    // CHECK:   %[[ISFIRST:.*]] = arith.cmpi eq, %[[TILE]], %[[FIRST]]
    // CHECK:   %[[ISLAST:.*]] = arith.cmpi eq, %[[NEXT]], %[[LAST]]
    lpfa.for_steps (%m) in (%rows) range {
      %first, %last = lpfa.key_range %m count(1) rows(%rows) keys(%keys) tile(128) #lpfa.mask<none>
      lpfa.yield %first, %last : index, index
    } do {
      // CHECK: scf.if %[[OLD]] {
      // CHECK:   lpfa.tcgen05.commit
      lpfa.at shift(0) (%n, %is_first, %is_last) {
        lpfa.commit %a use %u : !lpfa.barrier
      }
      // Neighbors with one shift share a branch.
      // CHECK: scf.if %[[LEADS]] {
      // CHECK:   lpfa.tcgen05.commit
      // CHECK-NOT: }
      // CHECK:   scf.if %[[ISLAST]] {
      // CHECK:     lpfa.tcgen05.commit
      lpfa.at shift(1) (%n, %is_first, %is_last) {
        lpfa.commit %b use %u : !lpfa.barrier
      }
      lpfa.at shift(1) (%n, %is_first, %is_last) {
        scf.if %is_last {
          lpfa.commit %a use %u : !lpfa.barrier
        }
      }
    }
    // CHECK: %[[DONE:.*]] = arith.cmpi sge, %[[NEXT]], %[[LAST]]
    // CHECK: %[[ADVANCES:.*]] = arith.andi %[[LEADS]], %[[DONE]]
    // CHECK: %[[NEW:.*]]:4 = scf.if %[[ADVANCES]]
    // CHECK:   scf.while
    // CHECK: else
    // CHECK:   scf.yield %[[WORK]], %[[FIRST]], %[[LAST]], %[[NEXT]]
    // CHECK: scf.yield %[[NEW]]#0, %[[NEW]]#1, %[[NEW]]#2, %[[NEW]]#3, %[[LEADS]], %[[TILE]], %[[ISFIRST]], %[[ISLAST]]
  }
}

// -----

// The turns of a prologue come before the loop, which goes on from there: its
// leader, two steps ahead, is at the third step when the follower begins.

!q = !lpfa.view<?x?xf32>

// CHECK: gpu.func @prologue
lpfa.kernel @prologue stage(synchronized) threads(128) (%q: !q) {
  %rows = lpfa.dim %q, 0 : !q
  %keys = lpfa.dim %q, 1 : !q
  %a = lpfa.barrier "a" stages(1) arrivals(1) : !lpfa.barrier
  %b = lpfa.barrier "b" stages(1) arrivals(1) : !lpfa.barrier
  lpfa.role "mma" warps(1 from 0) registers(48) elected {
    %u = lpfa.cursor stages(1) : !lpfa.cursor
    // CHECK: %[[FOUND:.*]]:3 = scf.while
    // CHECK: %[[BEGUN:.*]]:12 = scf.for %{{.*}} = %{{.*}} to %[[TWO:.*]] step %{{.*}} iter_args(%[[WORK:.*]] = %[[FOUND]]#0, %[[FIRST:.*]] = %[[FOUND]]#1, %{{.*}} = %[[FOUND]]#2, %[[TILE:.*]] = %[[FOUND]]#1,
    // CHECK:   %[[LEADS:.*]] = arith.cmpi slt, %[[WORK]], %{{.*}}
    // CHECK:   scf.if %[[LEADS]] {
    // CHECK:     lpfa.tcgen05.commit
    // CHECK-NOT: lpfa.tcgen05.commit
    // CHECK:   %[[NEW:.*]]:4 = scf.if
    // CHECK:   scf.yield %[[NEW]]#0, %[[NEW]]#1, %[[NEW]]#2, %[[NEW]]#3, %[[LEADS]], %[[TILE]],
    // CHECK: scf.while (%{{.*}} = %[[BEGUN]]#0, {{.*}} = %[[BEGUN]]#11)
    // CHECK:   lpfa.tcgen05.commit
    // CHECK:   lpfa.tcgen05.commit
    // CHECK-NOT: lpfa.tcgen05.commit
    lpfa.for_steps (%m) in (%rows) range {
      %first, %last = lpfa.key_range %m count(1) rows(%rows) keys(%keys) tile(128) #lpfa.mask<none>
      lpfa.yield %first, %last : index, index
    } do {
      lpfa.at shift(2) prologue (%n, %is_first, %is_last) {
        lpfa.commit %a use %u : !lpfa.barrier
      }
      lpfa.at shift(0) (%n, %is_first, %is_last) {
        lpfa.commit %a use %u : !lpfa.barrier
      }
      lpfa.at shift(2) (%n, %is_first, %is_last) {
        lpfa.commit %b use %u : !lpfa.barrier
      }
    }
  }
}

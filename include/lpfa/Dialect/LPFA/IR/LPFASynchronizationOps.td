//===- LPFASynchronizationOps.td - Barriers and fences -----*- tablegen -*-===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LPFA_DIALECT_LPFA_IR_LPFASYNCHRONIZATIONOPS_TD
#define LPFA_DIALECT_LPFA_IR_LPFASYNCHRONIZATIONOPS_TD

include "lpfa/Dialect/LPFA/IR/LPFAThreadBase.td"

//===----------------------------------------------------------------------===//
// Barriers and fences
//===----------------------------------------------------------------------===//

def LPFA_BarrierSyncOp : LPFA_ThreadOp<"barrier.sync"> {
  let summary = "Waits at a named barrier";
  let description = [{
    `barrier.cta.sync.aligned` (PTX 9.7.13.1): blocks until `threads` threads
    have arrived, this warp's among them. Orders their memory accesses. Barrier
    0 is also the one of `gpu.barrier`.

    - C1: `threads` is a positive multiple of 32 (whole warps).

    Example:
    ```mlir
    lpfa.barrier.sync 1 threads(128)
    ```
  }];
  let arguments = (ins LPFA_NamedBarrierAttr:$id, LPFA_PositiveI32Attr:$threads);
  let assemblyFormat = "$id `threads` `(` $threads `)` attr-dict";
  let hasVerifier = 1;
}

def LPFA_BarrierArriveOp : LPFA_ThreadOp<"barrier.arrive"> {
  let summary = "Arrives at a named barrier without waiting";
  let description = [{
    `barrier.cta.arrive.aligned` (PTX 9.7.13.1), the other side of
    `lpfa.barrier.sync`. `threads` counts arriving and waiting threads together.

    - C1: `threads` is a positive multiple of 32 (whole warps).

    Example:
    ```mlir
    lpfa.barrier.arrive 2 threads(160)
    ```
  }];
  let arguments = (ins LPFA_NamedBarrierAttr:$id, LPFA_PositiveI32Attr:$threads);
  let assemblyFormat = "$id `threads` `(` $threads `)` attr-dict";
  let hasVerifier = 1;
}

def LPFA_MBarrierInitOp : LPFA_ThreadOp<"mbarrier.init"> {
  let summary = "Makes an mbarrier that completes after `count` arrivals";
  let description = [{
    `mbarrier.init` (PTX 9.7.13.15.9), by one thread. Other threads may use the
    barrier after `lpfa.fence.mbarrier_init` and a CTA barrier.

    - C1: the count is from 1 to 2^20 - 1.

    Example:
    ```mlir
    lpfa.mbarrier.init %full, 1
    ```
  }];
  let arguments = (ins LPFA_SharedPointer:$barrier,
      ConfinedAttr<I32Attr, [IntPositive, IntMaxValue<1048575>]>:$count);
  let assemblyFormat = "$barrier `,` $count attr-dict";
}

def LPFA_MBarrierInvalidateOp : LPFA_ThreadOp<"mbarrier.invalidate"> {
  let summary = "Ends an mbarrier, so that its memory can be used again";
  let description = [{
    `mbarrier.inval` (PTX 9.7.13.15.10), by one thread, when no other thread
    uses the barrier any more.

    Example:
    ```mlir
    lpfa.mbarrier.invalidate %full
    ```
  }];
  let arguments = (ins LPFA_SharedPointer:$barrier);
  let assemblyFormat = "$barrier attr-dict";
}

def LPFA_MBarrierArriveOp : LPFA_ThreadOp<"mbarrier.arrive"> {
  let summary = "Arrives once at an mbarrier";
  let description = [{
    `mbarrier.arrive.release.cta` (PTX 9.7.13.15.13) by this thread: what it
    wrote before is visible to those who wait for the phase.

    Example:
    ```mlir
    lpfa.mbarrier.arrive %empty
    ```
  }];
  let arguments = (ins LPFA_SharedPointer:$barrier);
  let assemblyFormat = "$barrier attr-dict";
}

def LPFA_MBarrierArriveExpectTxOp
    : LPFA_ThreadOp<"mbarrier.arrive_expect_tx"> {
  let summary = "Arrives once and lets the phase wait for bytes";
  let description = [{
    `mbarrier.arrive.expect_tx.release.cta` (PTX 9.7.13.15.13): the phase
    completes only when also `bytes` bytes of bulk copies have come in.

    Example:
    ```mlir
    lpfa.mbarrier.arrive_expect_tx %full, %bytes
    ```
  }];
  let arguments = (ins LPFA_SharedPointer:$barrier, I32:$bytes);
  let assemblyFormat = "$barrier `,` $bytes attr-dict";
}

def LPFA_MBarrierExpectTxOp : LPFA_ThreadOp<"mbarrier.expect_tx"> {
  let summary = "Lets the phase wait for bytes";
  let description = [{
    `mbarrier.expect_tx.relaxed.cta` (PTX 9.7.13.15.11): the phase completes
    only when also `bytes` bytes of bulk copies have come in. An arrival that
    the phase needs must follow.

    Example:
    ```mlir
    lpfa.mbarrier.expect_tx %full, %bytes
    ```
  }];
  let arguments = (ins LPFA_SharedPointer:$barrier, I32:$bytes);
  let assemblyFormat = "$barrier `,` $bytes attr-dict";
}

def LPFA_MBarrierWaitOp : LPFA_ThreadOp<"mbarrier.wait"> {
  let summary = "Blocks until the phase of the given parity has completed";
  let description = [{
    A loop on `mbarrier.try_wait.parity.acquire.cta` (PTX 9.7.13.15.16), which
    ends when the phase with parity `parity` (0 or 1) has completed. On a fresh
    barrier parity 1 passes at once, parity 0 waits for the first phase.

    Example:
    ```mlir
    lpfa.mbarrier.wait %full, %parity
    ```
  }];
  let arguments = (ins LPFA_SharedPointer:$barrier, I32:$parity);
  let assemblyFormat = "$barrier `,` $parity attr-dict";
}

def LPFA_ClusterSyncOp : LPFA_ThreadOp<"cluster_sync"> {
  let summary = "Waits for all threads of the cluster";
  let description = [{
    `barrier.cluster.arrive.release.aligned` and
    `barrier.cluster.wait.acquire.aligned` (PTX 9.7.13.3), by all threads of all
    CTAs of the cluster. Orders their memory accesses.

    Example:
    ```mlir
    lpfa.cluster_sync
    ```
  }];
  let assemblyFormat = "attr-dict";
}

def LPFA_FenceMBarrierInitOp : LPFA_ThreadOp<"fence.mbarrier_init"> {
  let summary = "Makes mbarrier initializations visible";
  let description = [{
    `fence.mbarrier_init.release.cluster` (PTX 9.7.13.4), by the thread that
    initialized, before the barrier by which the others learn of it.

    Example:
    ```mlir
    lpfa.fence.mbarrier_init
    ```
  }];
  let assemblyFormat = "attr-dict";
}

def LPFA_FenceProxyAsyncOp : LPFA_ThreadOp<"fence.proxy_async"> {
  let summary = "Orders ordinary and asynchronous accesses to shared memory";
  let description = [{
    `fence.proxy.async.shared::cta` (PTX 9.7.13.4): between this thread's
    ordinary accesses to shared memory and accesses there by bulk copies,
    `tcgen05.cp` and `tcgen05.mma` that are ordered after it.

    Example:
    ```mlir
    lpfa.fence.proxy_async
    ```
  }];
  let assemblyFormat = "attr-dict";
}

#endif // LPFA_DIALECT_LPFA_IR_LPFASYNCHRONIZATIONOPS_TD

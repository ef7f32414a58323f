//===- LPFABulkCopyOps.td - Bulk copies --------------------*- tablegen -*-===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LPFA_DIALECT_LPFA_IR_LPFABULKCOPYOPS_TD
#define LPFA_DIALECT_LPFA_IR_LPFABULKCOPYOPS_TD

include "lpfa/Dialect/LPFA/IR/LPFAThreadBase.td"

//===----------------------------------------------------------------------===//
// Bulk copies
//===----------------------------------------------------------------------===//

def LPFA_BulkTensorLoadOp : LPFA_ThreadOp<"bulk_tensor.load"> {
  let summary = "Loads one box of a tensor map into shared memory (TMA)";
  let description = [{
    `cp.async.bulk.tensor.Nd.shared::cta.global.tile` (PTX 9.7.9.27), by one
    thread. Coordinates come fastest-varying dimension first and may be out of
    bounds, also negative: what lies outside is filled. The copy adds its bytes,
    those outside included, to the barrier's count when they are there.

    - C1: one to five coordinates.
    - The destination is aligned to 128 bytes.

    Example:
    ```mlir
    lpfa.bulk_tensor.load %map[%d, %row, %head, %batch] to %tile barrier %full
    ```
  }];
  let arguments = (ins LPFA_TensorMapPointer:$map, Variadic<I32>:$coordinates,
      LPFA_SharedPointer:$destination, LPFA_SharedPointer:$barrier);
  let assemblyFormat = [{
    $map `[` $coordinates `]` `to` $destination `barrier` $barrier attr-dict
  }];
  let hasVerifier = 1;
}

def LPFA_BulkTensorStoreOp : LPFA_ThreadOp<"bulk_tensor.store"> {
  let summary = "Stores one box of a tensor map from shared memory (TMA)";
  let description = [{
    `cp.async.bulk.tensor.Nd.global.shared::cta.tile.bulk_group`
    (PTX 9.7.9.27), by one thread. What lies outside the tensor is dropped.
    Completion is by `lpfa.bulk.commit_group` and `lpfa.bulk.wait_group` of the
    same thread. Ordinary writes to the source need `lpfa.fence.proxy_async`.

    - C1: one to five coordinates.

    Example:
    ```mlir
    lpfa.bulk_tensor.store %tile to %map[%d, %row, %head, %batch]
    ```
  }];
  let arguments = (ins LPFA_SharedPointer:$source, LPFA_TensorMapPointer:$map,
      Variadic<I32>:$coordinates);
  let assemblyFormat = "$source `to` $map `[` $coordinates `]` attr-dict";
  let hasVerifier = 1;
}

def LPFA_BulkLoadOp : LPFA_ThreadOp<"bulk.load"> {
  let summary = "Copies contiguous bytes from global to shared memory";
  let description = [{
    `cp.async.bulk.shared::cta.global` (PTX 9.7.9.25), by one thread. `bytes`
    and both addresses are multiples of 16. Adds its bytes to the barrier's
    count.

    Example:
    ```mlir
    lpfa.bulk.load %scales to %atom, %bytes barrier %full
    ```
  }];
  let arguments = (ins LPFA_GlobalPointer:$source,
      LPFA_SharedPointer:$destination, I32:$bytes, LPFA_SharedPointer:$barrier);
  let assemblyFormat = [{
    $source `to` $destination `,` $bytes `barrier` $barrier attr-dict
  }];
}

def LPFA_BulkCommitGroupOp : LPFA_ThreadOp<"bulk.commit_group"> {
  let summary = "Closes the group of this thread's bulk stores so far";
  let description = [{
    `cp.async.bulk.commit_group` (PTX 9.7.9.25).

    Example:
    ```mlir
    lpfa.bulk.commit_group
    ```
  }];
  let assemblyFormat = "attr-dict";
}

def LPFA_BulkWaitGroupOp : LPFA_ThreadOp<"bulk.wait_group"> {
  let summary = "Waits until at most `pending` groups are open";
  let description = [{
    `cp.async.bulk.wait_group` (PTX 9.7.9.25), over this thread's groups. With
    `read` it waits only until the sources have been read and may be written
    again.

    Example:
    ```mlir
    lpfa.bulk.wait_group 0 read
    ```
  }];
  let arguments = (ins ConfinedAttr<I32Attr, [IntNonNegative]>:$pending,
                       UnitAttr:$read);
  let assemblyFormat = "$pending (`read` $read^)? attr-dict";
}

def LPFA_PrefetchTensorMapOp : LPFA_ThreadOp<"prefetch_tensor_map"> {
  let summary = "Brings a tensor map into the descriptor cache";
  let description = [{
    `prefetch.tensormap`, a hint, by one thread.

    Example:
    ```mlir
    lpfa.prefetch_tensor_map %map
    ```
  }];
  let arguments = (ins LPFA_TensorMapPointer:$map);
  let assemblyFormat = "$map attr-dict";
}

#endif // LPFA_DIALECT_LPFA_IR_LPFABULKCOPYOPS_TD

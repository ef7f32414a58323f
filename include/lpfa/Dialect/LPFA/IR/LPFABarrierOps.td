//===- LPFABarrierOps.td - Barriers of the synchronized stage *- tablegen -*-===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LPFA_DIALECT_LPFA_IR_LPFABARRIEROPS_TD
#define LPFA_DIALECT_LPFA_IR_LPFABARRIEROPS_TD

include "lpfa/Dialect/LPFA/IR/LPFAAttributes.td"
include "lpfa/Dialect/LPFA/IR/LPFATypes.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def LPFA_BarrierOp : LPFA_Op<"barrier", [HasParent<"KernelOp">]> {
  let summary = "a ring of mbarriers, or a named barrier";
  let description = [{
    Stage s counts the uses s, s + stages, ... Each use completes with
    `arrivals` arrivals (and the bytes that were expected). `guards` says in
    words what it is for.

    `named`: one of the 16 barriers of a CTA (PTX 9.7.13.1), for teams of whole
    warps. Who waits arrives by that: a use also needs all threads of the roles
    that wait, and each of these waits for every use, in order.

    - (C1) `stages` and `arrivals` are positive.
    - (C2) A named barrier has one stage, and in roles that are not elected
      `lpfa.arrive` of all threads and `lpfa.wait` with `back` 0 use it.

    ```mlir
    %fullK = lpfa.barrier "K.full" stages(3) arrivals(1) : !lpfa.barrier
    %fullF = lpfa.barrier "factor0.full" named stages(1) arrivals(128) : !lpfa.barrier
    ```
  }];
  let arguments = (ins StrAttr:$name, UnitAttr:$named, I64Attr:$stages,
                       I64Attr:$arrivals, OptionalAttr<StrAttr>:$guards);
  let results = (outs LPFA_BarrierType:$barrier);
  let assemblyFormat = [{
    $name (`named` $named^)? `stages` `(` $stages `)`
    `arrivals` `(` $arrivals `)` (`guards` $guards^)? attr-dict `:` type($barrier)
  }];
  let hasVerifier = 1;
}

def LPFA_CursorOp : LPFA_Op<"cursor", [HasParent<"RoleOp">]> {
  let summary = "a use number of a role, starting at 0";
  let description = [{
    ```mlir
    %uK = lpfa.cursor stages(3) : !lpfa.cursor
    ```
  }];
  let arguments = (ins I64Attr:$stages);
  let results = (outs LPFA_CursorType:$cursor);
  let assemblyFormat = "`stages` `(` $stages `)` attr-dict `:` type($cursor)";
  let hasVerifier = 1;
}

def LPFA_AdvanceOp : LPFA_Op<"advance"> {
  let summary = "one more use";
  let description = [{
    ```mlir
    lpfa.advance %uK : !lpfa.cursor
    ```
  }];
  let arguments = (ins LPFA_CursorType:$cursor);
  let assemblyFormat = "$cursor attr-dict `:` type($cursor)";
}

def LPFA_SlotAtOp : LPFA_Op<"slot"> {
  let summary = "the slot of a channel at a cursor";
  let description = [{
    - (C1) The results are the channel's buffers; the cursor has the channel's
      stages.

    ```mlir
    %k, %sk = lpfa.slot %cK use %uK : !lpfa.channel<128x128xf8E4M3FN shared, 32x4x4xf8E8M0FNU shared>
    ```
  }];
  let arguments = (ins LPFA_ChannelType:$channel, LPFA_CursorType:$cursor);
  let results = (outs Variadic<LPFA_BufferType>:$buffers);
  let assemblyFormat = "$channel `use` $cursor attr-dict `:` custom<SlotTypes>(type($channel), type($buffers))";
  let hasVerifier = 1;
}

def LPFA_WaitOp : LPFA_Op<"wait"> {
  let summary = "wait for a use of a barrier";
  let description = [{
    Ends when use `cursor - back` has completed; at once where that is
    negative.

    - (C1) `back` is 1 or a multiple of the barrier's stages, 0 or more; cursor
      and barrier have the same stages.

    ```mlir
    lpfa.wait %fullK use %uK : !lpfa.barrier
    lpfa.wait %emptyK use %uK back(3) : !lpfa.barrier
    ```
  }];
  let arguments = (ins LPFA_BarrierType:$barrier, LPFA_CursorType:$cursor,
                       DefaultValuedAttr<I64Attr, "0">:$back);
  let assemblyFormat = [{
    $barrier `use` $cursor (`back` `(` $back^ `)`)? attr-dict `:` type($barrier)
  }];
  let hasVerifier = 1;
}

def LPFA_ArriveOp : LPFA_Op<"arrive"> {
  let summary = "every thread of the role arrives, or one for all";
  let description = [{
    With `one_thread` only the role's first thread arrives: for accesses of the
    others to count, an `lpfa.team_barrier` must stand before.

    ```mlir
    lpfa.arrive %emptyK use %uK : !lpfa.barrier
    lpfa.arrive %emptyK use %uK one_thread : !lpfa.barrier
    ```
  }];
  let arguments = (ins LPFA_BarrierType:$barrier, LPFA_CursorType:$cursor,
                       UnitAttr:$one_thread);
  let assemblyFormat = [{
    $barrier `use` $cursor (`one_thread` $one_thread^)? attr-dict
    `:` type($barrier)
  }];
}

def LPFA_CommitOp : LPFA_Op<"commit"> {
  let summary = "arrive once all tensor-core work that the role has issued is done";
  let description = [{
    One arrival by `tcgen05.commit`, for the role's mma and scale copies so
    far.

    ```mlir
    lpfa.commit %emptyK use %uK : !lpfa.barrier
    ```
  }];
  let arguments = (ins LPFA_BarrierType:$barrier, LPFA_CursorType:$cursor);
  let assemblyFormat = "$barrier `use` $cursor attr-dict `:` type($barrier)";
}

def LPFA_TeamBarrierOp : LPFA_Op<"team_barrier"> {
  let summary = "the threads of the role wait for each other";
  let description = [{
    A named barrier of the role's own (PTX 9.7.13.1): what any thread of the
    role did before it happens before what any does after.

    - (C1) It stands in a role that is not elected.

    ```mlir
    lpfa.team_barrier
    ```
  }];
  let assemblyFormat = "attr-dict";
  let hasVerifier = 1;
}

def LPFA_ExpectBytesOp : LPFA_Op<"expect_bytes"> {
  let summary = "arrive, and expect bytes of asynchronous copies";
  let description = [{
    With `no_arrival` the use expects bytes only: an arrival at it must follow.

    - (C1) `bytes` is positive.

    ```mlir
    lpfa.expect_bytes %fullK use %uK bytes(16896) no_arrival : !lpfa.barrier
    lpfa.expect_bytes %fullK use %uK bytes(16896) : !lpfa.barrier
    ```
  }];
  let arguments = (ins LPFA_BarrierType:$barrier, LPFA_CursorType:$cursor,
                       I64Attr:$bytes, UnitAttr:$no_arrival);
  let assemblyFormat = [{
    $barrier `use` $cursor `bytes` `(` $bytes `)` (`no_arrival` $no_arrival^)?
    attr-dict `:` type($barrier)
  }];
  let hasVerifier = 1;
}

def LPFA_FenceKind
    : I32Enum<"FenceKind", "what a fence orders",
              [I32EnumCase<"ProxyAsync", 0, "proxy_async">,
               I32EnumCase<"BeforeThreadSync", 1, "before_thread_sync">,
               I32EnumCase<"AfterThreadSync", 2, "after_thread_sync">,
               I32EnumCase<"TensorStores", 3, "tensor_stores">]> {
  let cppNamespace = "::lpfa";
  let description = [{
    - `proxy_async`: shared memory accesses of the thread before accesses of
      asynchronous engines after (PTX 9.7.13.4, `fence.proxy.async`).
    - `before_thread_sync`, `after_thread_sync`: tcgen05 ops of the thread
      before, or after, its next, or last, synchronization (`tcgen05.fence`).
    - `tensor_stores`: the thread's stores to tensor memory have completed
      (`tcgen05.wait::st`).
  }];
}
def LPFA_FenceKindAttr : EnumAttr<LPFA_Dialect, LPFA_FenceKind, "fence_kind"> {
  let assemblyFormat = "$value";
}

def LPFA_FenceOp : LPFA_Op<"fence"> {
  let summary = "order a thread's accesses around a synchronization";
  let description = [{
    ```mlir
    lpfa.fence proxy_async
    ```
  }];
  let arguments = (ins LPFA_FenceKindAttr:$kind);
  let assemblyFormat = "$kind attr-dict";
}

#endif // LPFA_DIALECT_LPFA_IR_LPFABARRIEROPS_TD

// Buffers that do not fit into shared memory side by side share it where waits can
// order their contents, and the kernel is right with these waits alone.

// RUN: lpfa-opt %s -pass-pipeline='builtin.module(lpfa.kernel(lpfa-place-tiles,lpfa-insert-barriers,lpfa-verify-schedule))' -o %t.mlir \
// RUN:   --remarks-filter-analyse=lpfa-schedule --remarks-filter-passed=lpfa-barriers 2> %t.remarks
// RUN: FileCheck %s < %t.mlir
// RUN: FileCheck %s --check-prefix=REMARKS < %t.remarks

// Without any of them it is not.
// RUN: sed '/lpfa.wait .* back(1)/d' %t.mlir | not lpfa-opt -pass-pipeline='builtin.module(lpfa.kernel(lpfa-verify-schedule))' 2>&1 \
// RUN:   | FileCheck %s --check-prefix=NO-WAIT
// RUN: sed '/lpfa.fence *proxy_async/d' %t.mlir | not lpfa-opt -pass-pipeline='builtin.module(lpfa.kernel(lpfa-verify-schedule))' 2>&1 \
// RUN:   | FileCheck %s --check-prefix=NO-FENCE
// NO-WAIT:  error: 'lpfa.load_async' op race (R3): writes 'B' in bytes 0 to 131072 of shared memory while role "readers" reads 'A'
// NO-FENCE: error: 'lpfa.load_async' op race (R5): writes 'B' in bytes 0 to 131072 of shared memory after reads 'A' in bytes 0 to 131072 of shared memory without a fence
// NO-FENCE: note: missing: lpfa.fence proxy_async, by the reading threads before they arrive

// Two buffers that one role fills in turns lie in one place: each is loaded when
// the other has been read, which spares the waits for their own places.
// CHECK-LABEL: lpfa.kernel @turns
// CHECK-SAME:    shared_bytes(131072)
// CHECK-DAG:     lpfa.channel "A" stages(1) at [#lpfa.place<shared, 0, 131072>]
// CHECK-DAG:     lpfa.channel "B" stages(1) at [#lpfa.place<shared, 0, 131072>]
// CHECK-DAG:     %[[A:.+]] = lpfa.barrier "A.free"
// CHECK-DAG:     %[[B:.+]] = lpfa.barrier "B.free"
// CHECK:         lpfa.role "readers"
// CHECK:           lpfa.read
// CHECK-NEXT:      lpfa.fence proxy_async
// CHECK-NEXT:      lpfa.arrive %[[A]]
// CHECK:           lpfa.read
// CHECK-NEXT:      lpfa.fence proxy_async
// CHECK-NEXT:      lpfa.arrive %[[B]]
// CHECK:         lpfa.role "load"
// CHECK-NOT:       lpfa.wait
// CHECK:           lpfa.wait %[[B]] use %{{.+}} back(1)
// CHECK:           lpfa.load_async
// CHECK-NOT:       lpfa.wait
// CHECK:           lpfa.wait %[[A]] use %{{.+}} back(1)
// CHECK:           lpfa.load_async
// CHECK-NOT:       lpfa.wait
// REMARKS: Remark="role "load" waits until others have read 'B': else role "load" (lpfa.load_async of 'A') could overtake role "readers" (lpfa.read of 'B')"
// REMARKS: schedule-verdict {{.*}} Function=turns | Remark=safe
lpfa.kernel @turns stage(roles) threads(256) (%in: !lpfa.view<?x128xf32>) {
  %c0 = arith.constant 0 : index
  %n = lpfa.dim %in, 0 : !lpfa.view<?x128xf32>
  %A = lpfa.channel "A" stages(1) : !lpfa.channel<256x128xf32 shared>
  %B = lpfa.channel "B" stages(1) : !lpfa.channel<256x128xf32 shared>
  lpfa.role "readers" warps(4 from 0) registers(128) {
    lpfa.for_work (%w) in (%n) {
      %a = lpfa.get %A : !lpfa.channel<256x128xf32 shared>
      %x = lpfa.read %a : !lpfa.buffer<256x128xf32, shared> -> !lpfa.tile<256x128xf32>
      lpfa.release %A : !lpfa.channel<256x128xf32 shared>
      %b = lpfa.get %B : !lpfa.channel<256x128xf32 shared>
      %y = lpfa.read %b : !lpfa.buffer<256x128xf32, shared> -> !lpfa.tile<256x128xf32>
      lpfa.release %B : !lpfa.channel<256x128xf32 shared>
    }
  }
  lpfa.role "load" warps(1 from 4) registers(128) elected {
    lpfa.for_work (%w) in (%n) {
      %a = lpfa.acquire %A : !lpfa.channel<256x128xf32 shared>
      lpfa.load_async %in[%w, %c0] -> %a : !lpfa.view<?x128xf32>, !lpfa.buffer<256x128xf32, shared>
      lpfa.put %A : !lpfa.channel<256x128xf32 shared>
      %b = lpfa.acquire %B : !lpfa.channel<256x128xf32 shared>
      lpfa.load_async %in[%w, %c0] -> %b : !lpfa.view<?x128xf32>, !lpfa.buffer<256x128xf32, shared>
      lpfa.put %B : !lpfa.channel<256x128xf32 shared>
    }
  }
}

// Queries are used up before outputs are written to their place, and the next
// ones are loaded when the store has read these: the load role begins a work tile
// when that is so, and the store role ends one when it has seen it begin, so that
// neither is a use of a barrier ahead. What lives all the time lies beside.
// CHECK-LABEL: lpfa.kernel @outputs
// CHECK-SAME:    shared_bytes(230400)
// CHECK-DAG:     lpfa.channel "Q" stages(1) at [#lpfa.place<shared, 98304, 131072>]
// CHECK-DAG:     lpfa.channel "K" stages(3) at [#lpfa.place<shared, 0, 32768>]
// CHECK-DAG:     lpfa.channel "output" stages(2) at [#lpfa.place<shared, 98304, 65536>]
// CHECK-DAG:     lpfa.channel "sum" stages(1) at [#lpfa.place<shared, 229376, 512>]
// CHECK-DAG:     lpfa.scratch "total" at <shared, 229888, 512>
// CHECK-DAG:     %[[READ:.+]] = lpfa.barrier "output.read.for.load" stages(1) arrivals(1) guards "a work tile's content of output has been read"
// CHECK-DAG:     %[[BEGUN:.+]] = lpfa.barrier "output.awaited.by.load" stages(1) arrivals(1) guards "load has begun a work tile"
// CHECK:         lpfa.role "load"
// CHECK:           lpfa.for_work
// CHECK-NEXT:        lpfa.wait %[[READ]] use %[[TILE:.+]] back(1)
// CHECK-NEXT:        lpfa.arrive %[[BEGUN]] use %[[TILE]]
// CHECK-NEXT:        lpfa.advance %[[TILE]]
// CHECK:         lpfa.role "store"
// CHECK:           lpfa.store_async
// CHECK-NEXT:      lpfa.store_wait
// CHECK:           lpfa.wait %[[BEGUN]] use %[[TILE:[0-9]+]] :
// CHECK-NEXT:      lpfa.arrive %[[READ]] use %[[TILE]]
// CHECK-NEXT:      lpfa.advance %[[TILE]]
// REMARKS: wait-work-tile {{.*}} Remark="role "load" waits until others have read what the work tile before put into 'output': else role "load" (lpfa.load_async of 'Q') could overtake role "normalize" (lpfa.write of 'output')"
// REMARKS: schedule-verdict {{.*}} Function=outputs | Remark=safe
lpfa.kernel @outputs stage(roles) threads(384) (%in: !lpfa.view<?x128xf32>, %out: !lpfa.view<?x128xf32>) {
  %c0 = arith.constant 0 : index
  %n = lpfa.dim %in, 0 : !lpfa.view<?x128xf32>
  %Q = lpfa.channel "Q" stages(1) : !lpfa.channel<256x128xf32 shared>
  %K = lpfa.channel "K" stages(3) : !lpfa.channel<64x128xf32 shared>
  %output = lpfa.channel "output" stages(2) : !lpfa.channel<128x128xf32 shared>
  %sum = lpfa.channel "sum" stages(1) : !lpfa.channel<128xf32 shared>
  %total = lpfa.scratch "total" : !lpfa.buffer<128xf32, shared>
  lpfa.role "load" warps(1 from 8) registers(128) elected {
    lpfa.for_work (%w) in (%n) {
      %q = lpfa.acquire %Q : !lpfa.channel<256x128xf32 shared>
      lpfa.load_async %in[%w, %c0] -> %q : !lpfa.view<?x128xf32>, !lpfa.buffer<256x128xf32, shared>
      lpfa.put %Q : !lpfa.channel<256x128xf32 shared>
      %k = lpfa.acquire %K : !lpfa.channel<64x128xf32 shared>
      lpfa.load_async %in[%w, %c0] -> %k : !lpfa.view<?x128xf32>, !lpfa.buffer<64x128xf32, shared>
      lpfa.put %K : !lpfa.channel<64x128xf32 shared>
    }
  }
  lpfa.role "compute" warps(4 from 0) registers(128) {
    lpfa.for_work (%w) in (%n) {
      %q = lpfa.get %Q : !lpfa.channel<256x128xf32 shared>
      %x = lpfa.read %q : !lpfa.buffer<256x128xf32, shared> -> !lpfa.tile<256x128xf32>
      lpfa.release %Q : !lpfa.channel<256x128xf32 shared>
      %k = lpfa.get %K : !lpfa.channel<64x128xf32 shared>
      %y = lpfa.read %k : !lpfa.buffer<64x128xf32, shared> -> !lpfa.tile<64x128xf32>
      lpfa.release %K : !lpfa.channel<64x128xf32 shared>
      %s = lpfa.acquire %sum : !lpfa.channel<128xf32 shared>
      %z = lpfa.splat 0.0 : !lpfa.tile<128xf32>
      lpfa.write %z -> %s : !lpfa.tile<128xf32>, !lpfa.buffer<128xf32, shared>
      lpfa.put %sum : !lpfa.channel<128xf32 shared>
    }
  }
  lpfa.role "normalize" warps(4 from 4) registers(128) {
    %zero = lpfa.splat 0.0 : !lpfa.tile<128xf32>
    lpfa.write %zero -> %total : !lpfa.tile<128xf32>, !lpfa.buffer<128xf32, shared>
    lpfa.for_work (%w) in (%n) {
      %s = lpfa.get %sum : !lpfa.channel<128xf32 shared>
      %x = lpfa.read %s : !lpfa.buffer<128xf32, shared> -> !lpfa.tile<128xf32>
      lpfa.release %sum : !lpfa.channel<128xf32 shared>
      %t = lpfa.read %total : !lpfa.buffer<128xf32, shared> -> !lpfa.tile<128xf32>
      %o = lpfa.acquire %output : !lpfa.channel<128x128xf32 shared>
      %z = lpfa.splat 0.0 : !lpfa.tile<128x128xf32>
      lpfa.write %z -> %o : !lpfa.tile<128x128xf32>, !lpfa.buffer<128x128xf32, shared>
      lpfa.put %output : !lpfa.channel<128x128xf32 shared>
    }
  }
  lpfa.role "store" warps(1 from 9) registers(128) elected {
    lpfa.for_work (%w) in (%n) {
      %o = lpfa.get %output : !lpfa.channel<128x128xf32 shared>
      lpfa.store_async %o -> %out[%w, %c0] : !lpfa.buffer<128x128xf32, shared>, !lpfa.view<?x128xf32>
      lpfa.release %output : !lpfa.channel<128x128xf32 shared>
    }
  }
}

// What one team reads before it writes elsewhere is in use by its other threads,
// until all have arrived somewhere and another role has answered. Here that is so
// on both ways, from the reading to the writing and back: the two lie in one
// place.
// CHECK-LABEL: lpfa.kernel @team
// CHECK-SAME:    shared_bytes(132096)
// CHECK-DAG:     lpfa.scratch "first" at <shared, 0, 131072>
// CHECK-DAG:     lpfa.scratch "last" at <shared, 0, 131072>
// REMARKS: schedule-verdict {{.*}} Function=team | Remark=safe
lpfa.kernel @team stage(roles) threads(256) (%in: !lpfa.view<?x128xf32>) {
  %n = lpfa.dim %in, 0 : !lpfa.view<?x128xf32>
  %first = lpfa.scratch "first" : !lpfa.buffer<256x128xf32, shared>
  %last = lpfa.scratch "last" : !lpfa.buffer<256x128xf32, shared>
  %ask = lpfa.channel "ask" stages(1) : !lpfa.channel<128xf32 shared>
  %answer = lpfa.channel "answer" stages(1) : !lpfa.channel<128xf32 shared>
  lpfa.role "work" warps(4 from 0) registers(128) {
    %z = lpfa.splat 0.0 : !lpfa.tile<256x128xf32>
    %y = lpfa.splat 0.0 : !lpfa.tile<128xf32>
    lpfa.for_work (%w) in (%n) {
      lpfa.write %z -> %first : !lpfa.tile<256x128xf32>, !lpfa.buffer<256x128xf32, shared>
      %x0 = lpfa.read %first : !lpfa.buffer<256x128xf32, shared> -> !lpfa.tile<256x128xf32>
      %q0 = lpfa.acquire %ask : !lpfa.channel<128xf32 shared>
      lpfa.write %y -> %q0 : !lpfa.tile<128xf32>, !lpfa.buffer<128xf32, shared>
      lpfa.put %ask : !lpfa.channel<128xf32 shared>
      %a0 = lpfa.get %answer : !lpfa.channel<128xf32 shared>
      %y0 = lpfa.read %a0 : !lpfa.buffer<128xf32, shared> -> !lpfa.tile<128xf32>
      lpfa.release %answer : !lpfa.channel<128xf32 shared>
      lpfa.write %z -> %last : !lpfa.tile<256x128xf32>, !lpfa.buffer<256x128xf32, shared>
      %x1 = lpfa.read %last : !lpfa.buffer<256x128xf32, shared> -> !lpfa.tile<256x128xf32>
      %q1 = lpfa.acquire %ask : !lpfa.channel<128xf32 shared>
      lpfa.write %y -> %q1 : !lpfa.tile<128xf32>, !lpfa.buffer<128xf32, shared>
      lpfa.put %ask : !lpfa.channel<128xf32 shared>
      %a1 = lpfa.get %answer : !lpfa.channel<128xf32 shared>
      %y1 = lpfa.read %a1 : !lpfa.buffer<128xf32, shared> -> !lpfa.tile<128xf32>
      lpfa.release %answer : !lpfa.channel<128xf32 shared>
    }
  }
  lpfa.role "other" warps(4 from 4) registers(128) {
    %y = lpfa.splat 0.0 : !lpfa.tile<128xf32>
    lpfa.for_work (%w) in (%n) {
      %q0 = lpfa.get %ask : !lpfa.channel<128xf32 shared>
      %y0 = lpfa.read %q0 : !lpfa.buffer<128xf32, shared> -> !lpfa.tile<128xf32>
      lpfa.release %ask : !lpfa.channel<128xf32 shared>
      %a0 = lpfa.acquire %answer : !lpfa.channel<128xf32 shared>
      lpfa.write %y -> %a0 : !lpfa.tile<128xf32>, !lpfa.buffer<128xf32, shared>
      lpfa.put %answer : !lpfa.channel<128xf32 shared>
      %q1 = lpfa.get %ask : !lpfa.channel<128xf32 shared>
      %y1 = lpfa.read %q1 : !lpfa.buffer<128xf32, shared> -> !lpfa.tile<128xf32>
      lpfa.release %ask : !lpfa.channel<128xf32 shared>
      %a1 = lpfa.acquire %answer : !lpfa.channel<128xf32 shared>
      lpfa.write %y -> %a1 : !lpfa.tile<128xf32>, !lpfa.buffer<128xf32, shared>
      lpfa.put %answer : !lpfa.channel<128xf32 shared>
    }
  }
}

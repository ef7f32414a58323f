// Of two places at one wait each, the one whose barrier is there anyway.

// The scales of U have columns left neither beside the others nor in U itself:
// they lie in S or in T, whose last content must then have been read. The product
// into S waits for that anyway. That T has been read follows from U's having been,
// so that T has no barrier for it: S is better, though T comes first and its
// product is further away.

// RUN: lpfa-opt %s -pass-pipeline='builtin.module(lpfa.kernel(lpfa-place-tiles{columns=196},lpfa-insert-barriers,lpfa-verify-schedule))' \
// RUN:   | FileCheck %s
// CHECK-DAG: lpfa.channel "T" stages(1) at [#lpfa.place<tensor, 0, 64>]
// CHECK-DAG: lpfa.channel "S" stages(1) at [#lpfa.place<tensor, 64, 64>]
// CHECK-DAG: lpfa.channel "U" stages(1) at [#lpfa.place<tensor, 128, 64>]
// CHECK-DAG: lpfa.scratch "scales.U" at <tensor, 64, 4>
// CHECK-DAG: lpfa.scratch "scales" at <tensor, 192, 4>
// CHECK-NOT: lpfa.barrier "T.free"
// CHECK:     lpfa.barrier "S.free"
// CHECK-NOT: lpfa.barrier "T.free"

lpfa.kernel @f stage(roles) threads(256) (%in: !lpfa.view<?x128xf8E4M3FN>, %s: !lpfa.view<?x32x4x4xf8E8M0FNU>) {
  %c0 = arith.constant 0 : index
  %n = lpfa.dim %in, 0 : !lpfa.view<?x128xf8E4M3FN>
  %A = lpfa.channel "A" stages(1) : !lpfa.channel<128x128xf8E4M3FN shared, 64x128xf8E4M3FN shared, 32x4x4xf8E8M0FNU shared>
  %T = lpfa.channel "T" stages(1) : !lpfa.channel<128x64xf32 tensor>
  %S = lpfa.channel "S" stages(1) : !lpfa.channel<128x64xf32 tensor>
  %U = lpfa.channel "U" stages(1) : !lpfa.channel<128x64xf32 tensor>
  %scalesU = lpfa.scratch "scales.U" : !lpfa.buffer<32x4x4xf8E8M0FNU, tensor>
  %scales = lpfa.scratch "scales" : !lpfa.buffer<32x4x4xf8E8M0FNU, tensor>
  lpfa.role "readers" warps(4 from 0) registers(128) {
    lpfa.for_work (%w) in (%n) {
      %t0 = lpfa.get %T : !lpfa.channel<128x64xf32 tensor>
      %x = lpfa.read %t0 : !lpfa.buffer<128x64xf32, tensor> -> !lpfa.tile<128x64xf32>
      lpfa.release %T : !lpfa.channel<128x64xf32 tensor>
      %u0 = lpfa.get %U : !lpfa.channel<128x64xf32 tensor>
      %y = lpfa.read %u0 : !lpfa.buffer<128x64xf32, tensor> -> !lpfa.tile<128x64xf32>
      lpfa.release %U : !lpfa.channel<128x64xf32 tensor>
      %s0 = lpfa.get %S : !lpfa.channel<128x64xf32 tensor>
      %z = lpfa.read %s0 : !lpfa.buffer<128x64xf32, tensor> -> !lpfa.tile<128x64xf32>
      lpfa.release %S : !lpfa.channel<128x64xf32 tensor>
    }
  }
  lpfa.role "mma" warps(1 from 4) registers(128) elected {
    lpfa.for_work (%w) in (%n) {
      %a, %b, %sa = lpfa.get %A : !lpfa.channel<128x128xf8E4M3FN shared, 64x128xf8E4M3FN shared, 32x4x4xf8E8M0FNU shared>
      lpfa.copy_scales %sa -> %scalesU : !lpfa.buffer<32x4x4xf8E8M0FNU, shared>, !lpfa.buffer<32x4x4xf8E8M0FNU, tensor>
      lpfa.copy_scales %sa -> %scales : !lpfa.buffer<32x4x4xf8E8M0FNU, shared>, !lpfa.buffer<32x4x4xf8E8M0FNU, tensor>
      %u = lpfa.acquire %U : !lpfa.channel<128x64xf32 tensor>
      lpfa.mma %a, %b scaled %scalesU, %scalesU into %u transpose_b : !lpfa.buffer<128x128xf8E4M3FN, shared>, !lpfa.buffer<64x128xf8E4M3FN, shared>, !lpfa.buffer<128x64xf32, tensor>
      lpfa.put %U : !lpfa.channel<128x64xf32 tensor>
      %t = lpfa.acquire %T : !lpfa.channel<128x64xf32 tensor>
      lpfa.mma %a, %b scaled %scales, %scales into %t transpose_b : !lpfa.buffer<128x128xf8E4M3FN, shared>, !lpfa.buffer<64x128xf8E4M3FN, shared>, !lpfa.buffer<128x64xf32, tensor>
      lpfa.put %T : !lpfa.channel<128x64xf32 tensor>
      %s0 = lpfa.acquire %S : !lpfa.channel<128x64xf32 tensor>
      lpfa.mma %a, %b scaled %scales, %scales into %s0 transpose_b : !lpfa.buffer<128x128xf8E4M3FN, shared>, !lpfa.buffer<64x128xf8E4M3FN, shared>, !lpfa.buffer<128x64xf32, tensor>
      lpfa.put %S : !lpfa.channel<128x64xf32 tensor>
      lpfa.release %A : !lpfa.channel<128x128xf8E4M3FN shared, 64x128xf8E4M3FN shared, 32x4x4xf8E8M0FNU shared>
    }
  }
  lpfa.role "load" warps(1 from 5) registers(128) elected {
    lpfa.for_work (%w) in (%n) {
      %a, %b, %sa = lpfa.acquire %A : !lpfa.channel<128x128xf8E4M3FN shared, 64x128xf8E4M3FN shared, 32x4x4xf8E8M0FNU shared>
      lpfa.load_async %in[%w, %c0] -> %a : !lpfa.view<?x128xf8E4M3FN>, !lpfa.buffer<128x128xf8E4M3FN, shared>
      lpfa.load_async %in[%w, %c0] -> %b : !lpfa.view<?x128xf8E4M3FN>, !lpfa.buffer<64x128xf8E4M3FN, shared>
      lpfa.load_async %s[%w, %c0, %c0, %c0] -> %sa : !lpfa.view<?x32x4x4xf8E8M0FNU>, !lpfa.buffer<32x4x4xf8E8M0FNU, shared>
      lpfa.put %A : !lpfa.channel<128x128xf8E4M3FN shared, 64x128xf8E4M3FN shared, 32x4x4xf8E8M0FNU shared>
    }
  }
}

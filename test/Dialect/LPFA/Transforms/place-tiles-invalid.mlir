// Tiles that fit nowhere: the error names each of them, and what would do.

// RUN: not lpfa-opt %s -pass-pipeline='builtin.module(lpfa.kernel(lpfa-place-tiles{columns=96}))' 2>&1 | FileCheck %s

// S is read while O is accumulated, and the scales of a product may not lie in
// its own result.
// CHECK: error: 'lpfa.kernel' op finds no place for its tiles in 96 columns of tensor memory; 160 would do
// CHECK: note: 'S' takes 64 columns, from its writing by mma to its reading by readers
// CHECK: note: 'O' takes 64 columns, from its writing by mma to its reading by readers
// CHECK: note: 'scales' takes 4 columns, from its writing by mma to its reading by mma
lpfa.kernel @f stage(roles) threads(256) (%in: !lpfa.view<?x128xf8E4M3FN>, %s: !lpfa.view<?x32x4x4xf8E8M0FNU>) {
  %c0 = arith.constant 0 : index
  %n = lpfa.dim %in, 0 : !lpfa.view<?x128xf8E4M3FN>
  %A = lpfa.channel "A" stages(1) : !lpfa.channel<128x128xf8E4M3FN shared, 64x128xf8E4M3FN shared, 32x4x4xf8E8M0FNU shared>
  %S = lpfa.channel "S" stages(1) : !lpfa.channel<128x64xf32 tensor>
  %O = lpfa.channel "O" stages(1) : !lpfa.channel<128x64xf32 tensor>
  %t = lpfa.scratch "scales" : !lpfa.buffer<32x4x4xf8E8M0FNU, tensor>
  lpfa.role "readers" warps(4 from 0) registers(128) {
    lpfa.for_work (%w) in (%n) {
      %o = lpfa.get %O : !lpfa.channel<128x64xf32 tensor>
      %s0 = lpfa.get %S : !lpfa.channel<128x64xf32 tensor>
      %x = lpfa.read %s0 : !lpfa.buffer<128x64xf32, tensor> -> !lpfa.tile<128x64xf32>
      lpfa.release %S : !lpfa.channel<128x64xf32 tensor>
      %y = lpfa.read %o : !lpfa.buffer<128x64xf32, tensor> -> !lpfa.tile<128x64xf32>
      lpfa.release %O : !lpfa.channel<128x64xf32 tensor>
    }
  }
  lpfa.role "mma" warps(1 from 4) registers(128) elected {
    lpfa.for_work (%w) in (%n) {
      %a, %b, %sa = lpfa.get %A : !lpfa.channel<128x128xf8E4M3FN shared, 64x128xf8E4M3FN shared, 32x4x4xf8E8M0FNU shared>
      %o = lpfa.acquire %O : !lpfa.channel<128x64xf32 tensor>
      lpfa.copy_scales %sa -> %t : !lpfa.buffer<32x4x4xf8E8M0FNU, shared>, !lpfa.buffer<32x4x4xf8E8M0FNU, tensor>
      lpfa.mma %a, %b scaled %t, %t into %o transpose_b : !lpfa.buffer<128x128xf8E4M3FN, shared>, !lpfa.buffer<64x128xf8E4M3FN, shared>, !lpfa.buffer<128x64xf32, tensor>
      lpfa.put %O : !lpfa.channel<128x64xf32 tensor>
      %s0 = lpfa.acquire %S : !lpfa.channel<128x64xf32 tensor>
      lpfa.mma %a, %b scaled %t, %t into %s0 transpose_b : !lpfa.buffer<128x128xf8E4M3FN, shared>, !lpfa.buffer<64x128xf8E4M3FN, shared>, !lpfa.buffer<128x64xf32, tensor>
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

// Rings too long for shared memory: how long they could be.

// RUN: sed -e 's/"A" stages(1)/"A" stages(12)/' %s | not lpfa-opt -pass-pipeline='builtin.module(lpfa.kernel(lpfa-place-tiles))' 2>&1 \
// RUN:   | FileCheck %s --check-prefix=SHARED

// SHARED: error: 'lpfa.kernel' op needs 301056 bytes of shared memory, of 232448; with rings of 9 slots at most it would need 225792
// SHARED: note: 'A' takes 12 times 16384 bytes
// SHARED: note: 'A' takes 12 times 8192 bytes
// SHARED: note: 'A' takes 12 times 512 bytes

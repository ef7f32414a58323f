// A product whose result is quantized: squares of bf16 numbers, whose codes and
// two arrays of blocked scales are written, and not the result itself.

// RUN: lpfa-opt %s -lpfa-form-kernels -canonicalize -cse -o %t.tile.mlir
// RUN: FileCheck %s --check-prefix=TILE < %t.tile.mlir
// RUN: lpfa-opt %t.tile.mlir -pass-pipeline='builtin.module(lpfa.kernel(lpfa-assign-roles,canonicalize,cse))' -o %t.roles.mlir
// RUN: FileCheck %s --check-prefix=ROLES < %t.roles.mlir
// RUN: lpfa-opt %s -lpfa-to-synchronized --remarks-filter-analyse='lpfa-schedule' -o %t.synchronized.mlir 2>&1 | FileCheck %s --check-prefix=VERDICT
// RUN: lpfa-opt %t.synchronized.mlir -lpfa-distribute-to-threads | FileCheck %s --check-prefix=THREADS

// TILE: lpfa.kernel @squares_kernel stage(tile) (%[[A:.*]]: !lpfa.view<?x?xf8E4M3FN>, %{{.*}}: {{.*}}, %[[B:.*]]: !lpfa.view<?x?xf8E4M3FN>, %{{.*}}: {{.*}}, %[[Q:.*]]: !lpfa.view<?x?xf8E5M2>, %[[S:.*]]: !lpfa.view<?x?x32x4x4xf8E8M0FNU>, %[[T:.*]]: !lpfa.view<?x?x32x4x4xf8E8M0FNU>)
// TILE: lpfa.for_work (%[[M:.*]], %[[N:.*]]) in
// TILE:   %[[SUMS:.*]] = scf.for
// TILE:     lpfa.dot
// TILE:   }
// Products of padding are nothing to a block.
// TILE:   %[[ROWS:.*]] = arith.subi
// TILE:   %[[COLUMNS:.*]] = arith.subi
// TILE:   %[[CROPPED:.*]] = lpfa.crop %[[SUMS]] to(%[[ROWS]], %[[COLUMNS]]) : <128x128xf32>
// TILE:   %[[D:.*]] = lpfa.round %[[CROPPED]] : <128x128xf32> -> <128x128xbf16>
// TILE:   %[[CODES:.*]], %[[SCALES:.*]] = lpfa.quantize_tile %[[D]] axis(1) square
// TILE:   lpfa.store %[[CODES]] -> %[[Q]]
// TILE:   lpfa.pack_atom %[[SCALES]] valid(%[[ROWS]])
// TILE:   lpfa.quantize_tile %[[D]] axis(0) square
// TILE:   lpfa.pack_atom %{{.*}} transposed valid(%[[COLUMNS]])
// TILE: func.func @squares
// TILE-NOT: tensor<?x?xbf16>
// TILE: lpfa.launch @squares_kernel

// ROLES: lpfa.kernel @squares_kernel stage(roles)
// ROLES: lpfa.channel "operands" stages(5)
// ROLES: %[[SUMS:.*]] = lpfa.channel "sums" stages(2)
// ROLES-NOT: "output"
// ROLES: %[[CODES:.*]] = lpfa.channel "codes0" stages(2) : <128x128xf8E5M2 shared>
// ROLES: lpfa.role "epilogue" warps(4 from 0)
// ROLES:   lpfa.get %[[SUMS]]
// ROLES:   %[[READ:.*]] = lpfa.read
// ROLES:   lpfa.release %[[SUMS]]
// ROLES:   lpfa.crop
// ROLES:   lpfa.round
// ROLES:   %[[Q:.*]], %[[S:.*]] = lpfa.quantize_tile {{.*}} axis(1) square
// ROLES:   %[[SLOT:.*]] = lpfa.acquire %[[CODES]]
// ROLES:   lpfa.write %[[Q]] -> %[[SLOT]]
// ROLES:   lpfa.put %[[CODES]]
// ROLES:   %[[ATOM:.*]] = lpfa.pack_atom %[[S]]
// ROLES:   lpfa.store %[[ATOM]]
// ROLES: lpfa.role "store"
// ROLES:   lpfa.get %[[CODES]]
// ROLES:   lpfa.store_async
// ROLES:   lpfa.release %[[CODES]]

// VERDICT: schedule-verdict | Category:lpfa-schedule | Function=squares_kernel | Remark="safe assuming

// A thread has a row, a warp a square's 32: the largest magnitude of a block of
// a row, then over the warp.
// THREADS: gpu.func @squares_kernel
// THREADS: %[[ROW:.*]] = lpfa.tcgen05.ld %{{.*}} : vector<128xf32>
// THREADS: arith.truncf %{{.*}} : vector<128xf32> to vector<128xbf16>
// THREADS: llvm.call_intrinsic "llvm.fabs.f32"
// THREADS: arith.maximumf
// THREADS: lpfa.largest_magnitude
// THREADS: lpfa.convert_packed %{{.*}} to f8E8M0FNU up : vector<4xf32> -> vector<1xi32>
// THREADS-COUNT-4: lpfa.convert_packed %{{.*}} to f8E5M2 nearest : vector<32xf32> -> vector<8xi32>
// THREADS: lpfa.fence.proxy_async
// A word of a row's four scales; then the bytes of columns 32 apart.
// THREADS: llvm.store %{{.*}} {alignment = 4 : i64} : i32, !llvm.ptr<1>
// THREADS-COUNT-4: llvm.store %{{.*}} : i8, !llvm.ptr<1>

func.func @squares(%a: tensor<?x?xf8E4M3FN>, %sa: tensor<?x?x32x4x4xf8E8M0FNU>,
                   %b: tensor<?x?xf8E4M3FN>, %sb: tensor<?x?x32x4x4xf8E8M0FNU>)
    -> (tensor<?x?xf8E5M2>, tensor<?x?x32x4x4xf8E8M0FNU>,
        tensor<?x?x32x4x4xf8E8M0FNU>) {
  %d = lpfa.matmul %a scaled %sa, %b scaled %sb
      : tensor<?x?xf8E4M3FN>, tensor<?x?x32x4x4xf8E8M0FNU>, tensor<?x?xf8E4M3FN>,
        tensor<?x?x32x4x4xf8E8M0FNU> -> tensor<?x?xbf16>
  %q, %s = lpfa.quantize %d axis(1) square
      : tensor<?x?xbf16> -> tensor<?x?xf8E5M2>, tensor<?x?xf8E8M0FNU>
  %p, %t = lpfa.quantize %d axis(0) square
      : tensor<?x?xbf16> -> tensor<?x?xf8E5M2>, tensor<?x?xf8E8M0FNU>
  %u = lpfa.pack_scales %s : tensor<?x?xf8E8M0FNU> -> tensor<?x?x32x4x4xf8E8M0FNU>
  %v = lpfa.pack_scales %t transposed
      : tensor<?x?xf8E8M0FNU> -> tensor<?x?x32x4x4xf8E8M0FNU>
  return %q, %u, %v : tensor<?x?xf8E5M2>, tensor<?x?x32x4x4xf8E8M0FNU>,
      tensor<?x?x32x4x4xf8E8M0FNU>
}

// What the kernel does not quantize stays an op of its own: codes of less than
// 8 bits. Where the result is stored beside two kinds of codes, operands have
// fewer slots.
// TILE: lpfa.kernel @both_kernel
// TILE:   lpfa.store %{{.*}} : <128x128xf32>
// TILE-COUNT-2: lpfa.quantize_tile
// TILE: lpfa.kernel @both_quantize
// TILE:   lpfa.quantize_tile {{.*}}f4E2M1FN
// ROLES: lpfa.kernel @both_kernel
// ROLES: lpfa.channel "operands" stages(3)
// ROLES: lpfa.channel "output" stages(2) : <128x32xf32 shared>
// ROLES: lpfa.channel "codes0" stages(2)
// ROLES: lpfa.channel "codes1" stages(2)
func.func @both(%a: tensor<?x?xf8E4M3FN>, %sa: tensor<?x?x32x4x4xf8E8M0FNU>,
                %b: tensor<?x?xf8E4M3FN>, %sb: tensor<?x?x32x4x4xf8E8M0FNU>)
    -> (tensor<?x?xf32>, tensor<?x?xf8E4M3FN>, tensor<?x?xf8E4M3FN>,
        tensor<?x?xf4E2M1FN>) {
  %d = lpfa.matmul %a scaled %sa, %b scaled %sb
      : tensor<?x?xf8E4M3FN>, tensor<?x?x32x4x4xf8E8M0FNU>, tensor<?x?xf8E4M3FN>,
        tensor<?x?x32x4x4xf8E8M0FNU> -> tensor<?x?xf32>
  %q, %s = lpfa.quantize %d axis(1)
      : tensor<?x?xf32> -> tensor<?x?xf8E4M3FN>, tensor<?x?xf8E8M0FNU>
  %p, %t = lpfa.quantize %d axis(0)
      : tensor<?x?xf32> -> tensor<?x?xf8E4M3FN>, tensor<?x?xf8E8M0FNU>
  %o, %u = lpfa.quantize %d axis(1)
      : tensor<?x?xf32> -> tensor<?x?xf4E2M1FN>, tensor<?x?xf8E8M0FNU>
  return %d, %q, %p, %o : tensor<?x?xf32>, tensor<?x?xf8E4M3FN>,
      tensor<?x?xf8E4M3FN>, tensor<?x?xf4E2M1FN>
}

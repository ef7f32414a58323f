// The stages of a matrix product: sums of two work tiles in tensor memory, so
// that the products of one go on while the epilogue reads those of the other.

// RUN: lpfa-opt %s -lpfa-form-kernels -canonicalize -cse -o %t.tile.mlir
// RUN: FileCheck %s --check-prefix=TILE < %t.tile.mlir
// RUN: lpfa-opt %t.tile.mlir -pass-pipeline='builtin.module(lpfa.kernel(lpfa-assign-roles,canonicalize,cse))' -o %t.roles.mlir
// RUN: FileCheck %s --check-prefix=ROLES < %t.roles.mlir
// RUN: lpfa-opt %t.roles.mlir -pass-pipeline='builtin.module(lpfa.kernel(lpfa-place-tiles))' -o %t.placed.mlir
// RUN: FileCheck %s --check-prefix=PLACED < %t.placed.mlir
// RUN: lpfa-opt %t.placed.mlir -pass-pipeline='builtin.module(lpfa.kernel(lpfa-insert-barriers,lpfa-verify-schedule))' -o %t.synchronized.mlir
// RUN: FileCheck %s --check-prefix=BARRIERS < %t.synchronized.mlir
// RUN: lpfa-opt %s -lpfa-to-synchronized --remarks-filter-analyse='lpfa-schedule' -o /dev/null 2>&1 | FileCheck %s --check-prefix=VERDICT
// RUN: lpfa-opt %s -lpfa-to-synchronized="ordering=documented" --remarks-filter-analyse='lpfa-schedule' -o /dev/null 2>&1 | FileCheck %s --check-prefix=DOCUMENTED
// RUN: lpfa-opt %t.synchronized.mlir -lpfa-distribute-to-threads -o %t.threads.mlir
// RUN: FileCheck %s --check-prefix=THREADS < %t.threads.mlir

// Tile: steps of 128 along K, of which the last may be short.
// TILE: lpfa.kernel @f_kernel stage(tile)
// TILE: lpfa.for_work
// TILE:   %[[FIRST:.*]], %[[LAST:.*]] = lpfa.step_range %{{.*}} tile(128)
// TILE:   %[[SUMS:.*]] = scf.for %[[STEP:.*]] = %[[FIRST]] to %[[LAST]] {{.*}} iter_args(%[[SUM:.*]] = %{{.*}})
// TILE:     %[[FROM:.*]] = arith.muli %[[STEP]]
// TILE:     %[[LEFT:.*]] = arith.subi %{{.*}}, %[[FROM]]
// TILE:     %[[A:.*]] = lpfa.load %arg0
// TILE:     %[[SA:.*]] = lpfa.load %arg1
// TILE:     %[[B:.*]] = lpfa.load %arg2
// TILE:     %[[SB:.*]] = lpfa.load %arg3
// TILE:     lpfa.dot %[[A]], %[[B]] scaled %[[SA]], %[[SB]] acc %[[SUM]] valid(%[[LEFT]]) transpose_b
// TILE:   %[[D:.*]] = lpfa.round %[[SUMS]] : <128x128xf32> -> <128x128xbf16>
// TILE:   lpfa.store %[[D]] -> %arg4
// Row-major scales are packed first.
// TILE: %[[PACKED:.*]] = lpfa.launch @f_pack_scales
// TILE: lpfa.launch @f_kernel grid(%{{.*}}) persistent ins(%arg0, %[[PACKED]], %arg2, %arg3

// ROLES: lpfa.kernel @f_kernel stage(roles) threads(256)
// ROLES: %[[OPERANDS:.*]] = lpfa.channel "operands" stages(5) : <128x128xf8E4M3FN shared, 32x4x4xf8E8M0FNU shared, 128x128xf8E5M2 shared, 32x4x4xf8E8M0FNU shared>
// ROLES: %[[SUMS:.*]] = lpfa.channel "sums" stages(2) : <128x128xf32 tensor>
// ROLES: %[[OUTPUT:.*]] = lpfa.channel "output" stages(2) : <128x64xbf16 shared>
// ROLES: lpfa.role "epilogue" warps(4 from 0) registers(192)
// The sums are free for the next work tile but one when all have been read.
// ROLES:   lpfa.get %[[SUMS]]
// ROLES:   lpfa.read
// ROLES:   lpfa.acquire %[[OUTPUT]]
// ROLES:   lpfa.round
// ROLES:   lpfa.write
// ROLES:   lpfa.put %[[OUTPUT]]
// ROLES:   lpfa.get %[[SUMS]]
// ROLES:   lpfa.read
// ROLES:   lpfa.release %[[SUMS]]
// ROLES:   lpfa.put %[[OUTPUT]]
// ROLES: lpfa.role "mma" warps(1 from 4) registers(64) elected
// ROLES:   lpfa.for_steps
// ROLES:     lpfa.at shift(0) (%{{.*}}, %[[IS_FIRST:.*]], %[[IS_LAST:.*]])
// ROLES:       lpfa.get %[[OPERANDS]]
// ROLES:       lpfa.acquire %[[SUMS]]
// ROLES:       lpfa.copy_scales
// ROLES:       lpfa.copy_scales
// ROLES:       lpfa.mma {{.*}} accumulate(%{{.*}}) valid(%{{.*}}) transpose_b
// ROLES:       lpfa.release %[[OPERANDS]]
// ROLES:       scf.if %[[IS_LAST]]
// ROLES:         lpfa.put %[[SUMS]]
// ROLES: lpfa.role "load" warps(1 from 5) registers(64) elected
// ROLES:   lpfa.acquire %[[OPERANDS]]
// ROLES-COUNT-4: lpfa.load_async
// ROLES:   lpfa.put %[[OPERANDS]]
// ROLES: lpfa.role "store" warps(1 from 6) registers(64) elected
// ROLES-COUNT-2: lpfa.store_async

// PLACED: lpfa.kernel @f_kernel stage(placed) {{.*}} tensor_columns(264)
// PLACED-DAG: lpfa.channel "sums" stages(2) at [#lpfa.place<tensor, 0, 128>]
// PLACED-DAG: lpfa.scratch "scales.A" at <tensor, 256, 4>
// PLACED-DAG: lpfa.scratch "scales.B" at <tensor, 260, 4>

// BARRIERS: %[[OPERANDS_FULL:.*]] = lpfa.barrier "operands.full" stages(5) arrivals(1)
// BARRIERS: %[[OPERANDS_FREE:.*]] = lpfa.barrier "operands.free" stages(5) arrivals(1)
// BARRIERS: %[[SUMS_FULL:.*]] = lpfa.barrier "sums.full" stages(2) arrivals(1)
// BARRIERS: %[[SUMS_FREE:.*]] = lpfa.barrier "sums.free" stages(2) arrivals(128)
// BARRIERS: lpfa.role "mma"
// BARRIERS:   lpfa.wait %[[OPERANDS_FULL]]
// BARRIERS:   lpfa.wait %[[SUMS_FREE]] use %{{.*}} back(2)
// BARRIERS:   lpfa.mma
// BARRIERS:   lpfa.commit %[[OPERANDS_FREE]]
// BARRIERS:   scf.if
// BARRIERS:     lpfa.commit %[[SUMS_FULL]]
// BARRIERS: lpfa.role "load"

// The scales of a step are copied over those of the step before. Where only the
// manual counts, the mma role waits until those have been read.
// VERDICT: schedule-verdict | Category:lpfa-schedule | Function=f_kernel | Remark="safe assuming that the tensor core keeps the order of copies after products"
// DOCUMENTED: Remark=safe{{$}}

// THREADS: gpu.func @f_kernel
// THREADS: arith.truncf %{{.*}} : vector<64xf32> to vector<64xbf16>
// THREADS-COUNT-4: lpfa.tcgen05.mma

func.func @f(%a: tensor<?x?xf8E4M3FN>, %sa: tensor<?x?xf8E8M0FNU>,
             %b: tensor<?x?xf8E5M2>, %sb: tensor<?x?x32x4x4xf8E8M0FNU>) -> tensor<?x?xbf16> {
  %d = lpfa.matmul %a scaled %sa, %b scaled %sb
      : tensor<?x?xf8E4M3FN>, tensor<?x?xf8E8M0FNU>, tensor<?x?xf8E5M2>,
        tensor<?x?x32x4x4xf8E8M0FNU> -> tensor<?x?xbf16>
  return %d : tensor<?x?xbf16>
}

// The stages of attention at head dimension 128 with two query tiles, where
// tensor memory is full: scale factors live in scores that are dead.

// RUN: lpfa-opt %s -pass-pipeline='builtin.module(lpfa-form-kernels,canonicalize,cse,lpfa.kernel(lpfa-assign-roles,canonicalize,cse))' \
// RUN:   -o %t.roles.mlir
// RUN: FileCheck %s --check-prefix=ROLES < %t.roles.mlir
// RUN: lpfa-opt %t.roles.mlir -pass-pipeline='builtin.module(lpfa.kernel(lpfa-place-tiles))' -o %t.placed.mlir
// RUN: FileCheck %s --check-prefix=PLACED < %t.placed.mlir
// RUN: lpfa-opt %t.placed.mlir -pass-pipeline='builtin.module(lpfa.kernel(lpfa-verify-schedule))' -o /dev/null \
// RUN:   --remarks-filter-analyse=lpfa-schedule 2>&1 | FileCheck %s --check-prefix=NEEDS
// RUN: lpfa-opt %t.placed.mlir -pass-pipeline='builtin.module(lpfa.kernel(lpfa-insert-barriers))' -o %t.synchronized.mlir
// RUN: FileCheck %s --check-prefix=BARRIERS < %t.synchronized.mlir
// RUN: FileCheck %s --check-prefix=MMA < %t.synchronized.mlir

// Roles: who does what.
// ROLES: lpfa.kernel @f_kernel stage(roles) threads(512)
// ROLES: lpfa.role "softmax0" warps(4 from 0) registers(176)
// ROLES:   lpfa.get
// ROLES:   lpfa.read
// ROLES:   lpfa.release
// ROLES:   lpfa.softmax_maximum
// ROLES:   lpfa.write
// ROLES:   lpfa.put
// ROLES:   lpfa.softmax_probabilities
// ROLES:   lpfa.write
// ROLES:   lpfa.put
// ROLES: lpfa.role "softmax1" warps(4 from 4) registers(176)
// ROLES: lpfa.role "correction" warps(4 from 8) registers(80)
// ROLES:   lpfa.rescale_buffer
// ROLES:   lpfa.give
// ROLES:   lpfa.take
// ROLES:   lpfa.normalize
// ROLES: lpfa.role "mma" warps(1 from 12) registers(80) elected
// ROLES:   lpfa.at shift(0)
// ROLES:     lpfa.mma {{.*}} accumulate
// ROLES:   lpfa.at shift(1)
// ROLES:     lpfa.mma {{.*}} transpose_b
// ROLES:   lpfa.at shift(0)
// ROLES:     lpfa.mma {{.*}} accumulate
// ROLES:   lpfa.at shift(1)
// ROLES:     lpfa.mma {{.*}} transpose_b
// ROLES: lpfa.role "load" warps(1 from 13) registers(80) elected
// ROLES:   lpfa.load_async
// ROLES: lpfa.role "epilogue" warps(1 from 14) registers(80) elected
// ROLES:   lpfa.store_async

// Placed: scores and accumulators fill the columns. The probabilities and
// their scales lie in their own scores, the scales of a query tile's scores in
// those of the other.
// PLACED: tensor_columns(512)
// PLACED-DAG: lpfa.channel "S0" stages(1) at [#lpfa.place<tensor, 0, 128>]
// PLACED-DAG: lpfa.channel "P0" stages(1) at [#lpfa.place<tensor, 0, 32>,
// PLACED-DAG: lpfa.accumulator "O0" owner("correction") at <tensor, 128, 128>
// PLACED-DAG: lpfa.channel "S1" stages(1) at [#lpfa.place<tensor, 256, 128>]
// PLACED-DAG: lpfa.channel "P1" stages(1) at [#lpfa.place<tensor, 256, 32>,
// PLACED-DAG: lpfa.accumulator "O1" owner("correction") at <tensor, 384, 128>
// PLACED-DAG: lpfa.scratch "scales.Q0" at <tensor, 288, 4>
// PLACED-DAG: lpfa.scratch "scales.K0" at <tensor, 292, 4>
// PLACED-DAG: lpfa.scratch "scales.P0" at <tensor, 32, 4>
// PLACED-DAG: lpfa.scratch "scales.V0" at <tensor, 36, 4>
// PLACED-DAG: lpfa.scratch "scales.Q1" at <tensor, 40, 4>
// PLACED-DAG: lpfa.scratch "scales.K1" at <tensor, 44, 4>
// PLACED-DAG: lpfa.scratch "scales.P1" at <tensor, 296, 4>
// PLACED-DAG: lpfa.scratch "scales.V1" at <tensor, 300, 4>

// What that needs beyond the channels' own order.
// NEEDS: overlap-needs | Category:lpfa-schedule | Function=f_kernel | Remark="role "mma" waits until others have read 'S0': else role "mma" (lpfa.copy_scales of 'scales.Q1') could overtake role "softmax0" (lpfa.read of 'S0')"
// NEEDS: overlap-needs | {{.*}}role "mma" waits until others have read 'S1'
// NEEDS-NOT: overlap-needs

// Barriers: beside one for each content, those that nothing else implies. The
// scores say when they have been read only because scales lie over them.
// BARRIERS-DAG: %[[S0FREE:.+]] = lpfa.barrier "S0.free" stages(1) arrivals(128)
// BARRIERS-DAG: %[[S1FREE:.+]] = lpfa.barrier "S1.free" stages(1) arrivals(128)
// BARRIERS-DAG: lpfa.barrier "K.free" stages(3) arrivals(1)
// BARRIERS-DAG: lpfa.barrier "V.free" stages(3) arrivals(1)
// BARRIERS-DAG: lpfa.barrier "O0.for.mma" stages(1) arrivals(128)
// BARRIERS-DAG: lpfa.barrier "O1.for.mma" stages(1) arrivals(128)
// BARRIERS-NOT: lpfa.barrier "P0.free"
// BARRIERS-NOT: lpfa.barrier "factor0.free"

// The mma role waits until the other query tile's scores have been read before
// it copies scales over them.
// MMA-DAG: %[[S0FREE:.+]] = lpfa.barrier "S0.free"
// MMA-DAG: %[[S1FREE:.+]] = lpfa.barrier "S1.free"
// MMA-DAG: %[[S0FULL:.+]] = lpfa.barrier "S0.full"
// MMA-DAG: %[[TQ0:.+]] = lpfa.scratch "scales.Q0"
// MMA-DAG: %[[TQ1:.+]] = lpfa.scratch "scales.Q1"
// MMA:     lpfa.role "mma"
// MMA:       lpfa.at shift(0)
// MMA-NOT:     lpfa.wait %[[S1FREE]]
// MMA:       lpfa.at shift(1)
// MMA:         lpfa.wait %[[S1FREE]] use %{{.+}} back(1)
// MMA:         lpfa.copy_scales %{{.+}} -> %[[TQ0]]
// MMA:         lpfa.mma
// MMA:         lpfa.commit %[[S0FULL]]
// MMA:       lpfa.at shift(1)
// MMA:         lpfa.wait %[[S0FREE]] use %{{.+}} back(1)
// MMA:         lpfa.copy_scales %{{.+}} -> %[[TQ1]]

func.func @f(%q: tensor<?x?x?x128xf8E4M3FN>, %sq: tensor<?x?x?x1x32x4x4xf8E8M0FNU>,
             %k: tensor<?x?x?x128xf8E4M3FN>, %sk: tensor<?x?x?x1x32x4x4xf8E8M0FNU>,
             %v: tensor<?x?x?x128xf8E4M3FN>, %sv: tensor<?x?x1x?x32x4x4xf8E8M0FNU>)
    -> (tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>) {
  %o, %lse = lpfa.attention %q scaled %sq, %k scaled %sk, %v scaled %sv {scale = 0.125 : f32}
      : (tensor<?x?x?x128xf8E4M3FN>, tensor<?x?x?x1x32x4x4xf8E8M0FNU>,
         tensor<?x?x?x128xf8E4M3FN>, tensor<?x?x?x1x32x4x4xf8E8M0FNU>,
         tensor<?x?x?x128xf8E4M3FN>, tensor<?x?x1x?x32x4x4xf8E8M0FNU>)
      -> (tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>)
  return %o, %lse : tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>
}

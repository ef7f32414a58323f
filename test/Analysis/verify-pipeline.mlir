// The pipeline proves every schedule that it makes, and says what the proof
// leans on.

// RUN: lpfa-opt %s --lpfa-to-threads --remarks-filter-analyse='lpfa-schedule' -o /dev/null 2>&1 \
// RUN:   | FileCheck %s --check-prefix=PRACTICE
// RUN: lpfa-opt %s --lpfa-to-threads="query-tiles=1" --remarks-filter-analyse='lpfa-schedule' -o /dev/null 2>&1 \
// RUN:   | FileCheck %s --check-prefix=SAFE
// RUN: sed -e 's/x128xf8/x64xf8/g' -e 's/x128xbf/x64xbf/g' %s | lpfa-opt --lpfa-to-threads --remarks-filter-analyse='lpfa-schedule' -o /dev/null 2>&1 \
// RUN:   | FileCheck %s --check-prefix=SAFE
// RUN: lpfa-opt %s --lpfa-to-threads="ordering=documented" --remarks-filter-analyse='lpfa-schedule' -o /dev/null 2>&1 \
// RUN:   | FileCheck %s --check-prefix=SAFE
// RUN: not lpfa-opt %s -pass-pipeline='builtin.module(lpfa-form-kernels,canonicalize,cse,lpfa.kernel(lpfa-assign-roles,canonicalize,cse,lpfa-place-tiles,lpfa-insert-barriers,lpfa-verify-schedule{ordering=documented}))' \
// RUN:   -o /dev/null 2>&1 | FileCheck %s --check-prefix=DOCUMENTED
// RUN: lpfa-opt %s --lpfa-to-threads="ordering=documented" --remarks-filter-passed='lpfa-barriers' -o /dev/null 2>&1 \
// RUN:   | FileCheck %s --check-prefix=DRAINS

// PRACTICE: remark: [Analysis] schedule-verdict | Category:lpfa-schedule | Function=f_kernel | Remark="safe assuming that the tensor core keeps the order of products after products of other accumulators"

// With one query tile nothing overlaps, nor does at head dimension 64; and where only the manual counts, waits
// stand for the order that the tensor core would keep.
// SAFE: Remark=safe{{$}}

// The scores of the next step replace the probabilities of this one: without such
// waits the manual promises too little.
// DOCUMENTED: error: 'lpfa.mma' op race (R3): writes 'S0' in columns 0 to 128 of tensor memory while role "mma" reads 'P0' in columns 0 to 32 of tensor memory
// DOCUMENTED: note: the other access
// DOCUMENTED: note: the manual does not promise that the tensor core keeps the order of the two

// DRAINS: remark: [Passed] wait-drain | Category:lpfa-barriers | Function=f_kernel | Remark="role "mma" waits until its own use is over of

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

// RUN: lpfa-opt %s -lpfa-form-kernels -split-input-file -canonicalize -cse | FileCheck %s
// RUN: lpfa-opt %s -lpfa-form-kernels=query-tiles=1 -split-input-file | FileCheck %s --check-prefix=ONE
// RUN: lpfa-opt %s -lpfa-form-kernels=longest-first=false -split-input-file -canonicalize -cse | FileCheck %s --check-prefix=UP

// Scales that are row-major get a packing kernel; Q's and K's share one.
// CHECK-LABEL: lpfa.kernel @f_kernel stage(tile)
// CHECK-SAME:    !lpfa.view<?x?x?x64xf8E4M3FN>
// CHECK-DAG:     %[[C256:.+]] = arith.constant 256 : index
// The last rows see the most keys: all heads of them come first.
// CHECK:         %[[TILES:.+]] = arith.ceildivui %{{.+}}, %[[C256]]
// CHECK:         lpfa.for_work (%[[FROM_END:.+]], %[[B:.+]], %[[H:.+]]) in (%[[TILES]], %{{.+}}, %{{.+}}) {
// CHECK:           %[[LAST_TILE:.+]] = arith.addi %[[TILES]], %{{.+}}
// CHECK:           %[[M:.+]] = arith.subi %[[LAST_TILE]], %[[FROM_END]]
// CHECK:           %[[ROW:.+]] = arith.muli %[[M]], %[[C256]]
// CHECK:           %[[FIRST:.+]], %[[LAST:.+]] = lpfa.key_range %[[ROW]] count(256) rows(%{{.+}}) keys(%[[KEYS:.+]]) tile(128) <causal, bottom_right>
// CHECK:           %[[Q0:.+]] = lpfa.load
// CHECK:           scf.for %[[N:.+]] = %[[FIRST]] to %[[LAST]]
// CHECK:             %[[KEY:.+]] = arith.muli %[[N]]
// CHECK:             %[[LEFT:.+]] = arith.subi %[[KEYS]], %[[KEY]]
// CHECK:             %[[S:.+]] = lpfa.dot %[[Q0]], %{{.+}} scaled %{{.+}}, %{{.+}} transpose_b
// CHECK:             %[[X:.+]] = lpfa.apply_mask %[[S]] at(%[[ROW]], %[[KEY]])
// CHECK:             %[[P:.+]], %[[SP:.+]], %{{.+}}, %{{.+}}, %{{.+}}, %[[FACTOR:.+]] = lpfa.softmax_step %[[X]]
// CHECK:             %[[O:.+]] = lpfa.rescale %{{.+}} by %[[FACTOR]]
// CHECK:             lpfa.dot %[[P]], %{{.+}} scaled %[[SP]], %{{.+}} acc %[[O]] valid(%[[LEFT]])
// CHECK:             lpfa.dot
// CHECK:             lpfa.dot
// CHECK:             scf.yield
// CHECK:           lpfa.softmax_finish
// CHECK:           lpfa.normalize
// CHECK:           lpfa.store
// CHECK-LABEL: lpfa.kernel @f_pack_scales stage(tile)
// CHECK:         lpfa.pack_atom %{{.+}} : <128x4xf8E8M0FNU>
// CHECK-LABEL: lpfa.kernel @f_pack_scales_0 stage(tile)
// CHECK:         lpfa.pack_atom %{{.+}} transposed : <64x128xf8E8M0FNU>
// CHECK-LABEL: func.func @f(
// CHECK:         lpfa.launch @f_pack_scales grid
// CHECK:         lpfa.launch @f_pack_scales grid
// CHECK:         lpfa.launch @f_pack_scales_0 grid
// CHECK:         lpfa.launch @f_kernel grid(%{{.+}}) persistent
// CHECK-NOT:     lpfa.attention

// UP-LABEL: lpfa.kernel @f_kernel stage(tile)
// UP:         lpfa.for_work (%{{.+}}, %{{.+}}, %[[M:.+]]) in
// UP:           %[[ROW:.+]] = arith.muli %[[M]],
// UP:           lpfa.key_range %[[ROW]]

// ONE-LABEL: lpfa.kernel @f_kernel stage(tile)
// ONE:         lpfa.key_range %{{.+}} count(128)
// ONE:         lpfa.softmax_step
// ONE-NOT:     lpfa.softmax_step
// ONE:         lpfa.softmax_finish
func.func @f(%q: tensor<?x?x?x64xf8E4M3FN>, %sq: tensor<?x?x?x2xf8E8M0FNU>,
             %k: tensor<?x?x?x64xf8E4M3FN>, %sk: tensor<?x?x?x2xf8E8M0FNU>,
             %v: tensor<?x?x?x64xf8E4M3FN>, %sv: tensor<?x?x?x64xf8E8M0FNU>)
    -> (tensor<?x?x?x64xbf16>, tensor<?x?x?xf32>) {
  %o, %lse = lpfa.attention %q scaled %sq, %k scaled %sk, %v scaled %sv
      {scale = 0.125 : f32, mask = #lpfa.mask<causal, bottom_right>}
      : (tensor<?x?x?x64xf8E4M3FN>, tensor<?x?x?x2xf8E8M0FNU>,
         tensor<?x?x?x64xf8E4M3FN>, tensor<?x?x?x2xf8E8M0FNU>,
         tensor<?x?x?x64xf8E4M3FN>, tensor<?x?x?x64xf8E8M0FNU>)
      -> (tensor<?x?x?x64xbf16>, tensor<?x?x?xf32>)
  return %o, %lse : tensor<?x?x?x64xbf16>, tensor<?x?x?xf32>
}

// -----

// Blocked scales go to the kernel as they are.
// CHECK-LABEL: func.func @blocked(
// CHECK-NOT:     pack_scales
// CHECK:         lpfa.launch @blocked_kernel
// ONE-LABEL: func.func @blocked(
func.func @blocked(
    %q: tensor<1x2x256x128xf8E4M3FN>, %sq: tensor<1x2x2x1x32x4x4xf8E8M0FNU>,
    %k: tensor<1x2x256x128xf8E4M3FN>, %sk: tensor<1x2x2x1x32x4x4xf8E8M0FNU>,
    %v: tensor<1x2x256x128xf8E4M3FN>, %sv: tensor<1x2x1x2x32x4x4xf8E8M0FNU>)
    -> (tensor<1x2x256x128xf32>, tensor<1x2x256xf32>) {
  %o, %lse = lpfa.attention %q scaled %sq, %k scaled %sk, %v scaled %sv
      {scale = 0.125 : f32}
      : (tensor<1x2x256x128xf8E4M3FN>, tensor<1x2x2x1x32x4x4xf8E8M0FNU>,
         tensor<1x2x256x128xf8E4M3FN>, tensor<1x2x2x1x32x4x4xf8E8M0FNU>,
         tensor<1x2x256x128xf8E4M3FN>, tensor<1x2x1x2x32x4x4xf8E8M0FNU>)
      -> (tensor<1x2x256x128xf32>, tensor<1x2x256xf32>)
  return %o, %lse : tensor<1x2x256x128xf32>, tensor<1x2x256xf32>
}

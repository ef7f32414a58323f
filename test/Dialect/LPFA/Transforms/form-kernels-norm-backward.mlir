// RUN: lpfa-opt %s -lpfa-form-kernels -canonicalize -cse -split-input-file | FileCheck %s

// A CTA takes every 384th group of two rows, whose gradient it dequantizes, and
// leaves the partial sums of its columns; another kernel sums them by 256.
// CHECK-LABEL: lpfa.kernel @gradients_rms_norm_backward stage(tile)
// CHECK-SAME:    (%[[Q:.+]]: !lpfa.view<?x4096xf8E4M3FN>, %[[S:.+]]: !lpfa.view<?x128xf8E8M0FNU>, %[[X:.+]]: !lpfa.view<?x4096xbf16>, %[[W:.+]]: !lpfa.view<4096xf32>, %[[R:.+]]: !lpfa.view<?xf32>, %[[DX:.+]]: !lpfa.view<?x4096xbf16>, %[[P:.+]]: !lpfa.view<?x4096xf32>)
// CHECK-DAG:     %[[C2:.+]] = arith.constant 2 : index
// CHECK-DAG:     %[[C384:.+]] = arith.constant 384 : index
// CHECK:         %[[WEIGHT:.+]] = lpfa.load %[[W]][%{{.+}}] : <4096xf32> -> <4096xf32>
// CHECK:         %[[ROWS:.+]] = lpfa.dim %[[X]], 0
// CHECK:         %[[GROUPS:.+]] = arith.ceildivui %[[ROWS]], %[[C2]]
// CHECK:         %[[USED:.+]] = arith.minsi %[[GROUPS]], %[[C384]]
// CHECK:         lpfa.for_work (%[[I:.+]]) in (%[[USED]]) {
// CHECK:           %[[NONE:.+]] = lpfa.splat 0.0
// CHECK:           %[[SUMS:.+]] = scf.for %[[T:.+]] = %[[I]] to %[[GROUPS]] step %[[C384]] iter_args(%[[BEFORE:.+]] = %[[NONE]]) -> (!lpfa.tile<2x4096xf32>) {
// CHECK:             %[[ROW:.+]] = arith.muli %[[T]], %[[C2]]
// CHECK:             %[[TILE:.+]] = lpfa.load %[[X]][%[[ROW]], %{{.+}}] : <?x4096xbf16> -> <2x4096xbf16>
// CHECK:             %[[CODES:.+]] = lpfa.load %[[Q]][%[[ROW]], %{{.+}}]
// CHECK:             %[[RSTD:.+]] = lpfa.load %[[R]][%[[ROW]]] : <?xf32> -> <2xf32>
// CHECK:             %[[SCALES:.+]] = lpfa.load %[[S]][%[[ROW]], %{{.+}}] : <?x128xf8E8M0FNU> -> <2x128xf8E8M0FNU>
// CHECK:             %[[DY:.+]] = lpfa.dequantize_tile %[[CODES]] scaled %[[SCALES]] axis(1)
// CHECK:             %[[AFTER:.+]] = lpfa.weight_gradient_tile %[[DY]], %[[TILE]] rstd %[[RSTD]] into %[[BEFORE]]
// CHECK:             %[[PRODUCTS:.+]] = lpfa.sum_products_tile %[[DY]], %[[TILE]] rstd %[[RSTD]] weight %[[WEIGHT]] into
// CHECK:             %[[MEAN:.+]] = lpfa.mean_tile %[[PRODUCTS]] count(%{{.+}}) : <2x1024xf32> -> <2xf32>
// CHECK:             %[[GRADIENT:.+]] = lpfa.rms_norm_backward_tile %[[DY]], %[[TILE]] rstd %[[RSTD]] mean %[[MEAN]] weight %[[WEIGHT]] : <2x4096xbf16>, <2x4096xbf16>, <2xf32>, <4096xf32> -> <2x4096xbf16>{{$}}
// CHECK:             lpfa.store %[[GRADIENT]] -> %[[DX]][%[[ROW]], %{{.+}}]
// CHECK:             scf.yield %[[AFTER]]
// CHECK:           %[[FIRST:.+]] = arith.muli %[[I]], %[[C2]]
// CHECK:           lpfa.store %[[SUMS]] -> %[[P]][%[[FIRST]], %{{.+}}]
// CHECK-LABEL: lpfa.kernel @gradients_sum_columns
// CHECK-SAME:    (%[[P:.+]]: !lpfa.view<?x4096xf32>, %[[DW:.+]]: !lpfa.view<4096xf32>)
// CHECK:           %[[NONE:.+]] = lpfa.splat 0.0
// CHECK:           %[[SUMS:.+]] = scf.for {{.+}} iter_args(%[[BEFORE:.+]] = %[[NONE]]) -> (!lpfa.tile<256x32xf32>) {
// CHECK:             %[[ROWS:.+]] = lpfa.load %[[P]]
// CHECK:             %[[AFTER:.+]] = lpfa.add_tile %[[BEFORE]], %[[ROWS]] : <256x32xf32>
// CHECK:             scf.yield %[[AFTER]]
// CHECK:           %[[COLUMNS:.+]] = lpfa.sum_columns_tile %[[SUMS]] : <256x32xf32> -> <32xf32>
// CHECK:           lpfa.store %[[COLUMNS]] -> %[[DW]]
// CHECK-LABEL: func.func @gradients(
// CHECK-NOT:     lpfa.dequantize
// CHECK:         cf.assert %{{.+}}, "{{.*}}'lpfa.dequantize' op expects another size of dimension 0 of the scales"
// CHECK:         cf.assert %{{.+}}, "{{.*}}'lpfa.rms_norm_backward' op expects another size of dimension 0 of dy"
// CHECK:         cf.assert %{{.+}}, "{{.*}}expects another size of dimension 0 of rstd"
// CHECK:         %[[GRID:.+]] = arith.minsi
// CHECK:         %[[BOTH:.+]]:2 = lpfa.launch @gradients_rms_norm_backward grid(%[[GRID]])
// CHECK:         lpfa.launch @gradients_sum_columns grid(%{{.+}}) ins(%[[BOTH]]#1 : tensor<?x4096xf32>)
func.func @gradients(%q: tensor<?x4096xf8E4M3FN>, %s: tensor<?x128xf8E8M0FNU>,
    %x: tensor<?x4096xbf16>, %w: tensor<4096xf32>, %r: tensor<?xf32>)
    -> (tensor<?x4096xbf16>, tensor<4096xf32>) {
  %dy = lpfa.dequantize %q scaled %s axis(1)
      : tensor<?x4096xf8E4M3FN>, tensor<?x128xf8E8M0FNU> -> tensor<?x4096xbf16>
  %dx, %dw = lpfa.rms_norm_backward %dy, %x weight %w rstd %r
      : tensor<?x4096xbf16>, tensor<?x4096xbf16>, tensor<4096xf32>, tensor<?xf32>
      -> tensor<?x4096xbf16>, tensor<4096xf32>
  return %dx, %dw : tensor<?x4096xbf16>, tensor<4096xf32>
}

// -----

// Rows of any width are read twice for their gradient, and once more, tile by
// tile, for that of the weight: row i of every group.
// CHECK-LABEL: lpfa.kernel @wide_rms_norm_backward
// CHECK:         lpfa.for_work (%[[M:.+]], %[[N:.+]]) in
// CHECK:           %[[SUMS:.+]] = scf.for %{{.+}} iter_args(%[[BEFORE:.+]] = %{{.+}}) -> (!lpfa.tile<1x1024xf32>)
// CHECK:             lpfa.sum_products_tile %{{.+}} into %[[BEFORE]]
// CHECK:           %[[MEAN:.+]] = lpfa.mean_tile %[[SUMS]]
// CHECK:           scf.for
// CHECK:             lpfa.rms_norm_backward_tile %{{.+}} mean %[[MEAN]]
// CHECK-NOT:     lpfa.weight_gradient_tile
// CHECK-LABEL: lpfa.kernel @wide_weight_gradient
// CHECK:         %[[ROWS:.+]] = lpfa.dim %{{.+}}, 1
// CHECK:         %[[OFMATRIX:.+]] = arith.ceildivui %[[ROWS]], %[[NEIGHBORS:.+]] :
// CHECK:         lpfa.for_work (%[[B:.+]], %{{.+}}) in
// CHECK:           %[[FIRST:.+]] = arith.divui %[[B]], %[[NEIGHBORS]]
// CHECK:           scf.for %[[T:.+]] = %[[FIRST]] to
// CHECK:             %[[GROUP:.+]] = arith.remui %[[T]], %[[OFMATRIX]]
// CHECK:             %[[MATRIX:.+]] = arith.divui %[[T]], %[[OFMATRIX]]
// CHECK:             %[[START:.+]] = arith.muli %[[GROUP]], %[[NEIGHBORS]]
// CHECK:             %[[I:.+]] = arith.remui %[[B]], %[[NEIGHBORS]]
// CHECK:             %[[ROW:.+]] = arith.addi %[[START]], %[[I]]
// CHECK:             lpfa.load %{{.+}}[%[[MATRIX]], %[[ROW]], %{{.+}}] : <2x?x?xf32> -> <1x8192xf32>
// CHECK:             lpfa.weight_gradient_tile
// CHECK-LABEL: lpfa.kernel @wide_sum_columns
func.func @wide(%dy: tensor<2x?x?xf32>, %x: tensor<2x?x?xf32>,
    %w: tensor<?xf32>, %r: tensor<2x?xf32>)
    -> (tensor<2x?x?xf32>, tensor<?xf32>) {
  %dx, %dw = lpfa.rms_norm_backward %dy, %x weight %w rstd %r
      : tensor<2x?x?xf32>, tensor<2x?x?xf32>, tensor<?xf32>, tensor<2x?xf32>
      -> tensor<2x?x?xf32>, tensor<?xf32>
  return %dx, %dw : tensor<2x?x?xf32>, tensor<?xf32>
}

// -----

// What is not used is not computed. A gradient that was quantized along columns
// is dequantized first.
// CHECK-LABEL: lpfa.kernel @input_only_rms_norm_backward
// CHECK-NOT:     lpfa.weight_gradient_tile
// CHECK-NOT:   lpfa.kernel @input_only_sum_columns
// CHECK-LABEL: func.func @input_only(
func.func @input_only(%dy: tensor<8x64xf32>, %x: tensor<8x64xf32>,
    %w: tensor<64xf32>, %r: tensor<8xf32>) -> tensor<8x64xf32> {
  %dx, %dw = lpfa.rms_norm_backward %dy, %x weight %w rstd %r
      : tensor<8x64xf32>, tensor<8x64xf32>, tensor<64xf32>, tensor<8xf32>
      -> tensor<8x64xf32>, tensor<64xf32>
  return %dx : tensor<8x64xf32>
}

// -----

// CHECK-LABEL: lpfa.kernel @weight_only_rms_norm_backward
// CHECK-NOT:     lpfa.sum_products_tile
// CHECK:         lpfa.weight_gradient_tile
// CHECK-NOT:     lpfa.mean_tile
// CHECK-LABEL: func.func @weight_only(
// CHECK:         %[[DY:.+]] = lpfa.launch @weight_only_dequantize
// CHECK:         lpfa.launch @weight_only_rms_norm_backward grid(%{{.+}}) ins(%[[DY]],
// CHECK:         lpfa.launch @weight_only_sum_columns
func.func @weight_only(%q: tensor<32x64xf8E5M2>, %s: tensor<1x64xf8E8M0FNU>,
    %x: tensor<32x64xf32>, %w: tensor<64xf32>, %r: tensor<32xf32>)
    -> tensor<64xf32> {
  %dy = lpfa.dequantize %q scaled %s axis(0)
      : tensor<32x64xf8E5M2>, tensor<1x64xf8E8M0FNU> -> tensor<32x64xf32>
  %dx, %dw = lpfa.rms_norm_backward %dy, %x weight %w rstd %r
      : tensor<32x64xf32>, tensor<32x64xf32>, tensor<64xf32>, tensor<32xf32>
      -> tensor<32x64xf32>, tensor<64xf32>
  return %dw : tensor<64xf32>
}

// RUN: lpfa-opt %s -lpfa-form-kernels -canonicalize -cse -split-input-file | FileCheck %s

// Two quantizations of a tensor and what becomes of their scales: one kernel,
// which reads the tensor once and writes only what is used. Work tiles are what
// an atom's scales scale.
// CHECK-LABEL: lpfa.kernel @both_quantize stage(tile)
// CHECK-SAME:    (%[[X:.+]]: !lpfa.view<?x?xbf16>, %[[Q:.+]]: !lpfa.view<?x?xf8E4M3FN>, %[[B:.+]]: !lpfa.view<?x?x32x4x4xf8E8M0FNU>, %[[P:.+]]: !lpfa.view<?x?xf8E4M3FN>, %[[T:.+]]: !lpfa.view<?x?xf8E8M0FNU>)
// CHECK-DAG:     %[[C4:.+]] = arith.constant 4 : index
// CHECK-DAG:     %[[C128:.+]] = arith.constant 128 : index
// CHECK:         lpfa.for_work (%[[M:.+]], %[[N:.+]]) in
// CHECK:           %[[ROW:.+]] = arith.muli %[[M]], %[[C128]]
// CHECK:           %[[COLUMN:.+]] = arith.muli %[[N]], %[[C128]]
// CHECK:           %[[TILE:.+]] = lpfa.load %[[X]][%[[ROW]], %[[COLUMN]]] : <?x?xbf16> -> <128x128xbf16>
// CHECK:           %[[CODES:.+]], %[[SCALES:.+]] = lpfa.quantize_tile %[[TILE]] axis(1) : <128x128xbf16> -> <128x128xf8E4M3FN>, <128x4xf8E8M0FNU>
// CHECK:           lpfa.store %[[CODES]] -> %[[Q]][%[[ROW]], %[[COLUMN]]]
// CHECK:           %[[ATOM:.+]] = lpfa.pack_atom %[[SCALES]] : <128x4xf8E8M0FNU> -> <32x4x4xf8E8M0FNU>
// CHECK:           lpfa.store %[[ATOM]] -> %[[B]][%[[M]], %[[N]], %{{.+}}, %{{.+}}, %{{.+}}]
// CHECK:           %[[CODES1:.+]], %[[SCALES1:.+]] = lpfa.quantize_tile %[[TILE]] axis(0) rule(floor) : <128x128xbf16> -> <128x128xf8E4M3FN>, <4x128xf8E8M0FNU>
// CHECK:           lpfa.store %[[CODES1]] -> %[[P]][%[[ROW]], %[[COLUMN]]]
// CHECK:           %[[GROUP:.+]] = arith.muli %[[M]], %[[C4]]
// CHECK:           lpfa.store %[[SCALES1]] -> %[[T]][%[[GROUP]], %[[COLUMN]]]
// CHECK-LABEL: func.func @both(
// CHECK:         %[[GRID:.+]] = arith.muli
// CHECK:         cf.assert %{{.+}}, "{{.*}}'lpfa.quantize' op has a size above 2^30, more than a kernel can count"
// CHECK:         lpfa.launch @both_quantize grid(%[[GRID]]) ins(%{{.+}} : tensor<?x?xbf16>)
// CHECK-NOT:     lpfa.launch
func.func @both(%x: tensor<?x?xbf16>)
    -> (tensor<?x?xf8E4M3FN>, tensor<?x?x32x4x4xf8E8M0FNU>,
        tensor<?x?xf8E4M3FN>, tensor<?x?xf8E8M0FNU>) {
  %q, %s = lpfa.quantize %x axis(1)
      : tensor<?x?xbf16> -> tensor<?x?xf8E4M3FN>, tensor<?x?xf8E8M0FNU>
  %b = lpfa.pack_scales %s : tensor<?x?xf8E8M0FNU> -> tensor<?x?x32x4x4xf8E8M0FNU>
  %p, %t = lpfa.quantize %x axis(0) rule(floor)
      : tensor<?x?xbf16> -> tensor<?x?xf8E4M3FN>, tensor<?x?xf8E8M0FNU>
  return %q, %b, %p, %t : tensor<?x?xf8E4M3FN>, tensor<?x?x32x4x4xf8E8M0FNU>,
      tensor<?x?xf8E4M3FN>, tensor<?x?xf8E8M0FNU>
}

// -----

// Squares: the codes are written once, the scales of both axes from one kernel.
// Rows past the last are padding of an atom, although a square has them.
// CHECK-LABEL: lpfa.kernel @squares_quantize
// CHECK:         %[[TILE:.+]] = lpfa.load
// CHECK:         %[[CODES:.+]], %[[SCALES:.+]] = lpfa.quantize_tile %[[TILE]] axis(1) square
// CHECK:         lpfa.store %[[CODES]]
// CHECK:         %[[ROWS:.+]] = arith.subi
// CHECK:         lpfa.pack_atom %[[SCALES]] valid(%[[ROWS]])
// CHECK:         %{{.+}}, %[[SCALES1:.+]] = lpfa.quantize_tile %[[TILE]] axis(0) square
// CHECK-NEXT:    %[[COLUMNS:.+]] = arith.subi
// CHECK-NEXT:    lpfa.pack_atom %[[SCALES1]] transposed valid(%[[COLUMNS]])
func.func @squares(%x: tensor<2x?x?xf32>)
    -> (tensor<2x?x?xf8E5M2>, tensor<2x?x?x32x4x4xf8E8M0FNU>,
        tensor<2x?x?x32x4x4xf8E8M0FNU>) {
  %q, %s = lpfa.quantize %x axis(2) square
      : tensor<2x?x?xf32> -> tensor<2x?x?xf8E5M2>, tensor<2x?x?xf8E8M0FNU>
  %p, %t = lpfa.quantize %x axis(1) square
      : tensor<2x?x?xf32> -> tensor<2x?x?xf8E5M2>, tensor<2x?x?xf8E8M0FNU>
  %b = lpfa.pack_scales %s
      : tensor<2x?x?xf8E8M0FNU> -> tensor<2x?x?x32x4x4xf8E8M0FNU>
  %c = lpfa.pack_scales %t transposed
      : tensor<2x?x?xf8E8M0FNU> -> tensor<2x?x?x32x4x4xf8E8M0FNU>
  return %q, %b, %c : tensor<2x?x?xf8E5M2>, tensor<2x?x?x32x4x4xf8E8M0FNU>,
      tensor<2x?x?x32x4x4xf8E8M0FNU>
}

// -----

// Without blocked scales tiles are long rows; NVFP4 has its own kernel.
// CHECK-LABEL: lpfa.kernel @nvfp4_quantize
// CHECK:         lpfa.quantize_tile %{{.+}} axis(1) : <32x512xf16>
// CHECK-LABEL: lpfa.kernel @nvfp4_quantize_0
// CHECK:         %[[G:.+]] = lpfa.load %{{.+}}[] : <f32> -> <f32>
// CHECK:         lpfa.quantize_tile %{{.+}} axis(1) global(%[[G]] : !lpfa.tile<f32>) : <32x512xf16> -> <32x512xf4E2M1FN>, <32x32xf8E4M3FN>
func.func @nvfp4(%x: tensor<8x4096xf16>, %g: tensor<f32>)
    -> (tensor<8x4096xf8E4M3FN>, tensor<8x4096xf4E2M1FN>,
        tensor<8x256xf8E4M3FN>) {
  %q, %s = lpfa.quantize %x axis(1)
      : tensor<8x4096xf16> -> tensor<8x4096xf8E4M3FN>, tensor<8x128xf8E8M0FNU>
  %p, %t = lpfa.quantize %x axis(1) global(%g : tensor<f32>)
      : tensor<8x4096xf16> -> tensor<8x4096xf4E2M1FN>, tensor<8x256xf8E4M3FN>
  return %q, %p, %t : tensor<8x4096xf8E4M3FN>, tensor<8x4096xf4E2M1FN>,
      tensor<8x256xf8E4M3FN>
}

// -----

// CHECK-LABEL: lpfa.kernel @back_dequantize
// CHECK:         %[[Q:.+]] = lpfa.load
// CHECK:         %[[S:.+]] = lpfa.load
// CHECK:         %[[X:.+]] = lpfa.dequantize_tile %[[Q]] scaled %[[S]] axis(0) : <128x128xf6E2M3FN>, <4x128xf8E8M0FNU> -> <128x128xbf16>
// CHECK:         lpfa.store %[[X]]
// CHECK-LABEL: lpfa.kernel @back_unpack_scales
// Some atoms at a time, for long runs in memory.
// CHECK:         %[[ATOMS:.+]] = lpfa.load %{{.+}} : <?x?x32x4x4xf8E8M0FNU> -> <16x32x4x4xf8E8M0FNU>
// CHECK:         %[[T:.+]] = lpfa.unpack_atom %[[ATOMS]] transposed : <16x32x4x4xf8E8M0FNU> -> <64x128xf8E8M0FNU>
// CHECK:         lpfa.store %[[T]]
// CHECK-LABEL: func.func @back(
// CHECK:         cf.assert %{{.+}}, "{{.*}}expects another size of dimension 1 of the blocked scales"
// CHECK:         cf.assert %{{.+}}, "{{.*}}has rows of packed f6 whose length is no multiple of 4"
func.func @back(%q: tensor<?x?xf6E2M3FN>, %b: tensor<?x?x32x4x4xf8E8M0FNU>)
    -> tensor<?x?xbf16> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %rows = tensor.dim %q, %c0 : tensor<?x?xf6E2M3FN>
  %columns = tensor.dim %q, %c1 : tensor<?x?xf6E2M3FN>
  %groups = arith.ceildivui %rows, %c32 : index
  %s = lpfa.unpack_scales %b transposed sizes(%groups, %columns)
      : tensor<?x?x32x4x4xf8E8M0FNU> -> tensor<?x?xf8E8M0FNU>
  %x = lpfa.dequantize %q scaled %s axis(0)
      : tensor<?x?xf6E2M3FN>, tensor<?x?xf8E8M0FNU> -> tensor<?x?xbf16>
  return %x : tensor<?x?xbf16>
}

// -----

// A work tile is an atom of a sequence; its rows are where the offsets say.
// CHECK-LABEL: lpfa.kernel @jagged_scatter_scales stage(tile)
// CHECK-SAME:    (%[[S:.+]]: !lpfa.view<?x4xf8E8M0FNU>, %[[O:.+]]: !lpfa.view<?xi32>, %[[B:.+]]: !lpfa.view<?x1x32x4x4xf8E8M0FNU>)
// CHECK:         %[[TILES:.+]] = lpfa.dim %[[B]], 0
// CHECK:         lpfa.for_work (%[[A:.+]], %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}}) in (%[[TILES]],
// CHECK:           %[[ROW:.+]], %[[COUNT:.+]] = lpfa.sequence_tile %[[A]] of %[[O]] size(128) group(1) within(%{{.+}}, %{{.+}})
// CHECK:           %[[ROWS:.+]] = lpfa.load %[[S]][%[[ROW]], %{{.+}}] rows(%[[COUNT]])
// CHECK:           %[[ATOM:.+]] = lpfa.pack_atom %[[ROWS]]
// CHECK:           lpfa.store %[[ATOM]] -> %[[B]]
// Back: behind the atoms come tiles of rows that no sequence has, which are 0.
// CHECK-LABEL: lpfa.kernel @jagged_gather_scales
// CHECK-SAME:    (%[[B:.+]]: !lpfa.view<?x1x32x4x4xf8E8M0FNU>, %[[O:.+]]: !lpfa.view<?xi32>, %[[S:.+]]: !lpfa.view<?x4xf8E8M0FNU>)
// CHECK:           %[[ROW:.+]], %[[COUNT:.+]] = lpfa.sequence_tile %[[A:.+]] of %[[O]]
// CHECK:           %[[NONE:.+]] = arith.cmpi eq, %[[COUNT]]
// CHECK:           %[[AT:.+]] = arith.select %[[NONE]], %{{.+}}, %[[A]]
// CHECK:           %[[ATOM:.+]] = lpfa.load %[[B]][%[[AT]],
// CHECK:           %[[ROWS:.+]] = lpfa.unpack_atom %[[ATOM]]
// CHECK:           %[[ALL:.+]] = arith.select %[[NONE]], %{{.+}}, %[[COUNT]]
// CHECK:           lpfa.store %[[ROWS]] -> %[[S]][%[[ROW]], %{{.+}}] rows(%[[ALL]])
// CHECK-LABEL: func.func @jagged(
// CHECK:         cf.assert %{{.+}}, "{{.*}}'lpfa.scatter_scales' op there are no offsets"
func.func @jagged(%s: tensor<?x4xf8E8M0FNU>, %o: tensor<?xi32>, %n: index)
    -> tensor<?x4xf8E8M0FNU> {
  %b = lpfa.scatter_scales %s offsets(%o)
      : tensor<?x4xf8E8M0FNU>, tensor<?xi32> -> tensor<?x1x32x4x4xf8E8M0FNU>
  %t = lpfa.gather_scales %b offsets(%o) sizes(%n)
      : tensor<?x1x32x4x4xf8E8M0FNU>, tensor<?xi32> -> tensor<?x4xf8E8M0FNU>
  return %t : tensor<?x4xf8E8M0FNU>
}

// -----

// A normalization takes the quantization of its rows along: the normalized
// tensor is not written. The weight is loaded once for some rows.
// CHECK-LABEL: lpfa.kernel @norm_rms_norm stage(tile)
// CHECK-SAME:    (%[[X:.+]]: !lpfa.view<?x4096xbf16>, %[[W:.+]]: !lpfa.view<4096xbf16>, %[[Q:.+]]: !lpfa.view<?x4096xf8E4M3FN>, %[[S:.+]]: !lpfa.view<?x128xf8E8M0FNU>)
// CHECK-DAG:     %[[WEIGHT:.+]] = lpfa.load %[[W]][%{{.+}}] : <4096xbf16> -> <4096xbf16>
// CHECK:         lpfa.for_work (%[[M:.+]], %{{.+}}) in
// CHECK:           %[[TILE:.+]] = lpfa.load %[[X]][%{{.+}}, %{{.+}}] : <?x4096xbf16> -> <1x4096xbf16>
// CHECK:           %[[SUMS:.+]] = lpfa.sum_squares_tile %[[TILE]] into
// CHECK:           %[[R:.+]] = lpfa.rstd_tile %[[SUMS]] count(%{{.+}}) epsilon(9.99999997E-7)
// CHECK:           %[[Y:.+]] = lpfa.rms_norm_tile %[[TILE]] rstd %[[R]] weight %[[WEIGHT]]
// CHECK:           %[[CODES:.+]], %[[SCALES:.+]] = lpfa.quantize_tile %[[Y]] axis(1)
// CHECK:           lpfa.store %[[CODES]] -> %[[Q]]
// CHECK:           lpfa.store %[[SCALES]] -> %[[S]]
func.func @norm(%x: tensor<?x4096xbf16>, %w: tensor<4096xbf16>)
    -> (tensor<?x4096xf8E4M3FN>, tensor<?x128xf8E8M0FNU>) {
  %y = lpfa.rms_norm %x weight %w epsilon(1.0e-6)
      : tensor<?x4096xbf16>, tensor<4096xbf16> -> tensor<?x4096xbf16>
  %q, %s = lpfa.quantize %y axis(1)
      : tensor<?x4096xbf16> -> tensor<?x4096xf8E4M3FN>, tensor<?x128xf8E8M0FNU>
  return %q, %s : tensor<?x4096xf8E4M3FN>, tensor<?x128xf8E8M0FNU>
}

// -----

// Narrow rows: a work tile has some, a run of an atom's where scales are packed,
// or no more than there are.
// CHECK-LABEL: lpfa.kernel @narrow_rms_norm stage(tile)
// CHECK:         lpfa.for_work
// CHECK:           lpfa.load %{{.+}} : <?x200xbf16> -> <16x256xbf16>
// CHECK:           lpfa.load %{{.+}} : <200xf32> -> <256xf32>
// CHECK-LABEL: lpfa.kernel @narrow_rms_norm_0 stage(tile)
// CHECK:         lpfa.for_work
// CHECK:           lpfa.load %{{.+}} : <?x200xbf16> -> <32x256xbf16>
// CHECK:           lpfa.quantize_tile %{{.+}} axis(1)
// CHECK:           lpfa.pack_atom %{{.+}} : <32x8xf8E8M0FNU> -> <2x32x1x4xf8E8M0FNU>
// CHECK-LABEL: lpfa.kernel @narrow_rms_norm_1 stage(tile)
// CHECK:         lpfa.for_work
// CHECK:           lpfa.load %{{.+}} : <?x12x600xbf16> -> <4x768xbf16>
// CHECK-LABEL: lpfa.kernel @narrow_rms_norm_2 stage(tile)
// CHECK:         lpfa.for_work
// CHECK:           lpfa.load %{{.+}} : <?x3x64xbf16> -> <4x64xbf16>
// CHECK-LABEL: func.func @narrow(
// CHECK-COUNT-4: lpfa.launch
// CHECK-NOT:     lpfa.launch
func.func @narrow(%x: tensor<?x200xbf16>, %w: tensor<200xf32>,
                  %z: tensor<?x12x600xbf16>, %v: tensor<600xbf16>,
                  %a: tensor<?x3x64xbf16>, %u: tensor<64xbf16>)
    -> (tensor<?x200xbf16>, tensor<?x200xf8E4M3FN>,
        tensor<?x2x32x4x4xf8E8M0FNU>, tensor<?x12x600xbf16>,
        tensor<?x3x64xbf16>) {
  %y = lpfa.rms_norm %x weight %w epsilon(1.0e-6)
      : tensor<?x200xbf16>, tensor<200xf32> -> tensor<?x200xbf16>
  %n = lpfa.rms_norm %x weight %w epsilon(1.0e-5)
      : tensor<?x200xbf16>, tensor<200xf32> -> tensor<?x200xbf16>
  %q, %s = lpfa.quantize %n axis(1)
      : tensor<?x200xbf16> -> tensor<?x200xf8E4M3FN>, tensor<?x7xf8E8M0FNU>
  %b = lpfa.pack_scales %s
      : tensor<?x7xf8E8M0FNU> -> tensor<?x2x32x4x4xf8E8M0FNU>
  %m = lpfa.rms_norm %z weight %v epsilon(1.0e-6)
      : tensor<?x12x600xbf16>, tensor<600xbf16> -> tensor<?x12x600xbf16>
  %k = lpfa.rms_norm %a weight %u epsilon(1.0e-6)
      : tensor<?x3x64xbf16>, tensor<64xbf16> -> tensor<?x3x64xbf16>
  return %y, %q, %b, %m, %k : tensor<?x200xbf16>, tensor<?x200xf8E4M3FN>,
      tensor<?x2x32x4x4xf8E8M0FNU>, tensor<?x12x600xbf16>, tensor<?x3x64xbf16>
}

// -----

// Narrow rows in squares: a warp has 32 of them.
// CHECK-LABEL: lpfa.kernel @narrow_squares_rms_norm stage(tile)
// CHECK:         lpfa.for_work
// CHECK:           lpfa.load %{{.+}} : <?x64xbf16> -> <128x128xbf16>
// CHECK:           lpfa.sum_squares_tile
// CHECK:           lpfa.quantize_tile %{{.+}} axis(1) square
// CHECK:           lpfa.pack_atom %{{.+}} valid(%{{.+}}) : <128x4xf8E8M0FNU> -> <32x4x4xf8E8M0FNU>
// CHECK-LABEL: func.func @narrow_squares(
// CHECK:         lpfa.launch @narrow_squares_rms_norm grid(%{{.+}}) ins
// CHECK-NOT:     lpfa.launch
func.func @narrow_squares(%x: tensor<?x64xbf16>, %w: tensor<64xbf16>)
    -> (tensor<?x64xf8E4M3FN>, tensor<?x1x32x4x4xf8E8M0FNU>) {
  %y = lpfa.rms_norm %x weight %w epsilon(1.0e-6)
      : tensor<?x64xbf16>, tensor<64xbf16> -> tensor<?x64xbf16>
  %q, %s = lpfa.quantize %y axis(1) square
      : tensor<?x64xbf16> -> tensor<?x64xf8E4M3FN>, tensor<?x2xf8E8M0FNU>
  %b = lpfa.pack_scales %s
      : tensor<?x2xf8E8M0FNU> -> tensor<?x1x32x4x4xf8E8M0FNU>
  return %q, %b : tensor<?x64xf8E4M3FN>, tensor<?x1x32x4x4xf8E8M0FNU>
}

// -----

// Rows of any width are read twice, tile after tile.
// CHECK-LABEL: lpfa.kernel @wide_rms_norm stage(tile)
// CHECK:         lpfa.for_work (%[[M:.+]]) in
// CHECK:           %[[SUMS:.+]] = scf.for %{{.+}} iter_args(%[[S:.+]] = %{{.+}}) -> (!lpfa.tile<1x1024xf32>)
// CHECK:             %[[TILE:.+]] = lpfa.load %{{.+}}[%[[M]], %{{.+}}] : <?x?xf32> -> <1x16384xf32>
// CHECK:             %[[MORE:.+]] = lpfa.sum_squares_tile %[[TILE]] into %[[S]]
// CHECK:             scf.yield %[[MORE]]
// CHECK:           %[[R:.+]] = lpfa.rstd_tile %[[SUMS]] count(%{{.+}})
// CHECK:           lpfa.store %[[R]] -> %{{.+}}[%[[M]]]
// CHECK:           scf.for
// CHECK:             %[[AGAIN:.+]] = lpfa.load
// CHECK:             %[[W:.+]] = lpfa.load
// CHECK:             lpfa.rms_norm_tile %[[AGAIN]] rstd %[[R]] weight %[[W]]
func.func @wide(%x: tensor<?x?xf32>, %w: tensor<?xf32>)
    -> (tensor<?x?xf32>, tensor<?xf32>) {
  %y, %r = lpfa.rms_norm %x weight %w epsilon(1.0e-6)
      : tensor<?x?xf32>, tensor<?xf32> -> tensor<?x?xf32>, tensor<?xf32>
  return %y, %r : tensor<?x?xf32>, tensor<?xf32>
}

// -----

// Squares of a normalized tensor: a kernel for the factors of rows, and one over
// tiles, which also writes the normalized tensor where something else uses it.
// CHECK-LABEL: lpfa.kernel @norm_squares_rms_norm_quantize stage(tile)
// CHECK-SAME:    (%[[X:[^:]+]]: !lpfa.view<?x?xbf16>, %[[W:[^:]+]]: !lpfa.view<?xf32>, %[[R:[^:]+]]: !lpfa.view<?xf32>, %[[Y:[^:]+]]: !lpfa.view<?x?xbf16>,
// CHECK:         lpfa.for_work
// CHECK:           %[[TILE:.+]] = lpfa.load %[[X]][%[[ROW:.+]], %[[COLUMN:.+]]] : <?x?xbf16> -> <128x128xbf16>
// CHECK:           %[[WEIGHT:.+]] = lpfa.load %[[W]][%[[COLUMN]]] : <?xf32> -> <128xf32>
// CHECK:           %[[FACTORS:.+]] = lpfa.load %[[R]][%[[ROW]]] : <?xf32> -> <128xf32>
// CHECK:           %[[NORMAL:.+]] = lpfa.rms_norm_tile %[[TILE]] rstd %[[FACTORS]] weight %[[WEIGHT]]
// CHECK:           lpfa.store %[[NORMAL]] -> %[[Y]]
// CHECK:           lpfa.quantize_tile %[[NORMAL]] axis(1) square
// CHECK:           lpfa.pack_atom
// CHECK:           lpfa.quantize_tile %[[NORMAL]] axis(0) square
// CHECK:           lpfa.pack_atom %{{.+}} transposed
// CHECK-LABEL: lpfa.kernel @norm_squares_rms_norm stage(tile)
// CHECK:         lpfa.sum_squares_tile
// CHECK:         lpfa.rstd_tile
// CHECK-NEXT:    lpfa.store %{{.+}} -> %{{.+}} : <1xf32>, <?xf32>
// CHECK-NOT:     lpfa.rms_norm_tile
// CHECK-LABEL: func.func @norm_squares(
// CHECK:         %[[RSTD:.+]] = lpfa.launch @norm_squares_rms_norm grid(%{{.+}}) ins(%{{.+}}) outs(%{{.+}} : tensor<?xf32>)
// CHECK:         lpfa.launch @norm_squares_rms_norm_quantize grid(%{{.+}}) ins(%{{.+}}, %{{.+}}, %[[RSTD]] :
// CHECK-NOT:     lpfa.launch
func.func @norm_squares(%x: tensor<?x?xbf16>, %w: tensor<?xf32>)
    -> (tensor<?x?xbf16>, tensor<?x?xf8E4M3FN>,
        tensor<?x?x32x4x4xf8E8M0FNU>, tensor<?x?x32x4x4xf8E8M0FNU>) {
  %y = lpfa.rms_norm %x weight %w epsilon(1.0e-6)
      : tensor<?x?xbf16>, tensor<?xf32> -> tensor<?x?xbf16>
  %q, %s = lpfa.quantize %y axis(1) square
      : tensor<?x?xbf16> -> tensor<?x?xf8E4M3FN>, tensor<?x?xf8E8M0FNU>
  %p, %t = lpfa.quantize %y axis(0) square
      : tensor<?x?xbf16> -> tensor<?x?xf8E4M3FN>, tensor<?x?xf8E8M0FNU>
  %b = lpfa.pack_scales %s
      : tensor<?x?xf8E8M0FNU> -> tensor<?x?x32x4x4xf8E8M0FNU>
  %c = lpfa.pack_scales %t transposed
      : tensor<?x?xf8E8M0FNU> -> tensor<?x?x32x4x4xf8E8M0FNU>
  return %y, %q, %b, %c : tensor<?x?xbf16>, tensor<?x?xf8E4M3FN>,
      tensor<?x?x32x4x4xf8E8M0FNU>, tensor<?x?x32x4x4xf8E8M0FNU>
}

// -----

// Rows that fit are read once, the next work tile's while this one is at hand. A
// tile of 32 rows has one run, or group, of four of each atom; atoms are padded
// to 128 rows.
// CHECK-LABEL: lpfa.kernel @norm_once_rms_norm stage(tile)
// CHECK-DAG:     %[[C32:.+]] = arith.constant 32 : index
// CHECK-DAG:     %[[C4:.+]] = arith.constant 4 : index
// CHECK:         %[[ATOMS:.+]] = arith.ceildivui %{{.+}}, %{{.+}}
// CHECK:         %[[TILES:.+]] = arith.muli %[[ATOMS]], %[[C4]]
// CHECK:         lpfa.for_work (%[[M:.+]], %{{.+}}) in (%[[TILES]], %{{.+}})
// CHECK:           %[[ROW:.+]] = arith.muli %[[M]], %[[C32]]
// CHECK:           %[[X:.+]] = lpfa.load %{{.+}}[%[[ROW]], %{{.+}}] ahead : <?x2048xbf16> -> <32x2048xbf16>
// CHECK:           lpfa.load %{{.+}} : <2048xf32> -> <2048xf32>
// CHECK:           lpfa.sum_squares_tile %[[X]] into %{{.+}} : <32x2048xbf16>, <32x1024xf32>
// CHECK:           %[[R:.+]] = lpfa.rstd_tile
// CHECK:           lpfa.store %[[R]] -> %{{.+}} : <32xf32>, <?xf32>
// CHECK:           lpfa.rms_norm_tile %[[X]] rstd %[[R]]
// CHECK:           lpfa.quantize_tile %{{.+}} axis(1) square
// CHECK:           %[[A:.+]] = arith.divui %[[M]], %[[C4]]
// CHECK:           %[[PART:.+]] = arith.subi %[[M]], %{{.+}}
// CHECK:           lpfa.pack_atom %{{.+}} valid(%{{.+}}) : <32x64xf8E8M0FNU> -> <16x32x1x4xf8E8M0FNU>
// CHECK-NEXT:      lpfa.store %{{.+}} -> %{{.+}}[%[[A]], %{{.+}}, %{{.+}}, %[[PART]], %{{.+}}]
// CHECK:           lpfa.pack_atom %{{.+}} transposed valid(%{{.+}}) : <1x2048xf8E8M0FNU> -> <16x1x32x4x1xf8E8M0FNU>
// CHECK-NEXT:      lpfa.store %{{.+}} -> %{{.+}}[%{{.+}}, %[[A]], %{{.+}}, %{{.+}}, %[[PART]]]
// CHECK-LABEL: func.func @norm_once(
// CHECK:         lpfa.launch @norm_once_rms_norm grid(%{{.+}}) persistent
// CHECK-NOT:     lpfa.launch
func.func @norm_once(%x: tensor<?x2048xbf16>, %w: tensor<2048xf32>)
    -> (tensor<?xf32>, tensor<?x2048xf8E4M3FN>,
        tensor<?x16x32x4x4xf8E8M0FNU>, tensor<16x?x32x4x4xf8E8M0FNU>) {
  %y, %r = lpfa.rms_norm %x weight %w epsilon(1.0e-6)
      : tensor<?x2048xbf16>, tensor<2048xf32>
      -> tensor<?x2048xbf16>, tensor<?xf32>
  %q, %s = lpfa.quantize %y axis(1) square
      : tensor<?x2048xbf16> -> tensor<?x2048xf8E4M3FN>, tensor<?x64xf8E8M0FNU>
  %p, %t = lpfa.quantize %y axis(0) square
      : tensor<?x2048xbf16> -> tensor<?x2048xf8E4M3FN>, tensor<?x2048xf8E8M0FNU>
  %b = lpfa.pack_scales %s
      : tensor<?x64xf8E8M0FNU> -> tensor<?x16x32x4x4xf8E8M0FNU>
  %c = lpfa.pack_scales %t transposed
      : tensor<?x2048xf8E8M0FNU> -> tensor<16x?x32x4x4xf8E8M0FNU>
  return %r, %q, %b, %c : tensor<?xf32>, tensor<?x2048xf8E4M3FN>,
      tensor<?x16x32x4x4xf8E8M0FNU>, tensor<16x?x32x4x4xf8E8M0FNU>
}

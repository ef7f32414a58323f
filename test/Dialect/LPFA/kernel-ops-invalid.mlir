// RUN: lpfa-opt %s -split-input-file -verify-diagnostics

// One test for each numbered constraint of kernels, roles and their ops.

// expected-error @below {{expected a stage: 'tile', 'roles', 'placed' or 'synchronized'}}
lpfa.kernel @stage stage(late) () {}

// -----

lpfa.kernel @kernel_c1 stage(tile) () {
  // expected-error @below {{may not stand at the tile stage (C1)}}
  %c = lpfa.channel "K" stages(1) : !lpfa.channel<128xf32 shared>
}

// -----

lpfa.kernel @kernel_c2 stage(roles) threads(128) () {
  lpfa.role "all" warps(4 from 0) registers(128) {
  }
  // expected-error @below {{must stand in a role from the roles stage on (C2)}}
  %t = lpfa.splat 0.0 : !lpfa.tile<128xf32>
}

// -----

lpfa.kernel @kernel_c3 stage(placed) threads(128) tensor_columns(512) shared_bytes(0) () {
  lpfa.role "all" warps(4 from 0) registers(128) {
  }
  // expected-error @below {{must have a place from the placed stage on (C3)}}
  %O = lpfa.accumulator "O" owner("all") : !lpfa.buffer<128x128xf32, tensor>
}

// -----

lpfa.kernel @kernel_c3_early stage(roles) threads(128) () {
  lpfa.role "all" warps(4 from 0) registers(128) {
  }
  // expected-error @below {{may not have a place before the placed stage (C3)}}
  %O = lpfa.accumulator "O" owner("all") at <tensor, 0, 128> : !lpfa.buffer<128x128xf32, tensor>
}

// -----

lpfa.kernel @kernel_c3_outside stage(placed) threads(128) tensor_columns(64) shared_bytes(0) () {
  lpfa.role "all" warps(4 from 0) registers(128) {
  }
  // expected-error @below {{lies outside what the kernel allocates (C3)}}
  %O = lpfa.accumulator "O" owner("all") at <tensor, 0, 128> : !lpfa.buffer<128x128xf32, tensor>
}

// -----

lpfa.kernel @kernel_c4 stage(synchronized) threads(128) shared_bytes(512) () {
  %c = lpfa.channel "K" stages(1) at [#lpfa.place<shared, 0, 512>] : !lpfa.channel<128xf32 shared>
  lpfa.role "all" warps(4 from 0) registers(128) {
    // expected-error @below {{may not stand at the synchronized stage (C4)}}
    %b = lpfa.get %c : !lpfa.channel<128xf32 shared>
  }
}

// -----

lpfa.kernel @kernel_c4_early stage(roles) threads(128) () {
  lpfa.role "all" warps(4 from 0) registers(128) {
  }
  // expected-error @below {{must wait for the synchronized stage (C4)}}
  %b = lpfa.barrier "K.full" stages(1) arrivals(1) : !lpfa.barrier
}

// -----

// expected-error @below {{argument 0 must be a view or an index (C5)}}
lpfa.kernel @kernel_c5 stage(tile) (%x: f32) {}

// -----

lpfa.kernel @kernel_c6_gap stage(roles) threads(256) () {
  // expected-error @below {{must start at warp 0, where the roles before it end (C6)}}
  lpfa.role "all" warps(4 from 4) registers(128) {
  }
}

// -----

// expected-error @below {{must have threads for 4 warps, rounded up to warpgroups (C6)}}
lpfa.kernel @kernel_c6_threads stage(roles) threads(256) () {
  lpfa.role "all" warps(4 from 0) registers(128) {
  }
}

// -----

// expected-error @below {{has roles with 98304 registers, more than 65536 (C6)}}
lpfa.kernel @kernel_c6_registers stage(roles) threads(384) () {
  lpfa.role "a" warps(4 from 0) registers(256) {
  }
  lpfa.role "b" warps(4 from 4) registers(256) {
  }
  lpfa.role "c" warps(4 from 8) registers(256) {
  }
}

// -----

func.func @launch_c1(%n: index, %x: tensor<?xf32>) -> tensor<?xf32> {
  // expected-error @below {{refers to an unknown kernel @nothing (C1)}}
  %0 = lpfa.launch @nothing grid(%n) outs(%x : tensor<?xf32>) -> tensor<?xf32>
  return %0 : tensor<?xf32>
}

// -----

lpfa.kernel @k stage(tile) (%x: !lpfa.view<?xf16>) {}
func.func @launch_c2(%n: index, %x: tensor<?xf32>) -> tensor<?xf32> {
  // expected-error @below {{operand 0 of type 'tensor<?xf32>' does not go with the kernel's '!lpfa.view<?xf16>' (C2)}}
  %0 = lpfa.launch @k grid(%n) outs(%x : tensor<?xf32>) -> tensor<?xf32>
  return %0 : tensor<?xf32>
}

// -----

lpfa.kernel @k stage(tile) (%x: !lpfa.view<?xf32>) {}
func.func @launch_c3(%n: index, %x: tensor<?xf32>) -> tensor<4xf32> {
  // expected-error @below {{must return its destinations' types (C3)}}
  %0 = lpfa.launch @k grid(%n) outs(%x : tensor<?xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

lpfa.kernel @dim_c1 stage(tile) (%x: !lpfa.view<?xf32>) {
  // expected-error @below {{dimension 1 is not one of the view's (C1)}}
  %d = lpfa.dim %x, 1 : !lpfa.view<?xf32>
}

// -----

lpfa.kernel @steps_c1 stage(tile) (%n: index) {
  // expected-error @below {{range must yield two indices (C1)}}
  lpfa.for_steps (%i) in (%n) range {
    lpfa.yield %i : index
  } do {
  }
}

// -----

lpfa.kernel @steps_c2 stage(tile) (%n: index) {
  lpfa.for_steps (%i) in (%n) range {
    lpfa.yield %i, %i : index, index
  } do {
    // expected-error @below {{must stand in an lpfa.at (C2)}}
    %c = arith.constant 0 : index
  }
}

// -----

lpfa.kernel @steps_c3_order stage(tile) (%n: index) {
  lpfa.for_steps (%i) in (%n) range {
    lpfa.yield %i, %i : index, index
  } do {
    lpfa.at shift(0) (%a, %b, %c) {
    }
    // expected-error @below {{of a prologue must come first, with the largest of several shifts (C3)}}
    lpfa.at shift(1) prologue (%a, %b, %c) {
    }
  }
}

// -----

lpfa.kernel @steps_c3_smaller stage(tile) (%n: index) {
  lpfa.for_steps (%i) in (%n) range {
    lpfa.yield %i, %i : index, index
  } do {
    // expected-error @below {{of a prologue must come first, with the largest of several shifts (C3)}}
    lpfa.at shift(1) prologue (%a, %b, %c) {
    }
    lpfa.at shift(2) (%a, %b, %c) {
    }
  }
}

// -----

lpfa.kernel @steps_c3_alone stage(tile) (%n: index) {
  lpfa.for_steps (%i) in (%n) range {
    lpfa.yield %i, %i : index, index
  } do {
    // expected-error @below {{of a prologue must come first, with the largest of several shifts (C3)}}
    lpfa.at shift(1) prologue (%a, %b, %c) {
    }
    lpfa.at shift(1) (%a, %b, %c) {
    }
  }
}

// -----

lpfa.kernel @at_c1 stage(tile) (%n: index) {
  lpfa.for_steps (%i) in (%n) range {
    lpfa.yield %i, %i : index, index
  } do {
    // expected-error @below {{shift must be 0 to 3 (C1)}}
    lpfa.at shift(4) (%a, %b, %c) {
    }
  }
}

// -----

lpfa.kernel @key_range_c1 stage(tile) (%n: index) {
  // expected-error @below {{count and tile must be positive (C1)}}
  %a, %b = lpfa.key_range %n count(0) rows(%n) keys(%n) tile(128) #lpfa.mask<none>
}

// -----

lpfa.kernel @load_c1 stage(tile) (%x: !lpfa.view<?x?xf32>, %i: index) {
  // expected-error @below {{must have an index for each dimension of '!lpfa.view<?x?xf32>' (C1)}}
  %t = lpfa.load %x[%i] : !lpfa.view<?x?xf32> -> !lpfa.tile<8x8xf32>
}

// -----

lpfa.kernel @load_c2 stage(tile) (%x: !lpfa.view<?x?xf32>, %i: index) {
  // expected-error @below {{which is no piece of '!lpfa.view<?x?xf32>' (C2)}}
  %t = lpfa.load %x[%i, %i] : !lpfa.view<?x?xf32> -> !lpfa.tile<8x8xf16>
}

// -----

lpfa.kernel @load_c3 stage(tile) (%x: !lpfa.view<?xf32>, %i: index) {
  // expected-error @below {{can leave out rows of matrices only, not of '!lpfa.tile<8xf32>' (C3)}}
  %t = lpfa.load %x[%i] rows(%i) : !lpfa.view<?xf32> -> !lpfa.tile<8xf32>
}

// -----

lpfa.kernel @store_c3 stage(tile) (%x: !lpfa.view<?xf32>, %i: index) {
  %t = lpfa.load %x[%i] : !lpfa.view<?xf32> -> !lpfa.tile<8xf32>
  // expected-error @below {{can leave out rows of matrices only, not of '!lpfa.tile<8xf32>' (C3)}}
  lpfa.store %t -> %x[%i] rows(%i) : !lpfa.tile<8xf32>, !lpfa.view<?xf32>
}

// -----

lpfa.kernel @sequence_tile_c1 stage(tile) (%o: !lpfa.view<?xf32>, %i: index) {
  // expected-error @below {{must have offsets in an i32 view of one dimension, not in '!lpfa.view<?xf32>' (C1)}}
  %r, %n = lpfa.sequence_tile %i of %o size(128) group(1) within(%i, %i) : !lpfa.view<?xf32>
}

// -----

lpfa.kernel @sequence_tile_c2 stage(tile) (%o: !lpfa.view<?xi32>, %i: index) {
  // expected-error @below {{attribute 'size' failed to satisfy constraint: 64-bit signless integer attribute whose value is positive}}
  %r, %n = lpfa.sequence_tile %i of %o size(0) group(1) within(%i, %i) : !lpfa.view<?xi32>
}

// -----

lpfa.kernel @crop_c1 stage(tile) (%x: !lpfa.view<?x?xbf16>, %i: index) {
  %t = lpfa.load %x[%i, %i] : !lpfa.view<?x?xbf16> -> !lpfa.tile<8x8xbf16>
  // expected-error @below {{must crop an f32 matrix, not '!lpfa.tile<8x8xbf16>' (C1)}}
  %y = lpfa.crop %t to(%i, %i) : !lpfa.tile<8x8xbf16>
}

// -----

lpfa.kernel @load_c4 stage(tile) (%x: !lpfa.view<?x?xf32>, %i: index) {
  // expected-error @+1 {{'lpfa.load' op can be ahead of a work tile only, and with all rows (C4)}}
  %t = lpfa.load %x[%i, %i] ahead : !lpfa.view<?x?xf32> -> !lpfa.tile<8x8xf32>
}

// -----

lpfa.kernel @pack_atom_c1 stage(tile) (%x: !lpfa.view<?x?xf8E8M0FNU>, %i: index) {
  %t = lpfa.load %x[%i, %i] : !lpfa.view<?x?xf8E8M0FNU> -> !lpfa.tile<64x4xf8E8M0FNU>
  // expected-error @below {{must have 128x4 scales, or 4x128 transposed, for each atom (C1)}}
  %a = lpfa.pack_atom %t : !lpfa.tile<64x4xf8E8M0FNU> -> !lpfa.tile<32x4x4xf8E8M0FNU>
}

// -----

lpfa.kernel @pack_parts_c1 stage(tile) (%x: !lpfa.view<?x?xf8E8M0FNU>, %i: index) {
  %t = lpfa.load %x[%i, %i] : !lpfa.view<?x?xf8E8M0FNU> -> !lpfa.tile<3x256xf8E8M0FNU>
  // expected-error @+1 {{'lpfa.pack_atom' op must have 128x4 scales, or 4x128 transposed, for each atom (C1)}}
  %a = lpfa.pack_atom %t transposed : !lpfa.tile<3x256xf8E8M0FNU> -> !lpfa.tile<2x1x32x4x3xf8E8M0FNU>
}

// -----

lpfa.kernel @unpack_atom_c1 stage(tile) (%x: !lpfa.view<?x32x4x4xf8E8M0FNU>, %i: index) {
  %t = lpfa.load %x[%i, %i, %i, %i] : !lpfa.view<?x32x4x4xf8E8M0FNU> -> !lpfa.tile<32x4x4xf8E8M0FNU>
  // expected-error @below {{must have 128x4 scales, or 4x128 transposed, for each atom (C1)}}
  %s = lpfa.unpack_atom %t transposed : !lpfa.tile<32x4x4xf8E8M0FNU> -> !lpfa.tile<128x4xf8E8M0FNU>
}

// -----

lpfa.kernel @quantize_tile_c1 stage(tile) (%x: !lpfa.view<?x?xf32>, %i: index) {
  %t = lpfa.load %x[%i, %i] : !lpfa.view<?x?xf32> -> !lpfa.tile<32x32xf32>
  // expected-error @below {{must quantize an f32, bf16 or f16 tile of one or two dimensions along one of them (C1)}}
  %q, %s = lpfa.quantize_tile %t axis(2) : !lpfa.tile<32x32xf32> -> !lpfa.tile<32x32xf8E4M3FN>, !lpfa.tile<32x1xf8E8M0FNU>
}

// -----

lpfa.kernel @quantize_tile_c2 stage(tile) (%x: !lpfa.view<?x?xf32>, %i: index) {
  %t = lpfa.load %x[%i, %i] : !lpfa.view<?x?xf32> -> !lpfa.tile<32x32xf32>
  // expected-error @below {{must have MX elements of the tile's shape (C2)}}
  %q, %s = lpfa.quantize_tile %t axis(1) : !lpfa.tile<32x32xf32> -> !lpfa.tile<32x64xf8E4M3FN>, !lpfa.tile<32x1xf8E8M0FNU>
}

// -----

lpfa.kernel @quantize_tile_c2 stage(tile) (%x: !lpfa.view<?x?xf32>, %i: index) {
  %t = lpfa.load %x[%i, %i] : !lpfa.view<?x?xf32> -> !lpfa.tile<32x48xf32>
  // expected-error @below {{must have one scale for each 32 elements of '!lpfa.tile<32x48xf32>' along axis 1 (C2)}}
  %q, %s = lpfa.quantize_tile %t axis(1) : !lpfa.tile<32x48xf32> -> !lpfa.tile<32x48xf8E4M3FN>, !lpfa.tile<32x1xf8E8M0FNU>
}

// -----

lpfa.kernel @quantize_tile_c3 stage(tile) (%x: !lpfa.view<?x?xf32>, %i: index) {
  %t = lpfa.load %x[%i, %i] : !lpfa.view<?x?xf32> -> !lpfa.tile<16x32xf32>
  // expected-error @below {{must have whole squares of 32x32 elements and scales of f8E8M0FNU (C3)}}
  %q, %s = lpfa.quantize_tile %t axis(1) square : !lpfa.tile<16x32xf32> -> !lpfa.tile<16x32xf8E4M3FN>, !lpfa.tile<16x1xf8E8M0FNU>
}

// -----

lpfa.kernel @quantize_tile_c4 stage(tile) (%x: !lpfa.view<?x?xf32>, %i: index) {
  %t = lpfa.load %x[%i, %i] : !lpfa.view<?x?xf32> -> !lpfa.tile<32x32xf32>
  // expected-error @below {{must have f4E2M1FN elements and one f32 global scale with f8E4M3FN scales, and no global scale with others (C4)}}
  %q, %s = lpfa.quantize_tile %t axis(1) : !lpfa.tile<32x32xf32> -> !lpfa.tile<32x32xf4E2M1FN>, !lpfa.tile<32x2xf8E4M3FN>
}

// -----

lpfa.kernel @sum_squares_tile_c1 stage(tile) (%x: !lpfa.view<?x?xf32>, %i: index) {
  %t = lpfa.load %x[%i, %i] : !lpfa.view<?x?xf32> -> !lpfa.tile<8x256xf32>
  %s = lpfa.splat 0.0 : !lpfa.tile<8x512xf32>
  // expected-error @below {{must add the squares of an f32, bf16 or f16 matrix to 1,024 f32 for each row (C1)}}
  %r = lpfa.sum_squares_tile %t into %s : !lpfa.tile<8x256xf32>, !lpfa.tile<8x512xf32>
}

// -----

lpfa.kernel @rstd_tile_c1 stage(tile) (%i: index) {
  %s = lpfa.splat 0.0 : !lpfa.tile<8x1024xf32>
  // expected-error @below {{must make an f32 for each row of 1,024 f32 (C1)}}
  %r = lpfa.rstd_tile %s count(%i) epsilon(1.0e-6) : !lpfa.tile<8x1024xf32> -> !lpfa.tile<4xf32>
}

// -----

lpfa.kernel @rms_norm_tile_c1 stage(tile) (%x: !lpfa.view<?x?xf32>, %w: !lpfa.view<?xf32>, %i: index) {
  %t = lpfa.load %x[%i, %i] : !lpfa.view<?x?xf32> -> !lpfa.tile<8x256xf32>
  %v = lpfa.load %w[%i] : !lpfa.view<?xf32> -> !lpfa.tile<256xf32>
  %r = lpfa.splat 1.0 : !lpfa.tile<8xf32>
  // expected-error @below {{must normalize an f32, bf16 or f16 matrix and give one of its shape (C1)}}
  %y = lpfa.rms_norm_tile %t rstd %r weight %v : !lpfa.tile<8x256xf32>, !lpfa.tile<8xf32>, !lpfa.tile<256xf32> -> !lpfa.tile<8x128xf32>
}

// -----

lpfa.kernel @rms_norm_tile_c2 stage(tile) (%x: !lpfa.view<?x?xf32>, %w: !lpfa.view<?xf32>, %i: index) {
  %t = lpfa.load %x[%i, %i] : !lpfa.view<?x?xf32> -> !lpfa.tile<8x256xf32>
  %v = lpfa.load %w[%i] : !lpfa.view<?xf32> -> !lpfa.tile<128xf32>
  %r = lpfa.splat 1.0 : !lpfa.tile<8xf32>
  // expected-error @below {{must have an f32, bf16 or f16 weight for each column and an f32 factor for each row (C2)}}
  %y = lpfa.rms_norm_tile %t rstd %r weight %v : !lpfa.tile<8x256xf32>, !lpfa.tile<8xf32>, !lpfa.tile<128xf32> -> !lpfa.tile<8x256xbf16>
}

// -----

lpfa.kernel @sum_products_tile_c1 stage(tile) (%x: !lpfa.view<?x?xf32>, %i: index) {
  %t = lpfa.load %x[%i, %i] : !lpfa.view<?x?xf32> -> !lpfa.tile<8x256xf32>
  %u = lpfa.load %x[%i, %i] : !lpfa.view<?x?xf32> -> !lpfa.tile<8x128xf32>
  %w = lpfa.splat 1.0 : !lpfa.tile<256xf32>
  %r = lpfa.splat 1.0 : !lpfa.tile<8xf32>
  %s = lpfa.splat 0.0 : !lpfa.tile<8x1024xf32>
  // expected-error @below {{must have f32, bf16 or f16 matrices of one shape (C1)}}
  %p = lpfa.sum_products_tile %u, %t rstd %r weight %w into %s : !lpfa.tile<8x128xf32>, !lpfa.tile<8x256xf32>, !lpfa.tile<8xf32>, !lpfa.tile<256xf32>, !lpfa.tile<8x1024xf32>
}

// -----

lpfa.kernel @sum_products_tile_c2 stage(tile) (%x: !lpfa.view<?x?xf32>, %i: index) {
  %t = lpfa.load %x[%i, %i] : !lpfa.view<?x?xf32> -> !lpfa.tile<8x256xf32>
  %w = lpfa.splat 1.0 : !lpfa.tile<128xf32>
  %r = lpfa.splat 1.0 : !lpfa.tile<8xf32>
  %s = lpfa.splat 0.0 : !lpfa.tile<8x1024xf32>
  // expected-error @below {{must have an f32, bf16 or f16 weight for each column, and an f32 factor and 1,024 f32 for each row (C2)}}
  %p = lpfa.sum_products_tile %t, %t rstd %r weight %w into %s : !lpfa.tile<8x256xf32>, !lpfa.tile<8x256xf32>, !lpfa.tile<8xf32>, !lpfa.tile<128xf32>, !lpfa.tile<8x1024xf32>
}

// -----

lpfa.kernel @weight_gradient_tile_c1 stage(tile) (%x: !lpfa.view<?xf32>, %i: index) {
  %t = lpfa.load %x[%i] : !lpfa.view<?xf32> -> !lpfa.tile<256xf32>
  %r = lpfa.splat 1.0 : !lpfa.tile<8xf32>
  %s = lpfa.splat 0.0 : !lpfa.tile<8x256xf32>
  // expected-error @below {{must have f32, bf16 or f16 matrices of one shape (C1)}}
  %p = lpfa.weight_gradient_tile %t, %t rstd %r into %s : !lpfa.tile<256xf32>, !lpfa.tile<256xf32>, !lpfa.tile<8xf32>, !lpfa.tile<8x256xf32>
}

// -----

lpfa.kernel @weight_gradient_tile_c2 stage(tile) (%x: !lpfa.view<?x?xf32>, %i: index) {
  %t = lpfa.load %x[%i, %i] : !lpfa.view<?x?xf32> -> !lpfa.tile<8x256xf32>
  %r = lpfa.splat 1.0 : !lpfa.tile<8xf32>
  %s = lpfa.splat 0.0 : !lpfa.tile<1x256xf32>
  // expected-error @below {{must have an f32 factor for each row and an f32 for each element (C2)}}
  %p = lpfa.weight_gradient_tile %t, %t rstd %r into %s : !lpfa.tile<8x256xf32>, !lpfa.tile<8x256xf32>, !lpfa.tile<8xf32>, !lpfa.tile<1x256xf32>
}

// -----

lpfa.kernel @mean_tile_c1 stage(tile) (%i: index) {
  %s = lpfa.splat 0.0 : !lpfa.tile<8x512xf32>
  // expected-error @below {{must make an f32 for each row of 1,024 f32 (C1)}}
  %c = lpfa.mean_tile %s count(%i) : !lpfa.tile<8x512xf32> -> !lpfa.tile<8xf32>
}

// -----

lpfa.kernel @rms_norm_backward_tile_c1 stage(tile) (%x: !lpfa.view<?x?xf32>, %i: index) {
  %t = lpfa.load %x[%i, %i] : !lpfa.view<?x?xf32> -> !lpfa.tile<8x256xf32>
  %w = lpfa.splat 1.0 : !lpfa.tile<256xf32>
  %r = lpfa.splat 1.0 : !lpfa.tile<8xf32>
  // expected-error @below {{must have f32, bf16 or f16 matrices of one shape (C1)}}
  %d = lpfa.rms_norm_backward_tile %t, %t rstd %r mean %r weight %w : !lpfa.tile<8x256xf32>, !lpfa.tile<8x256xf32>, !lpfa.tile<8xf32>, !lpfa.tile<256xf32> -> !lpfa.tile<8x128xf32>
}

// -----

lpfa.kernel @rms_norm_backward_tile_c2 stage(tile) (%x: !lpfa.view<?x?xf32>, %i: index) {
  %t = lpfa.load %x[%i, %i] : !lpfa.view<?x?xf32> -> !lpfa.tile<8x256xf32>
  %w = lpfa.splat 1.0 : !lpfa.tile<256xf32>
  %r = lpfa.splat 1.0 : !lpfa.tile<4xf32>
  // expected-error @below {{must have an f32, bf16 or f16 weight for each column and f32 factors for each row (C2)}}
  %d = lpfa.rms_norm_backward_tile %t, %t rstd %r mean %r weight %w : !lpfa.tile<8x256xf32>, !lpfa.tile<8x256xf32>, !lpfa.tile<4xf32>, !lpfa.tile<256xf32> -> !lpfa.tile<8x256xbf16>
}

// -----

lpfa.kernel @add_tile_c1 stage(tile) () {
  %a = lpfa.splat 1.0 : !lpfa.tile<256xf32>
  // expected-error @below {{must add f32 matrices, not '!lpfa.tile<256xf32>' (C1)}}
  %b = lpfa.add_tile %a, %a : !lpfa.tile<256xf32>
}

// -----

lpfa.kernel @sum_columns_tile_c1 stage(tile) () {
  %a = lpfa.splat 1.0 : !lpfa.tile<128x32xf32>
  // expected-error @below {{must have 256 f32 rows and an f32, bf16 or f16 for each column (C1)}}
  %b = lpfa.sum_columns_tile %a : !lpfa.tile<128x32xf32> -> !lpfa.tile<32xf32>
}

// -----

lpfa.kernel @dequantize_tile_c1 stage(tile) (%x: !lpfa.view<?x?xf8E5M2>, %y: !lpfa.view<?x?xf8E8M0FNU>, %i: index) {
  %q = lpfa.load %x[%i, %i] : !lpfa.view<?x?xf8E5M2> -> !lpfa.tile<32x32xf8E5M2>
  %s = lpfa.load %y[%i, %i] : !lpfa.view<?x?xf8E8M0FNU> -> !lpfa.tile<32x1xf8E8M0FNU>
  // expected-error @below {{must dequantize an MX tile of one or two dimensions along one of them (C1)}}
  %t = lpfa.dequantize_tile %q scaled %s axis(2) : !lpfa.tile<32x32xf8E5M2>, !lpfa.tile<32x1xf8E8M0FNU> -> !lpfa.tile<32x32xf32>
}

// -----

lpfa.kernel @dequantize_tile_c2 stage(tile) (%x: !lpfa.view<?x?xf8E5M2>, %y: !lpfa.view<?x?xf8E8M0FNU>, %i: index) {
  %q = lpfa.load %x[%i, %i] : !lpfa.view<?x?xf8E5M2> -> !lpfa.tile<32x32xf8E5M2>
  %s = lpfa.load %y[%i, %i] : !lpfa.view<?x?xf8E8M0FNU> -> !lpfa.tile<32x1xf8E8M0FNU>
  // expected-error @below {{must give an f32, bf16 or f16 tile of the elements' shape (C2)}}
  %t = lpfa.dequantize_tile %q scaled %s axis(1) : !lpfa.tile<32x32xf8E5M2>, !lpfa.tile<32x1xf8E8M0FNU> -> !lpfa.tile<32x64xf32>
}

// -----

lpfa.kernel @dequantize_tile_c2 stage(tile) (%x: !lpfa.view<?x?xf8E5M2>, %y: !lpfa.view<?x?xf8E8M0FNU>, %i: index) {
  %q = lpfa.load %x[%i, %i] : !lpfa.view<?x?xf8E5M2> -> !lpfa.tile<32x32xf8E5M2>
  %s = lpfa.load %y[%i, %i] : !lpfa.view<?x?xf8E8M0FNU> -> !lpfa.tile<32x2xf8E8M0FNU>
  // expected-error @below {{must have one scale for each 32 elements of '!lpfa.tile<32x32xf8E5M2>' along axis 1 (C2)}}
  %t = lpfa.dequantize_tile %q scaled %s axis(1) : !lpfa.tile<32x32xf8E5M2>, !lpfa.tile<32x2xf8E8M0FNU> -> !lpfa.tile<32x32xf32>
}

// -----

lpfa.kernel @dequantize_tile_c3 stage(tile) (%x: !lpfa.view<?x?xf8E5M2>, %y: !lpfa.view<?x?xf8E4M3FN>, %g: !lpfa.view<f32>, %i: index) {
  %q = lpfa.load %x[%i, %i] : !lpfa.view<?x?xf8E5M2> -> !lpfa.tile<32x32xf8E5M2>
  %s = lpfa.load %y[%i, %i] : !lpfa.view<?x?xf8E4M3FN> -> !lpfa.tile<32x2xf8E4M3FN>
  %f = lpfa.load %g[] : !lpfa.view<f32> -> !lpfa.tile<f32>
  // expected-error @below {{must have f4E2M1FN elements and one f32 global scale with f8E4M3FN scales, and no global scale with others (C3)}}
  %t = lpfa.dequantize_tile %q scaled %s axis(1) global(%f : !lpfa.tile<f32>) : !lpfa.tile<32x32xf8E5M2>, !lpfa.tile<32x2xf8E4M3FN> -> !lpfa.tile<32x32xf32>
}

// -----

lpfa.kernel @role_c1 stage(roles) threads(128) () {
  // expected-error @below {{must have four warps from a multiple of four, or be elected (C1)}}
  lpfa.role "few" warps(2 from 0) registers(128) {
  }
}

// -----

lpfa.kernel @role_c2 stage(roles) threads(128) () {
  // expected-error @below {{registers must be a multiple of 8 from 24 to 256 (C2)}}
  lpfa.role "all" warps(4 from 0) registers(100) {
  }
}

// -----

lpfa.kernel @role_c3 stage(roles) threads(128) () {
  // expected-note @below {{another role}}
  lpfa.role "a" warps(1 from 0) registers(48) elected {
  }
  // expected-error @below {{must have the registers of the other roles of its warpgroup (C3)}}
  lpfa.role "b" warps(1 from 1) registers(56) elected {
  }
}

// -----

lpfa.kernel @channel_c1 stage(roles) threads(128) () {
  // expected-error @below {{stages must be positive (C1)}}
  %c = lpfa.channel "K" stages(0) : !lpfa.channel<128xf32 shared>
}

// -----

lpfa.kernel @channel_c2 stage(placed) threads(128) shared_bytes(512) () {
  // expected-error @below {{place must have 512 of shared memory (C2)}}
  %c = lpfa.channel "K" stages(1) at [#lpfa.place<shared, 0, 256>] : !lpfa.channel<128xf32 shared>
}

// -----

lpfa.kernel @channel_c3 stage(roles) threads(128) () {
  // expected-error @below {{may not be read by the role that writes it (C3)}}
  %c = lpfa.channel "K" stages(1) : !lpfa.channel<128xf32 shared>
  lpfa.role "all" warps(4 from 0) registers(128) {
    %a = lpfa.acquire %c : !lpfa.channel<128xf32 shared>
    lpfa.put %c : !lpfa.channel<128xf32 shared>
    %b = lpfa.get %c : !lpfa.channel<128xf32 shared>
    lpfa.release %c : !lpfa.channel<128xf32 shared>
  }
}

// -----

// expected-error @below {{sizes must be static and positive (C1)}}
func.func private @tile_c1() -> !lpfa.tile<?xf32>

// -----

// expected-error @below {{offset must not be negative and size must be positive (C1)}}
func.func private @place_c1() attributes {p = #lpfa.place<tensor, 0, 0>}

// -----

// expected-error @below {{distance must be 0 or not less than size (C1)}}
func.func private @place_c1_distance() attributes {p = #lpfa.place<tensor, 0, 16, -8>}

// -----

lpfa.kernel @place_before_memory stage(placed) threads(128) tensor_columns(128) () {
  // expected-error @below {{lies outside what the kernel allocates (C3)}}
  %s = lpfa.scratch "s" stages(2) at <tensor, 32, 4, -64> : !lpfa.buffer<32x4x4xf8E8M0FNU, tensor>
  lpfa.role "all" warps(4 from 0) registers(128) {
  }
}

// -----

lpfa.kernel @scratch_c2 stage(roles) threads(128) () {
  // expected-error @below {{stages must be positive (C2)}}
  %s = lpfa.scratch "s" stages(0) : !lpfa.buffer<32x4x4xf8E8M0FNU, tensor>
}

// -----

lpfa.kernel @scratch_c2_uses stage(roles) threads(128) () {
  // expected-error @below {{with several stages must be written by copies and read by products only (C2)}}
  %s = lpfa.scratch "s" stages(2) : !lpfa.buffer<128x128xf32, tensor>
  lpfa.role "all" warps(4 from 0) registers(128) {
    %x = lpfa.read %s : !lpfa.buffer<128x128xf32, tensor> -> !lpfa.tile<128x128xf32>
  }
}

// -----

lpfa.kernel @load_async_c1 stage(roles) threads(128) (%x: !lpfa.view<?xf32>, %i: index) {
  %b = lpfa.scratch "b" : !lpfa.buffer<128xf32, tensor>
  lpfa.role "load" warps(1 from 0) registers(48) elected {
    // expected-error @below {{must load to shared memory (C1)}}
    lpfa.load_async %x[%i] -> %b : !lpfa.view<?xf32>, !lpfa.buffer<128xf32, tensor>
  }
}

// -----

lpfa.kernel @copy_scales_c1 stage(roles) threads(128) () {
  %a = lpfa.scratch "a" : !lpfa.buffer<32x4x4xf8E8M0FNU, shared>
  lpfa.role "mma" warps(1 from 0) registers(48) elected {
    // expected-error @below {{must copy an atom of scales from shared to tensor memory (C1)}}
    lpfa.copy_scales %a -> %a : !lpfa.buffer<32x4x4xf8E8M0FNU, shared>, !lpfa.buffer<32x4x4xf8E8M0FNU, shared>
  }
}

// -----

lpfa.kernel @copy_tile_c1 stage(roles) threads(128) () {
  %a = lpfa.scratch "a" : !lpfa.buffer<128x48xf8E4M3FN, shared>
  %b = lpfa.scratch "b" : !lpfa.buffer<128x48xf8E4M3FN, tensor>
  lpfa.role "mma" warps(1 from 0) registers(48) elected {
    // expected-error @below {{must copy 128 rows with a multiple of 32 bytes from shared to tensor memory (C1)}}
    lpfa.copy_tile %a -> %b : !lpfa.buffer<128x48xf8E4M3FN, shared>, !lpfa.buffer<128x48xf8E4M3FN, tensor>
  }
}

// -----

lpfa.kernel @mma_c1 stage(roles) threads(128) () {
  %a = lpfa.scratch "a" : !lpfa.buffer<128x128xf8E4M3FN, shared>
  %b = lpfa.scratch "b" : !lpfa.buffer<64x128xf8E4M3FN, shared>
  %s = lpfa.scratch "s" : !lpfa.buffer<32x4x4xf8E8M0FNU, tensor>
  %d = lpfa.scratch "d" : !lpfa.buffer<128x128xf32, tensor>
  lpfa.role "mma" warps(1 from 0) registers(48) elected {
    // expected-error @below {{shapes must agree, with the inner size a multiple of 32 and an f32 result (C1)}}
    lpfa.mma %a, %b scaled %s, %s into %d : !lpfa.buffer<128x128xf8E4M3FN, shared>, !lpfa.buffer<64x128xf8E4M3FN, shared>, !lpfa.buffer<128x128xf32, tensor>
  }
}

// -----

lpfa.kernel @mma_c2 stage(roles) threads(128) () {
  %a = lpfa.scratch "a" : !lpfa.buffer<128x64xf8E4M3FN, tensor>
  %b = lpfa.scratch "b" : !lpfa.buffer<128x128xf8E4M3FN, shared>
  %s = lpfa.scratch "s" : !lpfa.buffer<32x4x4xf8E8M0FNU, tensor>
  %d = lpfa.scratch "d" : !lpfa.buffer<128x128xf32, tensor>
  lpfa.role "mma" warps(1 from 0) registers(48) elected {
    // expected-error @below {{must have a part that lies in the depth of b, a multiple of that of a (C2)}}
    lpfa.mma %a, %b scaled %s, %s into %d part(2) : !lpfa.buffer<128x64xf8E4M3FN, tensor>, !lpfa.buffer<128x128xf8E4M3FN, shared>, !lpfa.buffer<128x128xf32, tensor>
  }
}

// -----

lpfa.kernel @read_c1 stage(roles) threads(128) () {
  %a = lpfa.scratch "a" : !lpfa.buffer<128xf32, shared>
  lpfa.role "all" warps(4 from 0) registers(48) {
    // expected-error @below {{tile must have the buffer's shape and element type (C1)}}
    %t = lpfa.read %a : !lpfa.buffer<128xf32, shared> -> !lpfa.tile<64xf32>
  }
}

// -----

lpfa.kernel @slice_c1 stage(roles) threads(128) () {
  %a = lpfa.scratch "a" : !lpfa.buffer<128x128xf32, tensor>
  lpfa.role "all" warps(4 from 0) registers(48) {
    // expected-error @below {{must be columns of the buffer, in tensor memory (C1)}}
    %s = lpfa.slice %a[96] : !lpfa.buffer<128x128xf32, tensor> to !lpfa.buffer<128x64xf32, tensor>
  }
}

// -----

lpfa.kernel @wait_c1 stage(synchronized) threads(128) () {
  %b = lpfa.barrier "b" stages(3) arrivals(1) : !lpfa.barrier
  lpfa.role "all" warps(4 from 0) registers(48) {
    %u = lpfa.cursor stages(3) : !lpfa.cursor
    // expected-error @below {{cursor must have the barrier's stages, and back must be 1 or a multiple of them (C1)}}
    lpfa.wait %b use %u back(2) : !lpfa.barrier
  }
}

// -----

lpfa.kernel @dot_c1 stage(tile) () {
  %a = lpfa.splat 0.0 : !lpfa.tile<128x32xf32>
  %s = lpfa.splat 0.0 : !lpfa.tile<32x4x4xf8E8M0FNU>
  // expected-error @below {{shapes must agree, with the inner size a multiple of 32 and an f32 result (C1)}}
  %d = lpfa.dot %a, %a scaled %s, %s : !lpfa.tile<128x32xf32>, !lpfa.tile<128x32xf32> -> !lpfa.tile<128x128xf32>
}

// -----

lpfa.kernel @softmax_c2 stage(tile) () {
  %x = lpfa.splat 0.0 : !lpfa.tile<128x128xf32>
  %r = lpfa.splat 0.0 : !lpfa.tile<128xf32>
  // expected-error @below {{probabilities must have the scores' shape and the element type of p_scale, their scales one atom (C2)}}
  %p, %sp, %m, %l, %g, %f = lpfa.softmax_step %x, %r, %r, %r scale(1.0) <row_max> : !lpfa.tile<128x128xf32> -> !lpfa.tile<128x128xf8E5M2>
}

// -----

lpfa.kernel @softmax_maximum_c1 stage(tile) () {
  %x = lpfa.splat 0.0 : !lpfa.tile<128x48xf32>
  %r = lpfa.splat 0.0 : !lpfa.tile<128xf32>
  // expected-error @below {{scores must be f32, with a multiple of 32 and at most 128 columns (C1)}}
  %m, %g, %f = lpfa.softmax_maximum %x, %r, %r scale(1.0) <row_max> : !lpfa.tile<128x48xf32>
}

// -----

lpfa.kernel @softmax_probabilities_c1 stage(tile) () {
  %x = lpfa.splat 0.0 : !lpfa.tile<128x48xf32>
  %r = lpfa.splat 0.0 : !lpfa.tile<128xf32>
  // expected-error @below {{scores must be f32, with a multiple of 32 and at most 128 columns (C1)}}
  %p, %sp, %l = lpfa.softmax_probabilities %x, %r, %r, %r scale(1.0) <row_max> : !lpfa.tile<128x48xf32> -> !lpfa.tile<128x48xf8E4M3FN>
}

// -----

lpfa.kernel @softmax_probabilities_c2 stage(tile) () {
  %x = lpfa.splat 0.0 : !lpfa.tile<128x64xf32>
  %r = lpfa.splat 0.0 : !lpfa.tile<128xf32>
  // expected-error @below {{probabilities must have the scores' shape and the element type of p_scale, their scales one atom (C2)}}
  %p, %sp, %l = lpfa.softmax_probabilities %x, %r, %r, %r scale(1.0) <row_max> : !lpfa.tile<128x64xf32> -> !lpfa.tile<128x32xf8E4M3FN>
}

// -----

lpfa.kernel @softmax_c3_columns stage(tile) () {
  %x = lpfa.splat 0.0 : !lpfa.tile<128x128xf32>
  %r = lpfa.splat 0.0 : !lpfa.tile<128xf32>
  // expected-error @below {{computes 5 of 32 columns as polynomials, which must be an even number from 2 to 30 (C3)}}
  %p, %sp, %l = lpfa.softmax_probabilities %x, %r, %r, %r scale(1.0) <row_max> polynomial(5, 3) : !lpfa.tile<128x128xf32> -> !lpfa.tile<128x128xf8E4M3FN>
}

// -----

lpfa.kernel @softmax_c3_degree stage(tile) () {
  %x = lpfa.splat 0.0 : !lpfa.tile<128x128xf32>
  %r = lpfa.splat 0.0 : !lpfa.tile<128xf32>
  // expected-error @below {{has polynomials of degree 5, which must be 3 or 4 (C3)}}
  %p, %sp, %l = lpfa.softmax_probabilities %x, %r, %r, %r scale(1.0) <row_max> polynomial(4, 5) : !lpfa.tile<128x128xf32> -> !lpfa.tile<128x128xf8E4M3FN>
}

// -----

lpfa.kernel @softmax_probabilities_c4 stage(tile) () {
  %x = lpfa.splat 0.0 : !lpfa.tile<128x128xf32>
  %r = lpfa.splat 0.0 : !lpfa.tile<128xf32>
  // expected-error @below {{must have a part that lies in the scores' columns, a multiple of its own, these of 32 (C4)}}
  %p, %sp, %l = lpfa.softmax_probabilities %x, %r, %r, %r scale(1.0) <row_max> part(2) : !lpfa.tile<128x128xf32> -> !lpfa.tile<128x64xf8E4M3FN>
}

// -----

lpfa.kernel @softmax_probabilities_c4_columns stage(tile) () {
  %x = lpfa.splat 0.0 : !lpfa.tile<128x128xf32>
  %r = lpfa.splat 0.0 : !lpfa.tile<128xf32>
  // expected-error @below {{must have a part that lies in the scores' columns, a multiple of its own, these of 32 (C4)}}
  %p, %sp, %l = lpfa.softmax_probabilities %x, %r, %r, %r scale(1.0) <row_max> part(0) : !lpfa.tile<128x128xf32> -> !lpfa.tile<128x16xf8E4M3FN>
}

// -----

lpfa.kernel @normalize_c1 stage(tile) () {
  %x = lpfa.splat 0.0 : !lpfa.tile<128x128xf32>
  %r = lpfa.splat 0.0 : !lpfa.tile<128xf32>
  // expected-error @below {{must divide an f32 tile by one f32 a row, to f32, f16 or bf16 of the same shape (C1)}}
  %y = lpfa.normalize %x by %r : !lpfa.tile<128x128xf32> -> !lpfa.tile<128x64xbf16>
}

// -----

lpfa.kernel @accumulator_c1 stage(placed) threads(128) tensor_columns(64) () {
  // expected-error @below {{place must have 128 of tensor memory (C1)}}
  %o = lpfa.accumulator "O" owner("all") at <tensor, 0, 64> : !lpfa.buffer<128x128xf32, tensor>
}

// -----

lpfa.kernel @scratch_c1 stage(placed) threads(128) shared_bytes(512) () {
  // expected-error @below {{place must have 4 of tensor memory (C1)}}
  %s = lpfa.scratch "scales" at <shared, 0, 512> : !lpfa.buffer<32x4x4xf8E8M0FNU, tensor>
}

// -----

lpfa.kernel @store_async_c1 stage(roles) threads(128) (%x: !lpfa.view<?x?xf32>, %i: index) {
  %a = lpfa.scratch "a" : !lpfa.buffer<128x128xf32, tensor>
  lpfa.role "store" warps(1 from 0) registers(48) elected {
    // expected-error @below {{must store from shared memory (C1)}}
    lpfa.store_async %a -> %x[%i, %i] : !lpfa.buffer<128x128xf32, tensor>, !lpfa.view<?x?xf32>
  }
}

// -----

lpfa.kernel @store_async_c1_element stage(roles) threads(128) (%x: !lpfa.view<?x?xf16>, %i: index) {
  %a = lpfa.scratch "a" : !lpfa.buffer<128x32xf32, shared>
  lpfa.role "store" warps(1 from 0) registers(48) elected {
    // expected-error @below {{which is no piece of '!lpfa.view<?x?xf16>' (C1)}}
    lpfa.store_async %a -> %x[%i, %i] : !lpfa.buffer<128x32xf32, shared>, !lpfa.view<?x?xf16>
  }
}

// -----

lpfa.kernel @rescale_buffer_c1 stage(roles) threads(128) () {
  %a = lpfa.scratch "a" : !lpfa.buffer<128x128xf32, tensor>
  lpfa.role "all" warps(4 from 0) registers(128) {
    %f = lpfa.splat 1.0 : !lpfa.tile<64xf32>
    // expected-error @below {{must have an f32 buffer in tensor memory and a factor a row (C1)}}
    lpfa.rescale_buffer %a by %f : !lpfa.buffer<128x128xf32, tensor>, !lpfa.tile<64xf32>
  }
}

// -----

lpfa.kernel @slice_c1_negative stage(roles) threads(128) () {
  %a = lpfa.scratch "a" : !lpfa.buffer<128x128xf32, tensor>
  lpfa.role "all" warps(4 from 0) registers(48) {
    // expected-error @below {{must be columns of the buffer, in tensor memory (C1)}}
    %s = lpfa.slice %a[-32] : !lpfa.buffer<128x128xf32, tensor> to !lpfa.buffer<128x64xf32, tensor>
  }
}

// -----

lpfa.kernel @acquire_c1 stage(roles) threads(128) () {
  %c = lpfa.channel "K" stages(1) : !lpfa.channel<128xf32 shared>
  lpfa.role "all" warps(4 from 0) registers(128) {
    // expected-error @below {{must return the channel's buffers (C1)}}
    %a = "lpfa.acquire"(%c) : (!lpfa.channel<128xf32 shared>) -> !lpfa.buffer<64xf32, shared>
  }
}

// -----

lpfa.kernel @get_c1 stage(roles) threads(128) () {
  %c = lpfa.channel "K" stages(1) : !lpfa.channel<128xf32 shared>
  lpfa.role "all" warps(4 from 0) registers(128) {
    // expected-error @below {{must return the channel's buffers (C1)}}
    "lpfa.get"(%c) : (!lpfa.channel<128xf32 shared>) -> ()
  }
}

// -----

lpfa.kernel @slot_c1 stage(synchronized) threads(128) () {
  %c = lpfa.channel "K" stages(2) at [#lpfa.place<shared, 0, 512>] : !lpfa.channel<128xf32 shared>
  lpfa.role "all" warps(4 from 0) registers(128) {
    %u = lpfa.cursor stages(3) : !lpfa.cursor
    // expected-error @below {{cursor must have the channel's stages (C1)}}
    %a = lpfa.slot %c use %u : !lpfa.channel<128xf32 shared>
  }
}

// -----

lpfa.kernel @barrier_c1 stage(synchronized) threads(128) () {
  // expected-error @below {{stages and arrivals must be positive (C1)}}
  %b = lpfa.barrier "b" stages(1) arrivals(0) : !lpfa.barrier
}

// -----

lpfa.kernel @barrier_c2 stage(synchronized) threads(128) () {
  // expected-error @below {{is named and must have one stage (C2)}}
  %b = lpfa.barrier "b" named stages(2) arrivals(128) : !lpfa.barrier
}

// -----

lpfa.kernel @barrier_c2_elected stage(synchronized) threads(128) () {
  // expected-error @below {{is named: all threads of roles that are not elected arrive at it and wait for the use at hand (C2)}}
  %b = lpfa.barrier "b" named stages(1) arrivals(1) : !lpfa.barrier
  lpfa.role "one" warps(1 from 0) registers(48) elected {
    %u = lpfa.cursor stages(1) : !lpfa.cursor
    lpfa.arrive %b use %u : !lpfa.barrier
  }
}

// -----

lpfa.kernel @expect_bytes_c1 stage(synchronized) threads(128) () {
  %b = lpfa.barrier "b" stages(1) arrivals(1) : !lpfa.barrier
  lpfa.role "all" warps(4 from 0) registers(48) {
    %u = lpfa.cursor stages(1) : !lpfa.cursor
    // expected-error @below {{bytes must be positive (C1)}}
    lpfa.expect_bytes %b use %u bytes(0) : !lpfa.barrier
  }
}

// -----

lpfa.kernel @dot_c2 stage(tile) () {
  %a = lpfa.splat 0.0 : !lpfa.tile<128x256xf32>
  %s = lpfa.splat 0.0 : !lpfa.tile<32x4x4xf8E8M0FNU>
  // expected-error @below {{scales must be one atom each, sizes at most 128 (C2)}}
  %d = lpfa.dot %a, %a scaled %s, %s transpose_b : !lpfa.tile<128x256xf32>, !lpfa.tile<128x256xf32> -> !lpfa.tile<128x128xf32>
}

// -----

lpfa.kernel @softmax_c1 stage(tile) () {
  %x = lpfa.splat 0.0 : !lpfa.tile<128x48xf32>
  %r = lpfa.splat 0.0 : !lpfa.tile<128xf32>
  // expected-error @below {{scores must be f32, with a multiple of 32 and at most 128 columns (C1)}}
  %p, %sp, %m, %l, %g, %f = lpfa.softmax_step %x, %r, %r, %r scale(1.0) <row_max> : !lpfa.tile<128x48xf32> -> !lpfa.tile<128x48xf8E4M3FN>
}

// -----

lpfa.kernel @team_barrier_c1 stage(synchronized) threads(128) () {
  lpfa.role "r" warps(1 from 0) registers(64) elected {
    // expected-error @below {{must stand in a role that is not elected (C1)}}
    lpfa.team_barrier
  }
}

// -----

lpfa.kernel @step_range_c1 stage(tile) (%n: index) {
  // expected-error @below {{tile must be positive (C1)}}
  %first, %last = lpfa.step_range %n tile(0)
}

// -----

lpfa.kernel @round_c1 stage(tile) () {
  %x = lpfa.splat 0.0 : !lpfa.tile<128x128xf32>
  // expected-error @below {{must round an f32 tile to f32, f16 or bf16 of the same shape (C1)}}
  %y = lpfa.round %x : !lpfa.tile<128x128xf32> -> !lpfa.tile<128x64xbf16>
}

// -----

lpfa.kernel @round_c1_type stage(tile) () {
  %x = lpfa.splat 0.0 : !lpfa.tile<128x128xf32>
  // expected-error @below {{must round an f32 tile to f32, f16 or bf16 of the same shape (C1)}}
  %y = lpfa.round %x : !lpfa.tile<128x128xf32> -> !lpfa.tile<128x128xf8E4M3FN>
}

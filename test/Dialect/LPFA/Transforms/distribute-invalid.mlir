// RUN: lpfa-opt %s --lpfa-distribute-to-threads -split-input-file -verify-diagnostics

// expected-error @+1 {{must be at the synchronized stage, but is at the roles stage}}
lpfa.kernel @early stage(roles) threads(128) () {
  lpfa.role "mma" warps(1 from 0) registers(48) elected {
  }
}

// -----

// expected-error @+1 {{needs 232456 bytes of shared memory with its barriers, more than the 232448 of a CTA}}
lpfa.kernel @large stage(synchronized) threads(128) shared_bytes(232448) () {
  %full = lpfa.barrier "full" stages(1) arrivals(1) : !lpfa.barrier
  lpfa.role "mma" warps(1 from 0) registers(48) elected {
  }
}

// -----

!tile = !lpfa.tile<64x64xf32>
lpfa.kernel @half stage(synchronized) threads(128) tensor_columns(64) () {
  %S = lpfa.scratch "S" at <tensor, 0, 64> : !lpfa.buffer<64x64xf32, tensor>
  lpfa.role "softmax" warps(4 from 0) registers(192) {
    // expected-error @+1 {{has '!lpfa.tile<64x64xf32>', which cannot be held a row a thread by 128 threads}}
    %s = lpfa.read %S : !lpfa.buffer<64x64xf32, tensor> -> !tile
  }
}

// -----

!fp8 = !lpfa.tile<128x128xf8E4M3FN>
!atom = !lpfa.tile<32x4x4xf8E8M0FNU>
!view = !lpfa.view<?x128xf8E4M3FN>
lpfa.kernel @dot stage(tile) (%Q: !view) {
  %c0 = arith.constant 0 : index
  // expected-error @+1 {{cannot load '!lpfa.tile<128x128xf8E4M3FN>' to registers}}
  %q = lpfa.load %Q[%c0, %c0] : !view -> !fp8
}

// -----

!channel = !lpfa.channel<128x128xf8E4M3FN shared>
lpfa.kernel @misplaced stage(synchronized) threads(128) shared_bytes(17408) () {
  // expected-error @+1 {{but its swizzle needs multiples of 1024 bytes}}
  %c = lpfa.channel "K" stages(1) at [#lpfa.place<shared, 512, 16384>] : !channel
  lpfa.role "mma" warps(1 from 0) registers(48) elected {
  }
}

// -----

!channel = !lpfa.channel<128x16xf8E4M3FN shared>
lpfa.kernel @rows stage(synchronized) threads(128) shared_bytes(2048) () {
  // expected-error @+1 {{rows must have 32 bytes at least}}
  %c = lpfa.channel "K" stages(1) at [#lpfa.place<shared, 0, 2048>] : !channel
  lpfa.role "mma" warps(1 from 0) registers(48) elected {
  }
}

// -----

// Rows padded to 128 bytes may be loaded, past the end of the tensor with
// zeros, but to store them would overwrite what lies beside the tile.

!channel = !lpfa.channel<128x96xf8E4M3FN shared>
!view = !lpfa.view<?x128xf8E4M3FN>
lpfa.kernel @padded stage(synchronized) threads(128) shared_bytes(16384) (%O: !view) {
  %c = lpfa.channel "O" stages(1) at [#lpfa.place<shared, 0, 16384>] : !channel
  lpfa.role "epilogue" warps(1 from 0) registers(48) elected {
    %u = lpfa.cursor stages(1) : !lpfa.cursor
    %c0 = arith.constant 0 : index
    %o = lpfa.slot %c use %u : !channel
    // expected-error @+1 {{rows must have 32, 64 or a multiple of 128 bytes}}
    lpfa.store_async %o -> %O[%c0, %c0] : !lpfa.buffer<128x96xf8E4M3FN, shared>, !view
  }
}

// -----

lpfa.kernel @back stage(synchronized) threads(128) () {
  %full = lpfa.barrier "full" stages(2) arrivals(1) : !lpfa.barrier
  lpfa.role "mma" warps(1 from 0) registers(48) elected {
    %u = lpfa.cursor stages(2) : !lpfa.cursor
    // expected-error @+1 {{can go back one round at most, 2 uses}}
    lpfa.wait %full use %u back(4) : !lpfa.barrier
  }
}

// -----

!view = !lpfa.view<?x32xf8E8M0FNU>
!channel = !lpfa.channel<32x4x4xf8E8M0FNU shared>
lpfa.kernel @no_atom stage(synchronized) threads(128) shared_bytes(512) (%S: !lpfa.view<?x4x32x4xf8E8M0FNU>) {
  %c = lpfa.channel "S" stages(1) at [#lpfa.place<shared, 0, 512>] : !channel
  %full = lpfa.barrier "full" stages(1) arrivals(1) : !lpfa.barrier
  lpfa.role "load" warps(1 from 0) registers(48) elected {
    %u = lpfa.cursor stages(1) : !lpfa.cursor
    %c0 = arith.constant 0 : index
    %s = lpfa.slot %c use %u : !channel
    // expected-error @+1 {{whose last dimensions are no atom}}
    lpfa.load_async %S[%c0, %c0, %c0, %c0] -> %s signals(%full use %u) : !lpfa.view<?x4x32x4xf8E8M0FNU>, !lpfa.buffer<32x4x4xf8E8M0FNU, shared>
  }
}

// -----

!sums = !lpfa.tile<128x64xf32>
lpfa.kernel @rows_of_64 stage(synchronized) threads(128) tensor_columns(64) () {
  %O = lpfa.accumulator "O" owner("epilogue") at <tensor, 0, 64> : !lpfa.buffer<128x64xf32, tensor>
  lpfa.role "epilogue" warps(4 from 0) registers(192) {
    %x = lpfa.read %O : !lpfa.buffer<128x64xf32, tensor> -> !sums
    // expected-error @+1 {{can be given a row a thread only of 128x128 to codes of 8 bits with scales of f8E8M0FNU}}
    %q, %s = lpfa.quantize_tile %x axis(1) : !sums -> !lpfa.tile<128x64xf8E4M3FN>, !lpfa.tile<128x2xf8E8M0FNU>
  }
}

// -----

lpfa.kernel @rows_of_elements stage(tile) (%X: !lpfa.view<?x?xbf16>, %Q: !lpfa.view<?x?xf8E4M3FN>, %i: index) {
  // expected-error @+1 {{can leave out rows of scales only}}
  %x = lpfa.load %X[%i, %i] rows(%i) : !lpfa.view<?x?xbf16> -> !lpfa.tile<128x128xbf16>
  %q, %s = lpfa.quantize_tile %x axis(1) : !lpfa.tile<128x128xbf16> -> !lpfa.tile<128x128xf8E4M3FN>, !lpfa.tile<128x4xf8E8M0FNU>
  lpfa.store %q -> %Q[%i, %i] : !lpfa.tile<128x128xf8E4M3FN>, !lpfa.view<?x?xf8E4M3FN>
}

// -----

lpfa.kernel @gradient_without_loop stage(tile) (%X: !lpfa.view<?x256xf32>, %R: !lpfa.view<?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  lpfa.for_work (%m) in (%c1) {
    %x = lpfa.load %X[%m, %c0] : !lpfa.view<?x256xf32> -> !lpfa.tile<8x256xf32>
    %r = lpfa.load %R[%m] : !lpfa.view<?xf32> -> !lpfa.tile<8xf32>
    // expected-error @below {{must have sums that a loop carries, for it alone}}
    %p = lpfa.weight_gradient_tile %x, %x rstd %r into %x : !lpfa.tile<8x256xf32>, !lpfa.tile<8x256xf32>, !lpfa.tile<8xf32>, !lpfa.tile<8x256xf32>
  }
}

// -----

lpfa.kernel @wide_columns stage(tile) (%X: !lpfa.view<?x64xf32>, %W: !lpfa.view<?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  lpfa.for_work (%m) in (%c1) {
    %x = lpfa.load %X[%m, %c0] : !lpfa.view<?x64xf32> -> !lpfa.tile<256x64xf32>
    // expected-error @below {{cannot sum columns of '!lpfa.tile<256x64xf32>'}}
    %w = lpfa.sum_columns_tile %x : !lpfa.tile<256x64xf32> -> !lpfa.tile<64xf32>
    lpfa.store %w -> %W[%c0] : !lpfa.tile<64xf32>, !lpfa.view<?xf32>
  }
}

// -----

lpfa.kernel @scales_ahead stage(tile) (%S: !lpfa.view<?x?xf8E8M0FNU>, %A: !lpfa.view<?x?x32x4x4xf8E8M0FNU>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  lpfa.for_work (%m) in (%c1) {
    // expected-error @below {{can load only elements of a work tile ahead, not '!lpfa.tile<128x4xf8E8M0FNU>'}}
    %s = lpfa.load %S[%m, %c0] ahead : !lpfa.view<?x?xf8E8M0FNU> -> !lpfa.tile<128x4xf8E8M0FNU>
    %a = lpfa.pack_atom %s : !lpfa.tile<128x4xf8E8M0FNU> -> !lpfa.tile<32x4x4xf8E8M0FNU>
    lpfa.store %a -> %A[%m, %c0, %c0, %c0, %c0] : !lpfa.tile<32x4x4xf8E8M0FNU>, !lpfa.view<?x?x32x4x4xf8E8M0FNU>
  }
}

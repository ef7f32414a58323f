// RUN: lpfa-opt %s -verify-roundtrip | FileCheck %s

// One query tile of attention at head dimension 128, stage by stage.

!fp8 = !lpfa.tile<128x128xf8E4M3FN>
!atom = !lpfa.tile<32x4x4xf8E8M0FNU>
!f32 = !lpfa.tile<128x128xf32>
!row = !lpfa.tile<128xf32>
!operand = !lpfa.view<?x?x?x128xf8E4M3FN>
!atoms = !lpfa.view<?x?x?x1x32x4x4xf8E8M0FNU>
!vatoms = !lpfa.view<?x?x1x?x32x4x4xf8E8M0FNU>
!out = !lpfa.view<?x?x?x128xbf16>
!lse = !lpfa.view<?x?x?xf32>

// CHECK-LABEL: lpfa.kernel @tile stage(tile)
lpfa.kernel @tile stage(tile) (%Q: !operand, %SQ: !atoms, %K: !operand, %SK: !atoms, %V: !operand, %SV: !vatoms, %O: !out, %LSE: !lse) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c128 = arith.constant 128 : index
  %batch = lpfa.dim %Q, 0 : !operand
  %heads = lpfa.dim %Q, 1 : !operand
  %rows = lpfa.dim %Q, 2 : !operand
  %kv_heads = lpfa.dim %K, 1 : !operand
  %keys = lpfa.dim %K, 2 : !operand
  %row_tiles = arith.ceildivui %rows, %c128 : index
  %group = arith.divui %heads, %kv_heads : index
  lpfa.for_work (%b, %h, %m) in (%batch, %heads, %row_tiles) {
    %row = arith.muli %m, %c128 : index
    %hk = arith.divui %h, %group : index
    %first, %last = lpfa.key_range %row count(128) rows(%rows) keys(%keys) tile(128) #lpfa.mask<none>
    %q = lpfa.load %Q[%b, %h, %row, %c0] : !operand -> !fp8
    %sq = lpfa.load %SQ[%b, %h, %m, %c0, %c0, %c0, %c0] : !atoms -> !atom
    %o_init = lpfa.splat 0.0 : !f32
    %m_init = lpfa.splat 0xFF800000 : !row
    %l_init = lpfa.splat 0.0 : !row
    %x_init = lpfa.splat 0xFF800000 : !row
    %r:4 = scf.for %n = %first to %last step %c1 iter_args(%o = %o_init, %M = %m_init, %l = %l_init, %largest = %x_init) -> (!f32, !row, !row, !row) {
      %key = arith.muli %n, %c128 : index
      %left = arith.subi %keys, %key : index
      %k = lpfa.load %K[%b, %hk, %key, %c0] : !operand -> !fp8
      %sk = lpfa.load %SK[%b, %hk, %n, %c0, %c0, %c0, %c0] : !atoms -> !atom
      %v = lpfa.load %V[%b, %hk, %key, %c0] : !operand -> !fp8
      %sv = lpfa.load %SV[%b, %hk, %c0, %n, %c0, %c0, %c0] : !vatoms -> !atom
      %s = lpfa.dot %q, %k scaled %sq, %sk transpose_b : !fp8, !fp8 -> !f32
      %x = lpfa.apply_mask %s at(%row, %key) of(%rows, %keys) <none> : !f32
      %p, %sp, %M1, %l1, %largest1, %factor = lpfa.softmax_step %x, %M, %l, %largest scale(0.0883883461) <row_max> : !f32 -> !fp8
      %o1 = lpfa.rescale %o by %factor : !f32
      %o2 = lpfa.dot %p, %v scaled %sp, %sv acc %o1 valid(%left) : !fp8, !fp8 -> !f32
      scf.yield %o2, %M1, %l1, %largest1 : !f32, !row, !row, !row
    }
    %denominator, %lse = lpfa.softmax_finish %r#1, %r#2, %r#3 scale(0.0883883461) <row_max> : !row
    %y = lpfa.normalize %r#0 by %denominator : !f32 -> !lpfa.tile<128x128xbf16>
    lpfa.store %y -> %O[%b, %h, %row, %c0] : !lpfa.tile<128x128xbf16>, !out
    lpfa.store %lse -> %LSE[%b, %h, %row] : !row, !lse
  }
}

!q_channel = !lpfa.channel<128x128xf8E4M3FN shared, 32x4x4xf8E8M0FNU shared>
!s_channel = !lpfa.channel<128x128xf32 tensor>
!p_channel = !lpfa.channel<128x128xf8E4M3FN tensor, 32x4x4xf8E8M0FNU shared>
!r_channel = !lpfa.channel<128xf32 shared>
!o_channel = !lpfa.channel<128x64xbf16 shared>
!accumulator = !lpfa.buffer<128x128xf32, tensor>
!scales = !lpfa.buffer<32x4x4xf8E8M0FNU, tensor>
!shared_scales = !lpfa.buffer<32x4x4xf8E8M0FNU, shared>
!shared_fp8 = !lpfa.buffer<128x128xf8E4M3FN, shared>
!tensor_fp8 = !lpfa.buffer<128x128xf8E4M3FN, tensor>
!shared_row = !lpfa.buffer<128xf32, shared>

// CHECK-LABEL: lpfa.kernel @roles stage(roles) threads(384)
lpfa.kernel @roles stage(roles) threads(384) (%Q: !operand, %SQ: !atoms, %K: !operand, %SK: !atoms, %V: !operand, %SV: !vatoms, %O: !out, %LSE: !lse) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %batch = lpfa.dim %Q, 0 : !operand
  %heads = lpfa.dim %Q, 1 : !operand
  %rows = lpfa.dim %Q, 2 : !operand
  %kv_heads = lpfa.dim %K, 1 : !operand
  %keys = lpfa.dim %K, 2 : !operand
  %row_tiles = arith.ceildivui %rows, %c128 : index
  %group = arith.divui %heads, %kv_heads : index

  %cQ0 = lpfa.channel "Q0" stages(1) : !q_channel
  %cK = lpfa.channel "K" stages(3) : !q_channel
  %cV = lpfa.channel "V" stages(3) : !q_channel
  %cS0 = lpfa.channel "S0" stages(1) : !s_channel
  %cP0 = lpfa.channel "P0" stages(1) : !p_channel
  %cF0 = lpfa.channel "factor0" stages(1) : !r_channel
  %cD0 = lpfa.channel "denominator0" stages(1) : !r_channel
  %cO = lpfa.channel "out" stages(2) : !o_channel
  %O0 = lpfa.accumulator "O0" owner("correction") : !accumulator
  %tQ0 = lpfa.scratch "scales.Q0" : !scales
  %tK0 = lpfa.scratch "scales.K0" : !scales
  %tP0 = lpfa.scratch "scales.P0" : !scales
  %tV0 = lpfa.scratch "scales.V0" : !scales

  lpfa.role "softmax0" warps(4 from 0) registers(192) {
    lpfa.for_work (%b, %h, %m) in (%batch, %heads, %row_tiles) {
      %row = arith.muli %m, %c128 : index
      %first, %last = lpfa.key_range %row count(128) rows(%rows) keys(%keys) tile(128) #lpfa.mask<none>
      %m_init = lpfa.splat 0xFF800000 : !row
      %l_init = lpfa.splat 0.0 : !row
      %r:3 = scf.for %n = %first to %last step %c1 iter_args(%M = %m_init, %l = %l_init, %largest = %m_init) -> (!row, !row, !row) {
        %key = arith.muli %n, %c128 : index
        %slot = lpfa.get %cS0 : !s_channel
        %s = lpfa.read %slot : !accumulator -> !f32
        lpfa.release %cS0 : !s_channel
        %x = lpfa.apply_mask %s at(%row, %key) of(%rows, %keys) <none> : !f32
        %M1, %largest1, %factor = lpfa.softmax_maximum %x, %M, %largest scale(0.0883883461) <row_max> : !f32
        %f_slot = lpfa.acquire %cF0 : !r_channel
        lpfa.write %factor -> %f_slot : !row, !shared_row
        lpfa.put %cF0 : !r_channel
        %p, %sp, %l1 = lpfa.softmax_probabilities %x, %M1, %l, %factor scale(0.0883883461) <row_max> : !f32 -> !fp8
        %p_slot, %sp_slot = lpfa.acquire %cP0 : !p_channel
        lpfa.write %p -> %p_slot : !fp8, !tensor_fp8
        lpfa.write %sp -> %sp_slot : !atom, !shared_scales
        lpfa.put %cP0 : !p_channel
        scf.yield %M1, %l1, %largest1 : !row, !row, !row
      }
      %denominator, %lse = lpfa.softmax_finish %r#0, %r#1, %r#2 scale(0.0883883461) <row_max> : !row
      %d_slot = lpfa.acquire %cD0 : !r_channel
      lpfa.write %denominator -> %d_slot : !row, !shared_row
      lpfa.put %cD0 : !r_channel
      lpfa.store %lse -> %LSE[%b, %h, %row] : !row, !lse
    }
  }

  lpfa.role "correction" warps(4 from 4) registers(80) {
    lpfa.for_work (%b, %h, %m) in (%batch, %heads, %row_tiles) {
      %row = arith.muli %m, %c128 : index
      %first, %last = lpfa.key_range %row count(128) rows(%rows) keys(%keys) tile(128) #lpfa.mask<none>
      scf.for %n = %first to %last step %c1 {
        %f_slot = lpfa.get %cF0 : !r_channel
        %factor = lpfa.read %f_slot : !shared_row -> !row
        lpfa.release %cF0 : !r_channel
        %again = arith.cmpi ne, %n, %first : index
        scf.if %again {
          lpfa.rescale_buffer %O0 by %factor : !accumulator, !row
        }
        lpfa.give %O0 : !accumulator
        lpfa.take %O0 : !accumulator
      }
      %d_slot = lpfa.get %cD0 : !r_channel
      %denominator = lpfa.read %d_slot : !shared_row -> !row
      lpfa.release %cD0 : !r_channel
      %some = arith.cmpi ult, %first, %last : index
      %part0 = lpfa.slice %O0[0] : !accumulator to !lpfa.buffer<128x64xf32, tensor>
      %o0 = scf.if %some -> (!lpfa.tile<128x64xf32>) {
        %o = lpfa.read %part0 : !lpfa.buffer<128x64xf32, tensor> -> !lpfa.tile<128x64xf32>
        scf.yield %o : !lpfa.tile<128x64xf32>
      } else {
        %o = lpfa.splat 0.0 : !lpfa.tile<128x64xf32>
        scf.yield %o : !lpfa.tile<128x64xf32>
      }
      %y0 = lpfa.normalize %o0 by %denominator : !lpfa.tile<128x64xf32> -> !lpfa.tile<128x64xbf16>
      %o_slot0 = lpfa.acquire %cO : !o_channel
      lpfa.write %y0 -> %o_slot0 : !lpfa.tile<128x64xbf16>, !lpfa.buffer<128x64xbf16, shared>
      lpfa.put %cO : !o_channel
    }
  }

  lpfa.role "mma" warps(1 from 8) registers(48) elected {
    lpfa.for_steps (%b, %h, %m) in (%batch, %heads, %row_tiles) range {
      %row = arith.muli %m, %c128 : index
      %first, %last = lpfa.key_range %row count(128) rows(%rows) keys(%keys) tile(128) #lpfa.mask<none>
      lpfa.yield %first, %last : index, index
    } do {
      lpfa.at shift(0) (%n, %is_first, %is_last) {
        %true = arith.constant true
        %again = arith.xori %is_first, %true : i1
        %key = arith.muli %n, %c128 : index
        %left = arith.subi %keys, %key : index
        %p, %sp = lpfa.get %cP0 : !p_channel
        %v, %sv = lpfa.get %cV : !q_channel
        lpfa.take %O0 : !accumulator
        lpfa.copy_scales %sp -> %tP0 : !shared_scales, !scales
        lpfa.copy_scales %sv -> %tV0 : !shared_scales, !scales
        lpfa.mma %p, %v scaled %tP0, %tV0 into %O0 accumulate(%again) valid(%left) : !tensor_fp8, !shared_fp8, !accumulator
        lpfa.give %O0 : !accumulator
        lpfa.release %cP0 : !p_channel
      }
      lpfa.at shift(1) (%n, %is_first, %is_last) {
        %q, %sq = lpfa.get %cQ0 : !q_channel
        %k, %sk = lpfa.get %cK : !q_channel
        %s = lpfa.acquire %cS0 : !s_channel
        lpfa.copy_scales %sq -> %tQ0 : !shared_scales, !scales
        lpfa.copy_scales %sk -> %tK0 : !shared_scales, !scales
        lpfa.mma %q, %k scaled %tQ0, %tK0 into %s transpose_b : !shared_fp8, !shared_fp8, !accumulator
        lpfa.put %cS0 : !s_channel
      }
      lpfa.at shift(0) (%n, %is_first, %is_last) {
        lpfa.release %cV : !q_channel
      }
      lpfa.at shift(1) (%n, %is_first, %is_last) {
        lpfa.release %cK : !q_channel
        scf.if %is_last {
          lpfa.release %cQ0 : !q_channel
        }
      }
    }
  }

  lpfa.role "load" warps(1 from 9) registers(48) elected {
    lpfa.for_work (%b, %h, %m) in (%batch, %heads, %row_tiles) {
      %row = arith.muli %m, %c128 : index
      %hk = arith.divui %h, %group : index
      %first, %last = lpfa.key_range %row count(128) rows(%rows) keys(%keys) tile(128) #lpfa.mask<none>
      scf.for %n = %first to %last step %c1 {
        %is_first = arith.cmpi eq, %n, %first : index
        scf.if %is_first {
          %q, %sq = lpfa.acquire %cQ0 : !q_channel
          lpfa.load_async %Q[%b, %h, %row, %c0] -> %q : !operand, !shared_fp8
          lpfa.load_async %SQ[%b, %h, %m, %c0, %c0, %c0, %c0] -> %sq : !atoms, !shared_scales
          lpfa.put %cQ0 : !q_channel
        }
        %key = arith.muli %n, %c128 : index
        %k, %sk = lpfa.acquire %cK : !q_channel
        lpfa.load_async %K[%b, %hk, %key, %c0] -> %k : !operand, !shared_fp8
        lpfa.load_async %SK[%b, %hk, %n, %c0, %c0, %c0, %c0] -> %sk : !atoms, !shared_scales
        lpfa.put %cK : !q_channel
        %v, %sv = lpfa.acquire %cV : !q_channel
        lpfa.load_async %V[%b, %hk, %key, %c0] -> %v : !operand, !shared_fp8
        lpfa.load_async %SV[%b, %hk, %c0, %n, %c0, %c0, %c0] -> %sv : !vatoms, !shared_scales
        lpfa.put %cV : !q_channel
      }
    }
  }

  lpfa.role "epilogue" warps(1 from 10) registers(48) elected {
    lpfa.for_work (%b, %h, %m) in (%batch, %heads, %row_tiles) {
      %row = arith.muli %m, %c128 : index
      %o0 = lpfa.get %cO : !o_channel
      lpfa.store_async %o0 -> %O[%b, %h, %row, %c0] : !lpfa.buffer<128x64xbf16, shared>, !out
      lpfa.release %cO : !o_channel
    }
  }
}

// What comes before the first step may have ops of its own.

// CHECK-LABEL: lpfa.kernel @prologue stage(tile)
lpfa.kernel @prologue stage(tile) (%n: index) {
  lpfa.for_steps (%i) in (%n) range {
    lpfa.yield %i, %n : index, index
  } do {
    // CHECK:      lpfa.at shift(1) prologue (%{{.+}}, %{{.+}}, %{{.+}}) {
    lpfa.at shift(1) prologue (%a, %b, %c) {
    }
    // CHECK:      lpfa.at shift(0) (%{{.+}}, %{{.+}}, %{{.+}}) {
    lpfa.at shift(0) (%a, %b, %c) {
    }
    // CHECK:      lpfa.at shift(1) (%{{.+}}, %{{.+}}, %{{.+}}) {
    lpfa.at shift(1) (%a, %b, %c) {
    }
  }
}

// The instructions of a whole attention kernel, two query tiles at head
// dimension 128, on both chips.

// RUN: rm -rf %t && lpfa-compile %S/../Integration/attention-forward.mlir -o %t --emit=ptx,plan
// RUN: FileCheck %s < %t/attention_forward_kernel_module.ptx
// RUN: FileCheck %s --check-prefix=SOFTMAX < %t/attention_forward_kernel_module.ptx
// RUN: FileCheck %s --check-prefix=EDGES < %t/attention_forward_kernel_module.ptx
// RUN: rm -rf %t && lpfa-compile %S/../Integration/attention-forward.mlir -o %t --emit=ptx --chip=sm_103a --key-tile=128 --scores-ahead=0
// RUN: FileCheck %s < %t/attention_forward_kernel_module.ptx

// Four products of four K steps, each with its two atoms of scales; one commit
// for each use of a barrier.
// CHECK: .visible .entry attention_forward_kernel(
// CHECK: .reqntid 512, 1, 1
// CHECK: .minnctapersm 1
// CHECK: setmaxnreg.inc.sync.aligned.u32 {{.*}}176
// CHECK: setmaxnreg.dec.sync.aligned.u32 {{.*}}80
// CHECK: setmaxnreg.dec.sync.aligned.u32 {{.*}}80
// CHECK-COUNT-2: tcgen05.cp.cta_group::1.32x128b.warpx4
// CHECK-COUNT-4: tcgen05.mma.cta_group::1.kind::mxf8f6f4.block_scale
// CHECK-COUNT-2: tcgen05.cp.cta_group::1.32x128b.warpx4
// CHECK-COUNT-4: tcgen05.mma.cta_group::1.kind::mxf8f6f4.block_scale
// CHECK: tcgen05.commit

// A row of 128 scores in each of the two softmax roles: pairs of products and
// sums, maxima of three, exponentials on the special function unit, pairs of
// codes.
// SOFTMAX: setmaxnreg.inc
// SOFTMAX-COUNT-4: tcgen05.ld.sync.aligned.32x32b.x32.b32
// SOFTMAX-NEXT: tcgen05.wait::ld.sync.aligned
// SOFTMAX: max.NaN.f32 %{{[^,]+}}, %{{[^,]+}}, %{{[^,]+}}, %
// SOFTMAX: fma.rn.f32x2
// SOFTMAX: ex2.approx.ftz.f32
// SOFTMAX: cvt.rn.satfinite.e4m3x2.f32
// SOFTMAX: tcgen05.st.sync.aligned.32x32b.x32.b32
// SOFTMAX: tcgen05.wait::st.sync.aligned

// Tiles come and go by the tensor memory access engine, atoms as plain copies.
// EDGES: cp.async.bulk.tensor.4d.shared::cta.global.tile.mbarrier::complete_tx::bytes
// EDGES: cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes
// EDGES: cp.async.bulk.tensor.4d.global.shared::cta.tile.bulk_group

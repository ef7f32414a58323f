// RUN: lpfa-opt %s -split-input-file -verify-diagnostics

func.func @registers() {
  // expected-error @+1 {{C1: register count must be a multiple of 8 from 24 to 256, got 100}}
  lpfa.set_max_registers increase 100
  return
}

// -----

func.func @registers() {
  // expected-error @+1 {{C1: register count must be a multiple of 8 from 24 to 256, got 16}}
  lpfa.set_max_registers decrease 16
  return
}

// -----

func.func @barrier() {
  // expected-error @+1 {{attribute 'id' failed to satisfy constraint}}
  lpfa.barrier.sync 16 threads(128)
  return
}

// -----

func.func @barrier() {
  // expected-error @+1 {{C1: threads must be a multiple of 32, got 100}}
  lpfa.barrier.sync 1 threads(100)
  return
}

// -----

func.func @barrier() {
  // expected-error @+1 {{C1: threads must be a multiple of 32, got 1}}
  lpfa.barrier.arrive 1 threads(1)
  return
}

// -----

func.func @mbarrier(%bar: !llvm.ptr<3>) {
  // expected-error @+1 {{attribute 'count' failed to satisfy constraint}}
  lpfa.mbarrier.init %bar, 0
  return
}

// -----

func.func @load(%map: !llvm.ptr, %bar: !llvm.ptr<3>) {
  // expected-error @+1 {{C1: needs one to five coordinates, got 0}}
  lpfa.bulk_tensor.load %map[] to %bar barrier %bar
  return
}

// -----

func.func @store(%map: !llvm.ptr, %tile: !llvm.ptr<3>, %x: i32) {
  // expected-error @+1 {{C1: needs one to five coordinates, got 6}}
  lpfa.bulk_tensor.store %tile to %map[%x, %x, %x, %x, %x, %x]
  return
}

// -----

func.func @group() {
  // expected-error @+1 {{attribute 'pending' failed to satisfy constraint}}
  lpfa.bulk.wait_group -1
  return
}

// -----

func.func @descriptor(%tile: !llvm.ptr<3>) {
  // expected-error @+1 {{C1: swizzle must be 0, 32, 64 or 128, got 16}}
  %0 = lpfa.shared_descriptor %tile swizzle(16) leading(16) stride(1024)
  return
}

// -----

func.func @descriptor(%tile: !llvm.ptr<3>) {
  // expected-error @+1 {{C2: leading must be a multiple of 16 from 0 to 262128, got 8}}
  %0 = lpfa.shared_descriptor %tile swizzle(128) leading(8) stride(1024)
  return
}

// -----

func.func @descriptor(%tile: !llvm.ptr<3>) {
  // expected-error @+1 {{C2: stride must be a multiple of 16 from 0 to 262128, got 262144}}
  %0 = lpfa.shared_descriptor %tile swizzle(128) leading(16) stride(262144)
  return
}

// -----

func.func @instruction() {
  // expected-error @+1 {{C1: m must be 128, got 64}}
  %0 = lpfa.instruction_descriptor m(64) n(64) a(f8E4M3FN) b(f8E4M3FN) scale_bytes(0, 0)
  return
}

// -----

func.func @instruction() {
  // expected-error @+1 {{C1: n must be a multiple of 8 from 8 to 256, got 260}}
  %0 = lpfa.instruction_descriptor m(128) n(260) a(f8E4M3FN) b(f8E4M3FN) scale_bytes(0, 0)
  return
}

// -----

func.func @instruction() {
  // expected-error @+1 {{C2: no element type of kind mxf8f6f4: 'bf16'}}
  %0 = lpfa.instruction_descriptor m(128) n(64) a(f8E4M3FN) b(bf16) scale_bytes(0, 0)
  return
}

// -----

func.func @instruction() {
  // expected-error @+1 {{C3: a tile of 'f4E2M1FN' cannot be MN-major}}
  %0 = lpfa.instruction_descriptor m(128) n(64) a(f8E4M3FN) b(f4E2M1FN) b_mn scale_bytes(0, 0)
  return
}

// -----

func.func @instruction() {
  // expected-error @+1 {{C4: scale bytes must be from 0 to 3, got 4}}
  %0 = lpfa.instruction_descriptor m(128) n(64) a(f8E4M3FN) b(f8E4M3FN) scale_bytes(0, 4)
  return
}

// -----

func.func @alloc(%slot: !llvm.ptr<3>) {
  // expected-error @+1 {{C1: columns must be 32, 64, 128, 256 or 512, got 96}}
  lpfa.tcgen05.alloc 96 to %slot
  return
}

// -----

func.func @dealloc(%tmem: i32) {
  // expected-error @+1 {{C1: columns must be 32, 64, 128, 256 or 512, got 16}}
  lpfa.tcgen05.dealloc %tmem, 16
  return
}

// -----

func.func @ld(%tmem: i32) {
  // expected-error @+1 {{result #0 must be}}
  %0 = lpfa.tcgen05.ld %tmem : vector<3xf32>
  return
}

// -----

func.func @ld_max(%tmem: i32) {
  // expected-error @+1 {{C1: 64 columns have 2 maxima, not 3}}
  %0, %1 = lpfa.tcgen05.ld_max %tmem : vector<64xf32>, vector<3xf32>
  return
}

// -----

func.func @convert(%v: vector<6xf32>) {
  // expected-error @+1 {{C1: 6 elements do not make 1 words of 4}}
  %0 = lpfa.convert_packed %v to f8E4M3FN nearest : vector<6xf32> -> vector<1xi32>
  return
}

// -----

func.func @convert(%v: vector<8xf32>) {
  // expected-error @+1 {{C2: no conversion to 'f8E4M3FN' rounding up}}
  %0 = lpfa.convert_packed %v to f8E4M3FN up : vector<8xf32> -> vector<2xi32>
  return
}

// -----

func.func @convert(%v: vector<8xf32>) {
  // expected-error @+1 {{C2: no conversion to 'f8E8M0FNU' rounding nearest}}
  %0 = lpfa.convert_packed %v to f8E8M0FNU nearest : vector<8xf32> -> vector<2xi32>
  return
}

// -----

func.func @convert(%v: vector<8xf32>) {
  // expected-error @+1 {{C1: 8 elements do not make 2 words of 8}}
  %0 = lpfa.convert_packed %v to f4E2M1FN nearest : vector<8xf32> -> vector<2xi32>
  return
}

// -----

func.func @extend(%v: vector<2xi32>) {
  // expected-error @+1 {{C1: 6 elements do not make 2 words of 4}}
  %0 = lpfa.extend_packed %v from f8E5M2 : vector<2xi32> -> vector<6xf32>
  return
}

// -----

func.func @extend(%v: vector<2xi32>) {
  // expected-error @+1 {{C2: no conversion from 'bf16'}}
  %0 = lpfa.extend_packed %v from bf16 : vector<2xi32> -> vector<8xf32>
  return
}

// RUN: lpfa-opt %s -lpfa-expand-narrow-floats -canonicalize -split-input-file | FileCheck %s

// CHECK-LABEL: func.func @decode_scale(
// CHECK-SAME: %[[BYTE:.*]]: i8) -> f32
func.func @decode_scale(%s: f8E8M0FNU) -> f32 {
  // CHECK-DAG: %[[C0:.*]] = arith.constant 0 : i32
  // CHECK-DAG: %[[C23:.*]] = arith.constant 23 : i32
  // CHECK-DAG: %[[C255:.*]] = arith.constant 255 : i32
  // 2^-127 and NaN.
  // CHECK-DAG: %[[TINY:.*]] = arith.constant 4194304 : i32
  // CHECK-DAG: %[[NAN:.*]] = arith.constant 2143289344 : i32
  // CHECK: %[[CODE:.*]] = arith.extui %[[BYTE]] : i8 to i32
  // CHECK: %[[POWER:.*]] = arith.shli %[[CODE]], %[[C23]]
  // CHECK: %[[IS_ZERO:.*]] = arith.cmpi eq, %[[CODE]], %[[C0]]
  // CHECK: %[[FINITE:.*]] = arith.select %[[IS_ZERO]], %[[TINY]], %[[POWER]]
  // CHECK: %[[IS_NAN:.*]] = arith.cmpi eq, %[[CODE]], %[[C255]]
  // CHECK: %[[BITS:.*]] = arith.select %[[IS_NAN]], %[[NAN]], %[[FINITE]]
  // CHECK: %[[X:.*]] = arith.bitcast %[[BITS]] : i32 to f32
  // CHECK: return %[[X]]
  %x = lpfa.decode %s : f8E8M0FNU to f32
  return %x : f32
}

// -----

// CHECK-LABEL: func.func @encode_scale(
// CHECK-SAME: %[[X:.*]]: f32) -> i8
func.func @encode_scale(%x: f32) -> f8E8M0FNU {
  // CHECK: %[[BITS:.*]] = arith.bitcast %[[X]] : f32 to i32
  // CHECK: %[[MAGNITUDE:.*]] = arith.andi %[[BITS]], %c2147483647_i32
  // CHECK: %[[SUBNORMAL:.*]] = arith.cmpi ult, %[[MAGNITUDE]], %c8388608_i32
  // CHECK: %[[CARRY:.*]] = arith.select %[[SUBNORMAL]], %c4194303_i32, %c8388607_i32
  // CHECK: %[[SUM:.*]] = arith.addi %[[MAGNITUDE]], %[[CARRY]]
  // CHECK: %[[BYTE:.*]] = arith.shrui %[[SUM]], %c23_i32
  // CHECK: %[[CLAMPED:.*]] = arith.minui %[[BYTE]], %c254_i32
  // CHECK: %[[IS_NAN:.*]] = arith.cmpi ugt, %[[MAGNITUDE]], %c2139095040_i32
  // CHECK: %[[CODE:.*]] = arith.select %[[IS_NAN]], %c255_i32, %[[CLAMPED]]
  // CHECK: arith.trunci %[[CODE]] : i32 to i8
  %s = lpfa.encode %x : f32 to f8E8M0FNU
  return %s : f8E8M0FNU
}

// -----

// A code takes a byte whatever its width; types, constants and signatures
// follow, and what only moves codes stays.
// CHECK-LABEL: func.func private @external(tensor<?xi8>, memref<4xi8>) -> i8
func.func private @external(tensor<?xf4E2M1FN>, memref<4xf8E5M2>) -> f6E2M3FN

// CHECK-LABEL: func.func @move(
// CHECK-SAME: %{{.*}}: tensor<2xi8>, %{{.*}}: i1, %[[I:.*]]: index) -> (i8, i8, tensor<2xi8>)
func.func @move(%t: tensor<2xf6E3M2FN>, %c: i1, %i: index)
    -> (f6E3M2FN, f8E4M3FN, tensor<2xf8E8M0FNU>) {
  // CHECK-DAG: %[[ONE:.*]] = arith.constant 12 : i8
  // CHECK-DAG: %[[CODE:.*]] = arith.constant 56 : i8
  // CHECK-DAG: %[[DENSE:.*]] = arith.constant dense<[127, 1]> : tensor<2xi8>
  %one = arith.constant 1.0 : f6E3M2FN
  %code = arith.constant 1.0 : f8E4M3FN
  %dense = arith.constant dense<[1.0, 0x01]> : tensor<2xf8E8M0FNU>
  // CHECK: %[[ELEMENT:.*]] = tensor.extract
  // CHECK: %[[CHOSEN:.*]] = arith.select %{{.*}}, %[[ELEMENT]], %[[ONE]] : i8
  %e = tensor.extract %t[%i] : tensor<2xf6E3M2FN>
  %x = arith.select %c, %e, %one : f6E3M2FN
  // CHECK: return %[[CHOSEN]], %[[CODE]], %[[DENSE]]
  return %x, %code, %dense : f6E3M2FN, f8E4M3FN, tensor<2xf8E8M0FNU>
}

// -----

// CHECK-LABEL: func.func @bitcast(
// CHECK-SAME: %[[A:.*]]: i8, %[[B:.*]]: i4) -> (i8, i8, i6)
func.func @bitcast(%a: f8E4M3FN, %b: i4) -> (i8, f4E2M1FN, i6) {
  %x = arith.bitcast %a : f8E4M3FN to i8
  // CHECK-DAG: %[[Y:.*]] = arith.extui %[[B]] : i4 to i8
  %y = arith.bitcast %b : i4 to f4E2M1FN
  // CHECK-DAG: %[[Z:.*]] = arith.constant 8 : i6
  %c = arith.constant 1.0 : f6E2M3FN
  %z = arith.bitcast %c : f6E2M3FN to i6
  // CHECK: return %[[A]], %[[Y]], %[[Z]]
  return %x, %y, %z : i8, f4E2M1FN, i6
}

// -----

// Blocks' arguments and loops' values too.
// CHECK-LABEL: func.func @loop(
// CHECK-SAME: i8
func.func @loop(%a: f8E4M3FN, %n: index) -> f8E4M3FN {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // CHECK: scf.for {{.*}} iter_args(%{{.*}} = %{{.*}}) -> (i8)
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%v = %a) -> f8E4M3FN {
    %x = lpfa.decode %v : f8E4M3FN to f32
    %y = arith.addf %x, %x : f32
    %z = lpfa.encode %y : f32 to f8E4M3FN
    scf.yield %z : f8E4M3FN
  }
  return %r : f8E4M3FN
}

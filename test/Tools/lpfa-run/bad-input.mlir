// Every failure: exit code 1, one line that names what is wrong, no output.
//
// RUN: rm -rf %t && mkdir %t
// RUN: %python -c "import numpy as np; \
// RUN:   np.save('%t/x.npy', np.zeros((3, 32), np.float32)); \
// RUN:   np.save('%t/double.npy', np.zeros((3, 32))); \
// RUN:   np.save('%t/wide.npy', np.zeros((3, 33), np.float32)); \
// RUN:   np.save('%t/flat.npy', np.zeros(32, np.float32)); \
// RUN:   np.save('%t/four.npy', np.zeros((4, 32), np.float32)); \
// RUN:   np.save('%t/codes.npy', np.uint8([3, 16]))"

// RUN: not lpfa-run %s --entry=add --arg=%t/x.npy --out=%t/out 2>&1 \
// RUN:   | FileCheck %s --check-prefix=COUNT
// COUNT: lpfa-run: error: @add takes 2 arguments, 1 given with --arg

// RUN: not lpfa-run %s --entry=add --arg=%t/x.npy --arg=%t/double.npy \
// RUN:   --out=%t/out 2>&1 | FileCheck %s --check-prefix=TYPE
// TYPE: lpfa-run: error: argument 1: {{.*}}double.npy: the elements are '<f8', expected float32

// RUN: not lpfa-run %s --entry=add --arg=%t/wide.npy --arg=%t/x.npy \
// RUN:   --out=%t/out 2>&1 | FileCheck %s --check-prefix=SHAPE
// SHAPE: lpfa-run: error: argument 0: {{.*}}wide.npy: the shape is 3x33, expected ?x32

// RUN: not lpfa-run %s --entry=add --arg=%t/flat.npy --arg=%t/x.npy \
// RUN:   --out=%t/out 2>&1 | FileCheck %s --check-prefix=RANK
// RANK: lpfa-run: error: argument 0: {{.*}}flat.npy: the shape is 32, expected ?x32

// RUN: not lpfa-run %s --entry=add --arg=%t/none.npy --arg=%t/x.npy \
// RUN:   --out=%t/out 2>&1 | FileCheck %s --check-prefix=MISSING
// MISSING: lpfa-run: error: argument 0: {{.*}}none.npy

// RUN: not lpfa-run %s --entry=codes --arg=%t/codes.npy --out=%t/out 2>&1 \
// RUN:   | FileCheck %s --check-prefix=CODE
// CODE: lpfa-run: error: argument 0: {{.*}}codes.npy: element 1 is 16, which is not a code of f4E2M1FN

// Sizes that the types leave open.
// RUN: not lpfa-run %s --entry=add --arg=%t/x.npy --arg=%t/four.npy \
// RUN:   --out=%t/out 2>&1 | FileCheck %s --check-prefix=SIZES
// SIZES: lpfa-run: error: {{.*}}verification failed
// SIZES: is incompatible with inferred dimension size

// RUN: not lpfa-run %s --entry=none --out=%t/out 2>&1 \
// RUN:   | FileCheck %s --check-prefix=ENTRY
// ENTRY: lpfa-run: error: --entry: no function @none: the file has @add, @codes, @scalar, @narrow

// RUN: not lpfa-run %s --out=%t/out 2>&1 | FileCheck %s --check-prefix=CHOOSE
// CHOOSE: lpfa-run: error: choose a function with --entry: the file has @add, @codes, @scalar, @narrow

// RUN: not lpfa-run %s --entry=scalar --out=%t/out 2>&1 \
// RUN:   | FileCheck %s --check-prefix=SCALAR
// SCALAR: lpfa-run: error: argument 0 of @scalar has the type f32, expected a ranked tensor

// RUN: not lpfa-run %s --entry=narrow --out=%t/out 2>&1 \
// RUN:   | FileCheck %s --check-prefix=NARROW
// NARROW: lpfa-run: error: result 0 of @narrow has elements of i3, which no .npy file can hold

// RUN: not lpfa-run %s --entry=add 2>&1 | FileCheck %s --check-prefix=NO-OUT
// NO-OUT: lpfa-run: error: --out=DIR is needed for the results

// RUN: not lpfa-run %s --entry=add --out=%t/x.npy/out 2>&1 \
// RUN:   | FileCheck %s --check-prefix=OUT
// OUT: lpfa-run: error: --out: can't make {{.*}}x.npy/out: {{.*}}x.npy is not a directory

// RUN: not lpfa-run %t/none.mlir --out=%t/out 2>&1 \
// RUN:   | FileCheck %s --check-prefix=NO-FILE
// NO-FILE: lpfa-run: error: {{.*}}none.mlir

// RUN: echo 'func.func @f(' > %t/bad.mlir
// RUN: not lpfa-run %t/bad.mlir --out=%t/out 2>&1 \
// RUN:   | FileCheck %s --check-prefix=SYNTAX
// SYNTAX: bad.mlir:{{[0-9]+}}:{{[0-9]+}}: error:

// RUN: not lpfa-run %s --device=tpu --out=%t/out 2>&1 \
// RUN:   | FileCheck %s --check-prefix=DEVICE
// DEVICE: Cannot find option named 'tpu'

// RUN: not ls %t/out

func.func @add(%x: tensor<?x32xf32>, %y: tensor<?x32xf32>) -> tensor<?x32xf32> {
  %z = arith.addf %x, %y : tensor<?x32xf32>
  return %z : tensor<?x32xf32>
}

func.func @codes(%x: tensor<?xf4E2M1FN>) -> tensor<?xf4E2M1FN> {
  return %x : tensor<?xf4E2M1FN>
}

func.func @scalar(%x: f32) -> tensor<f32> {
  %y = tensor.from_elements %x : tensor<f32>
  return %y : tensor<f32>
}

func.func @narrow(%x: tensor<4xi8>) -> tensor<4xi3> {
  %y = arith.trunci %x : tensor<4xi8> to tensor<4xi3>
  return %y : tensor<4xi3>
}

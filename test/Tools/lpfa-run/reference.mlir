// Arguments and results of every element type that a .npy file can hold.
//
// RUN: rm -rf %t && mkdir %t
// RUN: %python -c "import numpy as np; \
// RUN:   np.save('%t/f.npy', np.float32([[1, -2], [3.5, np.nan]])); \
// RUN:   np.save('%t/h.npy', np.float16([0.5, 2])); \
// RUN:   np.save('%t/b.npy', np.uint16([0x3f80, 0xc000])); \
// RUN:   np.save('%t/i.npy', np.int64([7, -7])); \
// RUN:   np.save('%t/u.npy', np.uint8([200, 3])); \
// RUN:   np.save('%t/t.npy', np.bool_([True, False])); \
// RUN:   np.save('%t/c.npy', np.uint8([0x38, 0xff]))"
// RUN: lpfa-run %s --entry=types --arg=%t/f.npy --arg=%t/h.npy --arg=%t/b.npy \
// RUN:   --arg=%t/i.npy --arg=%t/u.npy --arg=%t/t.npy --arg=%t/c.npy \
// RUN:   --out=%t/out
// RUN: %python -c "import numpy as np; \
// RUN:   [print(x.dtype, x.tolist()) for x in \
// RUN:    (np.load(f'%t/out/result{i}.npy') for i in range(8))]" \
// RUN:   | FileCheck %s --check-prefix=TYPES
//
// TYPES: float32 {{\[}}[2.0, -4.0], [7.0, nan]]
// TYPES: float16 [0.5, 2.0]
// TYPES: uint16 [16256, 49152]
// TYPES: int64 [8, -6]
// TYPES: int8 [-56, 3]
// TYPES: bool [True, False]
// TYPES: uint8 [56, 255]
// TYPES: float64 3.0

func.func @types(%f: tensor<?x2xf32>, %h: tensor<2xf16>, %b: tensor<?xbf16>,
                 %i: tensor<2xi64>, %u: tensor<?xi8>, %t: tensor<?xi1>,
                 %c: tensor<?xf8E4M3FN>)
    -> (tensor<?x2xf32>, tensor<2xf16>, tensor<?xbf16>, tensor<2xi64>,
        tensor<?xi8>, tensor<?xi1>, tensor<?xf8E4M3FN>, tensor<f64>) {
  %f2 = arith.addf %f, %f : tensor<?x2xf32>
  %one = arith.constant dense<1> : tensor<2xi64>
  %i1 = arith.addi %i, %one : tensor<2xi64>
  %three = arith.constant dense<3.0> : tensor<f64>
  return %f2, %h, %b, %i1, %u, %t, %c, %three
      : tensor<?x2xf32>, tensor<2xf16>, tensor<?xbf16>, tensor<2xi64>,
        tensor<?xi8>, tensor<?xi1>, tensor<?xf8E4M3FN>, tensor<f64>
}

// What other functions of the module hold does not matter.
func.func @unsupported(%x: tensor<4xi3>) -> tensor<4xi3> {
  return %x : tensor<4xi3>
}

// An empty tensor, and a result that is an argument twice.
//
// RUN: %python -c "import numpy as np; \
// RUN:   np.save('%t/empty.npy', np.zeros((0, 5), np.float32))"
// RUN: lpfa-run %s --entry=twice --arg=%t/empty.npy --out=%t/empty
// RUN: %python -c "import numpy as np; \
// RUN:   print(np.load('%t/empty/result1.npy').shape)" \
// RUN:   | FileCheck %s --check-prefix=EMPTY
// EMPTY: (0, 5)

func.func @twice(%x: tensor<?x5xf32>) -> (tensor<?x5xf32>, tensor<?x5xf32>) {
  return %x, %x : tensor<?x5xf32>, tensor<?x5xf32>
}

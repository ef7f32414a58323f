// RUN: rm -rf %t && mkdir %t
// RUN: %python -c "import numpy as np; \
// RUN:   np.save('%t/x.npy', np.float32([3, -4, np.inf, np.nan]))"
// RUN: lpfa-run %s --arg=%t/x.npy --compare=reference --tolerance-db=60 \
// RUN:   | FileCheck %s
// CHECK: result 0: max abs error 0, RMSE 0, SQNR inf dB, cosine 1.000000
// CHECK-NOT: result 1
//
// RUN: not lpfa-run %s --arg=%t/x.npy --out=%t/out --tolerance-db=60 2>&1 \
// RUN:   | FileCheck %s --check-prefix=ALONE
// ALONE: lpfa-run: error: --tolerance-db needs --compare=reference
// RUN: not ls %t/out

func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

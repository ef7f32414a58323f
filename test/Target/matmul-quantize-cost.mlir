// REQUIRES: ptxas-13.4, nvdisasm
// No kernel spills. The instructions of the epilogue role, its shortest pass
// without the products of edges: a row of 128 sums, with what it waits for,
// stores and counts. A step of the tensor core takes 256 clocks: behind four of
// them, or six, an epilogue is hidden.

// RUN: rm -rf %t && split-file %s %t
// RUN: lpfa-compile %t/rows.mlir -o %t/a --emit=cubin,cost | FileCheck %s
// RUN: FileCheck %s --check-prefix=ROWS < %t/a/cost.txt
// RUN: lpfa-compile %t/rows.mlir -o %t/b --emit=cubin,cost --chip=sm_103a | FileCheck %s
// RUN: FileCheck %s --check-prefix=ROWS < %t/b/cost.txt
// RUN: lpfa-compile %t/squares.mlir -o %t/c --emit=cubin,cost | FileCheck %s
// RUN: FileCheck %s --check-prefix=SQUARES < %t/c/cost.txt
// RUN: lpfa-compile %t/both.mlir -o %t/d --emit=cubin,cost | FileCheck %s
// RUN: FileCheck %s --check-prefix=BOTH < %t/d/cost.txt
// RUN: lpfa-compile %t/both.mlir -o %t/e --emit=cubin --chip=sm_103a | FileCheck %s

// CHECK-NOT: {{ [1-9][0-9]* bytes}}
// CHECK: f_kernel: {{[0-9]+}} registers, 0 bytes stack, 0 bytes spilled
// CHECK-NOT: {{ [1-9][0-9]* bytes}}

// ROWS: SASS
// ROWS-NEXT: epilogue
// ROWS-NEXT: epilogue shortest{{ +(5[0-9][0-9]) }}
// SQUARES: SASS
// SQUARES-NEXT: epilogue
// SQUARES-NEXT: epilogue shortest{{ +([56][0-9][0-9]) }}
// BOTH: SASS
// BOTH-NEXT: epilogue
// BOTH-NEXT: epilogue shortest{{ +(1[0-3][0-9][0-9]) }}

//--- rows.mlir
func.func @f(%a: tensor<?x?xf8E4M3FN>, %sa: tensor<?x?x32x4x4xf8E8M0FNU>,
             %b: tensor<?x?xf8E4M3FN>, %sb: tensor<?x?x32x4x4xf8E8M0FNU>)
    -> (tensor<?x?xf8E4M3FN>, tensor<?x?x32x4x4xf8E8M0FNU>) {
  %d = lpfa.matmul %a scaled %sa, %b scaled %sb
      : tensor<?x?xf8E4M3FN>, tensor<?x?x32x4x4xf8E8M0FNU>, tensor<?x?xf8E4M3FN>,
        tensor<?x?x32x4x4xf8E8M0FNU> -> tensor<?x?xbf16>
  %q, %s = lpfa.quantize %d axis(1)
      : tensor<?x?xbf16> -> tensor<?x?xf8E4M3FN>, tensor<?x?xf8E8M0FNU>
  %t = lpfa.pack_scales %s : tensor<?x?xf8E8M0FNU> -> tensor<?x?x32x4x4xf8E8M0FNU>
  return %q, %t : tensor<?x?xf8E4M3FN>, tensor<?x?x32x4x4xf8E8M0FNU>
}
//--- squares.mlir
func.func @f(%a: tensor<?x?xf8E4M3FN>, %sa: tensor<?x?x32x4x4xf8E8M0FNU>,
             %b: tensor<?x?xf8E4M3FN>, %sb: tensor<?x?x32x4x4xf8E8M0FNU>)
    -> (tensor<?x?xf8E4M3FN>, tensor<?x?x32x4x4xf8E8M0FNU>,
        tensor<?x?x32x4x4xf8E8M0FNU>) {
  %d = lpfa.matmul %a scaled %sa, %b scaled %sb
      : tensor<?x?xf8E4M3FN>, tensor<?x?x32x4x4xf8E8M0FNU>, tensor<?x?xf8E4M3FN>,
        tensor<?x?x32x4x4xf8E8M0FNU> -> tensor<?x?xbf16>
  %q, %s = lpfa.quantize %d axis(1) square
      : tensor<?x?xbf16> -> tensor<?x?xf8E4M3FN>, tensor<?x?xf8E8M0FNU>
  %p, %t = lpfa.quantize %d axis(0) square
      : tensor<?x?xbf16> -> tensor<?x?xf8E4M3FN>, tensor<?x?xf8E8M0FNU>
  %u = lpfa.pack_scales %s : tensor<?x?xf8E8M0FNU> -> tensor<?x?x32x4x4xf8E8M0FNU>
  %v = lpfa.pack_scales %t transposed
      : tensor<?x?xf8E8M0FNU> -> tensor<?x?x32x4x4xf8E8M0FNU>
  return %q, %u, %v : tensor<?x?xf8E4M3FN>, tensor<?x?x32x4x4xf8E8M0FNU>,
      tensor<?x?x32x4x4xf8E8M0FNU>
}
//--- both.mlir
func.func @f(%a: tensor<?x?xf8E4M3FN>, %sa: tensor<?x?x32x4x4xf8E8M0FNU>,
             %b: tensor<?x?xf8E4M3FN>, %sb: tensor<?x?x32x4x4xf8E8M0FNU>)
    -> (tensor<?x?xbf16>, tensor<?x?xf8E4M3FN>, tensor<?x?x32x4x4xf8E8M0FNU>,
        tensor<?x?xf8E4M3FN>, tensor<?x?x32x4x4xf8E8M0FNU>) {
  %d = lpfa.matmul %a scaled %sa, %b scaled %sb
      : tensor<?x?xf8E4M3FN>, tensor<?x?x32x4x4xf8E8M0FNU>, tensor<?x?xf8E4M3FN>,
        tensor<?x?x32x4x4xf8E8M0FNU> -> tensor<?x?xbf16>
  %q, %s = lpfa.quantize %d axis(1)
      : tensor<?x?xbf16> -> tensor<?x?xf8E4M3FN>, tensor<?x?xf8E8M0FNU>
  %p, %t = lpfa.quantize %d axis(0)
      : tensor<?x?xbf16> -> tensor<?x?xf8E4M3FN>, tensor<?x?xf8E8M0FNU>
  %u = lpfa.pack_scales %s : tensor<?x?xf8E8M0FNU> -> tensor<?x?x32x4x4xf8E8M0FNU>
  %v = lpfa.pack_scales %t transposed
      : tensor<?x?xf8E8M0FNU> -> tensor<?x?x32x4x4xf8E8M0FNU>
  return %d, %q, %u, %p, %v
      : tensor<?x?xbf16>, tensor<?x?xf8E4M3FN>, tensor<?x?x32x4x4xf8E8M0FNU>,
        tensor<?x?xf8E4M3FN>, tensor<?x?x32x4x4xf8E8M0FNU>
}

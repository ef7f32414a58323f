// Every conversion between f32 and the narrow formats, to run over all codes and
// boundaries: test_narrow_floats.py.
//
// RUN: lpfa-opt %s -lpfa-expand-narrow-floats | FileCheck %s
// CHECK-NOT: f8E
// CHECK-NOT: f6E
// CHECK-NOT: f4E

#map = affine_map<(d0) -> (d0)>

func.func @decode_e4m3(%x: tensor<?xf8E4M3FN>) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?xf8E4M3FN>
  %init = tensor.empty(%n) : tensor<?xf32>
  %y = linalg.generic {indexing_maps = [#map, #map],
                       iterator_types = ["parallel"]}
      ins(%x : tensor<?xf8E4M3FN>) outs(%init : tensor<?xf32>) {
  ^bb0(%in: f8E4M3FN, %out: f32):
    %v = lpfa.decode %in : f8E4M3FN to f32
    linalg.yield %v : f32
  } -> tensor<?xf32>
  return %y : tensor<?xf32>
}

func.func @encode_e4m3(%x: tensor<?xf32>) -> tensor<?xf8E4M3FN> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?xf32>
  %init = tensor.empty(%n) : tensor<?xf8E4M3FN>
  %y = linalg.generic {indexing_maps = [#map, #map],
                       iterator_types = ["parallel"]}
      ins(%x : tensor<?xf32>) outs(%init : tensor<?xf8E4M3FN>) {
  ^bb0(%in: f32, %out: f8E4M3FN):
    %v = lpfa.encode %in : f32 to f8E4M3FN
    linalg.yield %v : f8E4M3FN
  } -> tensor<?xf8E4M3FN>
  return %y : tensor<?xf8E4M3FN>
}

func.func @decode_e5m2(%x: tensor<?xf8E5M2>) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?xf8E5M2>
  %init = tensor.empty(%n) : tensor<?xf32>
  %y = linalg.generic {indexing_maps = [#map, #map],
                       iterator_types = ["parallel"]}
      ins(%x : tensor<?xf8E5M2>) outs(%init : tensor<?xf32>) {
  ^bb0(%in: f8E5M2, %out: f32):
    %v = lpfa.decode %in : f8E5M2 to f32
    linalg.yield %v : f32
  } -> tensor<?xf32>
  return %y : tensor<?xf32>
}

func.func @encode_e5m2(%x: tensor<?xf32>) -> tensor<?xf8E5M2> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?xf32>
  %init = tensor.empty(%n) : tensor<?xf8E5M2>
  %y = linalg.generic {indexing_maps = [#map, #map],
                       iterator_types = ["parallel"]}
      ins(%x : tensor<?xf32>) outs(%init : tensor<?xf8E5M2>) {
  ^bb0(%in: f32, %out: f8E5M2):
    %v = lpfa.encode %in : f32 to f8E5M2
    linalg.yield %v : f8E5M2
  } -> tensor<?xf8E5M2>
  return %y : tensor<?xf8E5M2>
}

func.func @decode_e2m3(%x: tensor<?xf6E2M3FN>) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?xf6E2M3FN>
  %init = tensor.empty(%n) : tensor<?xf32>
  %y = linalg.generic {indexing_maps = [#map, #map],
                       iterator_types = ["parallel"]}
      ins(%x : tensor<?xf6E2M3FN>) outs(%init : tensor<?xf32>) {
  ^bb0(%in: f6E2M3FN, %out: f32):
    %v = lpfa.decode %in : f6E2M3FN to f32
    linalg.yield %v : f32
  } -> tensor<?xf32>
  return %y : tensor<?xf32>
}

func.func @encode_e2m3(%x: tensor<?xf32>) -> tensor<?xf6E2M3FN> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?xf32>
  %init = tensor.empty(%n) : tensor<?xf6E2M3FN>
  %y = linalg.generic {indexing_maps = [#map, #map],
                       iterator_types = ["parallel"]}
      ins(%x : tensor<?xf32>) outs(%init : tensor<?xf6E2M3FN>) {
  ^bb0(%in: f32, %out: f6E2M3FN):
    %v = lpfa.encode %in : f32 to f6E2M3FN
    linalg.yield %v : f6E2M3FN
  } -> tensor<?xf6E2M3FN>
  return %y : tensor<?xf6E2M3FN>
}

func.func @decode_e3m2(%x: tensor<?xf6E3M2FN>) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?xf6E3M2FN>
  %init = tensor.empty(%n) : tensor<?xf32>
  %y = linalg.generic {indexing_maps = [#map, #map],
                       iterator_types = ["parallel"]}
      ins(%x : tensor<?xf6E3M2FN>) outs(%init : tensor<?xf32>) {
  ^bb0(%in: f6E3M2FN, %out: f32):
    %v = lpfa.decode %in : f6E3M2FN to f32
    linalg.yield %v : f32
  } -> tensor<?xf32>
  return %y : tensor<?xf32>
}

func.func @encode_e3m2(%x: tensor<?xf32>) -> tensor<?xf6E3M2FN> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?xf32>
  %init = tensor.empty(%n) : tensor<?xf6E3M2FN>
  %y = linalg.generic {indexing_maps = [#map, #map],
                       iterator_types = ["parallel"]}
      ins(%x : tensor<?xf32>) outs(%init : tensor<?xf6E3M2FN>) {
  ^bb0(%in: f32, %out: f6E3M2FN):
    %v = lpfa.encode %in : f32 to f6E3M2FN
    linalg.yield %v : f6E3M2FN
  } -> tensor<?xf6E3M2FN>
  return %y : tensor<?xf6E3M2FN>
}

func.func @decode_e2m1(%x: tensor<?xf4E2M1FN>) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?xf4E2M1FN>
  %init = tensor.empty(%n) : tensor<?xf32>
  %y = linalg.generic {indexing_maps = [#map, #map],
                       iterator_types = ["parallel"]}
      ins(%x : tensor<?xf4E2M1FN>) outs(%init : tensor<?xf32>) {
  ^bb0(%in: f4E2M1FN, %out: f32):
    %v = lpfa.decode %in : f4E2M1FN to f32
    linalg.yield %v : f32
  } -> tensor<?xf32>
  return %y : tensor<?xf32>
}

func.func @encode_e2m1(%x: tensor<?xf32>) -> tensor<?xf4E2M1FN> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?xf32>
  %init = tensor.empty(%n) : tensor<?xf4E2M1FN>
  %y = linalg.generic {indexing_maps = [#map, #map],
                       iterator_types = ["parallel"]}
      ins(%x : tensor<?xf32>) outs(%init : tensor<?xf4E2M1FN>) {
  ^bb0(%in: f32, %out: f4E2M1FN):
    %v = lpfa.encode %in : f32 to f4E2M1FN
    linalg.yield %v : f4E2M1FN
  } -> tensor<?xf4E2M1FN>
  return %y : tensor<?xf4E2M1FN>
}

func.func @decode_e8m0(%x: tensor<?xf8E8M0FNU>) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?xf8E8M0FNU>
  %init = tensor.empty(%n) : tensor<?xf32>
  %y = linalg.generic {indexing_maps = [#map, #map],
                       iterator_types = ["parallel"]}
      ins(%x : tensor<?xf8E8M0FNU>) outs(%init : tensor<?xf32>) {
  ^bb0(%in: f8E8M0FNU, %out: f32):
    %v = lpfa.decode %in : f8E8M0FNU to f32
    linalg.yield %v : f32
  } -> tensor<?xf32>
  return %y : tensor<?xf32>
}

func.func @encode_e8m0(%x: tensor<?xf32>) -> tensor<?xf8E8M0FNU> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?xf32>
  %init = tensor.empty(%n) : tensor<?xf8E8M0FNU>
  %y = linalg.generic {indexing_maps = [#map, #map],
                       iterator_types = ["parallel"]}
      ins(%x : tensor<?xf32>) outs(%init : tensor<?xf8E8M0FNU>) {
  ^bb0(%in: f32, %out: f8E8M0FNU):
    %v = lpfa.encode %in : f32 to f8E8M0FNU
    linalg.yield %v : f8E8M0FNU
  } -> tensor<?xf8E8M0FNU>
  return %y : tensor<?xf8E8M0FNU>
}

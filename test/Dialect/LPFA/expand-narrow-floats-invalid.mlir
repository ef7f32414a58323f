// RUN: lpfa-opt %s -lpfa-expand-narrow-floats -split-input-file -verify-diagnostics

func.func @extend(%a: f8E4M3FN) -> f32 {
  // expected-error @+1 {{'arith.extf' op computes on a narrow float, whose conversions are 'lpfa.decode' and 'lpfa.encode'}}
  %x = arith.extf %a : f8E4M3FN to f32
  return %x : f32
}

// -----

func.func @truncate(%a: tensor<4xf32>) -> tensor<4xf8E8M0FNU> {
  // expected-error @+1 {{'arith.truncf' op computes on a narrow float}}
  %x = arith.truncf %a : tensor<4xf32> to tensor<4xf8E8M0FNU>
  return %x : tensor<4xf8E8M0FNU>
}

// -----

func.func @absolute(%a: f4E2M1FN) -> f4E2M1FN {
  // expected-error @+1 {{'math.absf' op computes on a narrow float}}
  %x = math.absf %a : f4E2M1FN
  return %x : f4E2M1FN
}

// -----

func.func @reduce(%a: vector<4xf8E5M2>) -> f8E5M2 {
  // expected-error @+1 {{'vector.reduction' op computes on a narrow float}}
  %x = vector.reduction <add>, %a : vector<4xf8E5M2> into f8E5M2
  return %x : f8E5M2
}

// -----

func.func @named_op(%a: tensor<4x4xf8E4M3FN>, %c: tensor<4x4xf32>)
    -> tensor<4x4xf32> {
  // expected-error @+1 {{'linalg.matmul' op computes on a narrow float}}
  %x = linalg.matmul ins(%a, %a : tensor<4x4xf8E4M3FN>, tensor<4x4xf8E4M3FN>)
      outs(%c : tensor<4x4xf32>) -> tensor<4x4xf32>
  return %x : tensor<4x4xf32>
}

// -----

func.func @not_lowered(%s: tensor<128x4xf8E8M0FNU>)
    -> tensor<1x1x32x4x4xf8E8M0FNU> {
  // expected-error @+1 {{'lpfa.pack_scales' op must be lowered before narrow floats are expanded}}
  %b = lpfa.pack_scales %s
      : tensor<128x4xf8E8M0FNU> -> tensor<1x1x32x4x4xf8E8M0FNU>
  return %b : tensor<1x1x32x4x4xf8E8M0FNU>
}

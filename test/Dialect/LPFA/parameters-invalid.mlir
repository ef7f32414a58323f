// RUN: lpfa-opt %s -split-input-file -verify-diagnostics

// expected-error @+1 {{a parameter must name the operand of the launch}}
#a = #lpfa.parameter<pointer>

// -----

// expected-error @+1 {{sizes and strides must name a dimension, the others none (C1)}}
#a = #lpfa.parameter<size, operand = 0>

// -----

// expected-error @+1 {{sizes and strides must name a dimension, the others none (C1)}}
#a = #lpfa.parameter<pointer, operand = 0, dimension = 1>

// -----

// expected-error @+1 {{only a tensor map has a box (C2)}}
#a = #lpfa.parameter<stride, operand = 0, dimension = 1, swizzle = 64>

// -----

// expected-error @+1 {{a tensor map must have one to five box sizes from 1 to 256}}
#a = #lpfa.parameter<tensor_map, operand = 0, box = [512], element = i8>

// -----

// expected-error @+1 {{a swizzle of 0, 32, 64 or 128 and an element type (C2)}}
#a = #lpfa.parameter<tensor_map, operand = 0, box = [64], swizzle = 48, element = i8>

// -----

// expected-error @+1 {{expected 'operand', 'dimension', 'box', 'swizzle' or 'element'}}
#a = #lpfa.parameter<pointer, operands = 0>

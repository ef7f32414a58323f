%s = builtin.unrealized_conversion_cast to tensor<2x200x6xf8E8M0FNU>
%b = lpfa.pack_scales %s
    : tensor<2x200x6xf8E8M0FNU> -> tensor<2x2x2x32x4x4xf8E8M0FNU>

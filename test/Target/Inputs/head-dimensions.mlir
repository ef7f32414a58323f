func.func @d96(%q: tensor<?x?x?x96xf8E4M3FN>, %sq: tensor<?x?x?x1x32x4x4xf8E8M0FNU>,
                %k: tensor<?x?x?x96xf8E4M3FN>, %sk: tensor<?x?x?x1x32x4x4xf8E8M0FNU>,
                %v: tensor<?x?x?x96xf8E4M3FN>, %sv: tensor<?x?x1x?x32x4x4xf8E8M0FNU>)
    -> (tensor<?x?x?x96xbf16>, tensor<?x?x?xf32>) {
  %o, %lse = lpfa.attention %q scaled %sq, %k scaled %sk, %v scaled %sv {scale = 0.125 : f32}
      : (tensor<?x?x?x96xf8E4M3FN>, tensor<?x?x?x1x32x4x4xf8E8M0FNU>,
         tensor<?x?x?x96xf8E4M3FN>, tensor<?x?x?x1x32x4x4xf8E8M0FNU>,
         tensor<?x?x?x96xf8E4M3FN>, tensor<?x?x1x?x32x4x4xf8E8M0FNU>)
      -> (tensor<?x?x?x96xbf16>, tensor<?x?x?xf32>)
  return %o, %lse : tensor<?x?x?x96xbf16>, tensor<?x?x?xf32>
}

func.func @latent(%q: tensor<?x?x?x192xf8E4M3FN>, %sq: tensor<?x?x?x2x32x4x4xf8E8M0FNU>,
                %k: tensor<?x?x?x192xf8E4M3FN>, %sk: tensor<?x?x?x2x32x4x4xf8E8M0FNU>,
                %v: tensor<?x?x?x128xf8E4M3FN>, %sv: tensor<?x?x1x?x32x4x4xf8E8M0FNU>)
    -> (tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>) {
  %o, %lse = lpfa.attention %q scaled %sq, %k scaled %sk, %v scaled %sv {scale = 0.125 : f32}
      : (tensor<?x?x?x192xf8E4M3FN>, tensor<?x?x?x2x32x4x4xf8E8M0FNU>,
         tensor<?x?x?x192xf8E4M3FN>, tensor<?x?x?x2x32x4x4xf8E8M0FNU>,
         tensor<?x?x?x128xf8E4M3FN>, tensor<?x?x1x?x32x4x4xf8E8M0FNU>)
      -> (tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>)
  return %o, %lse : tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>
}

func.func @d256(%q: tensor<?x?x?x256xf8E4M3FN>, %sq: tensor<?x?x?x2x32x4x4xf8E8M0FNU>,
                %k: tensor<?x?x?x256xf8E4M3FN>, %sk: tensor<?x?x?x2x32x4x4xf8E8M0FNU>,
                %v: tensor<?x?x?x256xf8E4M3FN>, %sv: tensor<?x?x2x?x32x4x4xf8E8M0FNU>)
    -> (tensor<?x?x?x256xbf16>, tensor<?x?x?xf32>) {
  %o, %lse = lpfa.attention %q scaled %sq, %k scaled %sk, %v scaled %sv {scale = 0.125 : f32}
      : (tensor<?x?x?x256xf8E4M3FN>, tensor<?x?x?x2x32x4x4xf8E8M0FNU>,
         tensor<?x?x?x256xf8E4M3FN>, tensor<?x?x?x2x32x4x4xf8E8M0FNU>,
         tensor<?x?x?x256xf8E4M3FN>, tensor<?x?x2x?x32x4x4xf8E8M0FNU>)
      -> (tensor<?x?x?x256xbf16>, tensor<?x?x?xf32>)
  return %o, %lse : tensor<?x?x?x256xbf16>, tensor<?x?x?xf32>
}

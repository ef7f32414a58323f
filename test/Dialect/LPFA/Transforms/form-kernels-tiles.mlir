// Tiles of 96 keys straddle the usual atoms of 128: the scales of keys and values
// are packed with atoms for each tile.

// RUN: lpfa-opt %s -lpfa-form-kernels=key-tile=96 -split-input-file | FileCheck %s

// The loads of keys: 128 rows from every 96th on, of which products read 96.
// CHECK:      lpfa.kernel @f_pack_tile_scales stage(tile) (%[[ROWS:.*]]: !lpfa.view<?x2x?x4xf8E8M0FNU>, %[[ATOMS:.*]]: !lpfa.view<?x2x?x1x32x4x4xf8E8M0FNU>)
// CHECK:        lpfa.for_work (%[[B:.*]], %[[H:.*]], %[[N:.*]], %[[G:.*]]) in
// CHECK-DAG:      %[[ROW:.*]] = arith.muli %[[N]], %c96
// CHECK-DAG:      %[[GROUP:.*]] = arith.muli %[[G]], %c4
// CHECK:          %[[TILE:.*]] = lpfa.load %[[ROWS]][%[[B]], %[[H]], %[[ROW]], %[[GROUP]]] {{.*}} -> <128x4xf8E8M0FNU>
// CHECK:          %[[ATOM:.*]] = lpfa.pack_atom %[[TILE]] :
// CHECK:          lpfa.store %[[ATOM]] -> %[[ATOMS]][%[[B]], %[[H]], %[[N]], %[[G]],
// Those of values: four groups from every third on.
// CHECK:      lpfa.kernel @f_pack_tile_scales_0 stage(tile) (%[[ROWS:.*]]: !lpfa.view<?x2x?x64xf8E8M0FNU>, %[[ATOMS:.*]]: !lpfa.view<?x2x1x?x32x4x4xf8E8M0FNU>)
// CHECK:        lpfa.for_work (%[[B:.*]], %[[H:.*]], %[[N:.*]], %[[C:.*]]) in
// CHECK-DAG:      %[[GROUP:.*]] = arith.muli %[[N]], %c3
// CHECK-DAG:      %[[COLUMN:.*]] = arith.muli %[[C]], %c128
// CHECK:          %[[TILE:.*]] = lpfa.load %[[ROWS]][%[[B]], %[[H]], %[[GROUP]], %[[COLUMN]]] {{.*}} -> <4x128xf8E8M0FNU>
// CHECK:          %[[ATOM:.*]] = lpfa.pack_atom %[[TILE]] transposed
// CHECK:          lpfa.store %[[ATOM]] -> %[[ATOMS]][%[[B]], %[[H]], %[[C]], %[[N]],
// CHECK:      lpfa.kernel @f_kernel
// CHECK:        scf.for %[[N:[a-z0-9]+]] =
// CHECK:          lpfa.load %{{.*}}[%{{.*}}, %{{.*}}, %[[N]], %c0{{.*}} -> <32x4x4xf8E8M0FNU>
// CHECK:          lpfa.load %{{.*}}[%{{.*}}, %{{.*}}, %c0{{.*}}, %[[N]], %c0{{.*}} -> <32x4x4xf8E8M0FNU>
// CHECK:          lpfa.dot {{.*}} transpose_b : <128x128xf8E4M3FN>, <96x128xf8E4M3FN> -> <128x96xf32>
// CHECK:          lpfa.softmax_step {{.*}} : <128x96xf32> -> <128x96xf8E4M3FN>
// CHECK:          lpfa.dot {{.*}} : <128x96xf8E4M3FN>, <96x64xf8E4M3FN> -> <128x64xf32>
func.func @f(%q: tensor<?x4x?x128xf8E4M3FN>, %sq: tensor<?x4x?x1x32x4x4xf8E8M0FNU>,
             %k: tensor<?x2x?x128xf8E4M3FN>, %sk: tensor<?x2x?x4xf8E8M0FNU>,
             %v: tensor<?x2x?x64xf8E4M3FN>, %sv: tensor<?x2x?x64xf8E8M0FNU>)
    -> (tensor<?x4x?x64xf32>, tensor<?x4x?xf32>) {
  %o, %lse = lpfa.attention %q scaled %sq, %k scaled %sk, %v scaled %sv {scale = 0.125 : f32}
      : (tensor<?x4x?x128xf8E4M3FN>, tensor<?x4x?x1x32x4x4xf8E8M0FNU>,
         tensor<?x2x?x128xf8E4M3FN>, tensor<?x2x?x4xf8E8M0FNU>,
         tensor<?x2x?x64xf8E4M3FN>, tensor<?x2x?x64xf8E8M0FNU>)
      -> (tensor<?x4x?x64xf32>, tensor<?x4x?xf32>)
  return %o, %lse : tensor<?x4x?x64xf32>, tensor<?x4x?xf32>
}

// -----

// Blocked ones are unpacked before.
// CHECK-LABEL: func.func @blocked
// CHECK-DAG:     %[[SK:.*]] = lpfa.launch @blocked_unpack_scales{{.*}} -> tensor<1x2x500x4xf8E8M0FNU>
// CHECK-DAG:     lpfa.launch @blocked_pack_tile_scales grid(%{{.*}}) ins(%[[SK]] : {{.*}} -> tensor<1x2x6x1x32x4x4xf8E8M0FNU>
// CHECK-DAG:     %[[SV:.*]] = lpfa.launch @blocked_unpack_scales{{.*}} -> tensor<1x2x16x128xf8E8M0FNU>
// CHECK-DAG:     lpfa.launch @blocked_pack_tile_scales_0 grid(%{{.*}}) ins(%[[SV]] : {{.*}} -> tensor<1x2x1x6x32x4x4xf8E8M0FNU>
func.func @blocked(%q: tensor<1x2x256x128xf8E4M3FN>, %sq: tensor<1x2x2x1x32x4x4xf8E8M0FNU>,
                   %k: tensor<1x2x500x128xf8E4M3FN>, %sk: tensor<1x2x4x1x32x4x4xf8E8M0FNU>,
                   %v: tensor<1x2x500x128xf8E4M3FN>, %sv: tensor<1x2x1x4x32x4x4xf8E8M0FNU>)
    -> (tensor<1x2x256x128xf32>, tensor<1x2x256xf32>) {
  %o, %lse = lpfa.attention %q scaled %sq, %k scaled %sk, %v scaled %sv {scale = 0.125 : f32}
      : (tensor<1x2x256x128xf8E4M3FN>, tensor<1x2x2x1x32x4x4xf8E8M0FNU>,
         tensor<1x2x500x128xf8E4M3FN>, tensor<1x2x4x1x32x4x4xf8E8M0FNU>,
         tensor<1x2x500x128xf8E4M3FN>, tensor<1x2x1x4x32x4x4xf8E8M0FNU>)
      -> (tensor<1x2x256x128xf32>, tensor<1x2x256xf32>)
  return %o, %lse : tensor<1x2x256x128xf32>, tensor<1x2x256xf32>
}

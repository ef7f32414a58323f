//===- LPFATypes.td - Types of the lpfa dialect ------------*- tablegen -*-===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LPFA_DIALECT_LPFA_IR_LPFATYPES_TD
#define LPFA_DIALECT_LPFA_IR_LPFATYPES_TD

include "lpfa/Dialect/LPFA/IR/LPFADialect.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinTypeInterfaces.td"
include "mlir/IR/EnumAttr.td"

class LPFA_Type<string name, string typeMnemonic, list<Trait> traits = []>
    : TypeDef<LPFA_Dialect, name, traits> {
  let mnemonic = typeMnemonic;
}

//===----------------------------------------------------------------------===//
// Memory spaces
//===----------------------------------------------------------------------===//

def LPFA_MemorySpace
    : I32Enum<"MemorySpace", "an on-chip memory",
              [I32EnumCase<"Shared", 0, "shared">,
               I32EnumCase<"Tensor", 1, "tensor">]> {
  let cppNamespace = "::lpfa";
  let description = [{
    - `shared`: shared memory of the CTA, addressed in bytes.
    - `tensor`: tensor memory, 128 lanes by 512 columns of 32 bits a CTA,
      addressed in columns.
  }];
}

//===----------------------------------------------------------------------===//
// Types of kernels
//===----------------------------------------------------------------------===//

def LPFA_ViewType : LPFA_Type<"View", "view", [ShapedTypeInterface]> {
  let summary = "a tensor in global memory: base pointer, sizes, strides";
  let description = [{
    A kernel's argument. `?` stands for a size known at launch. Strides are
    part of the value, not of the type.

    Example: `!lpfa.view<?x?x?x128xf8E4M3FN>`
  }];
  let parameters = (ins ArrayRefParameter<"int64_t">:$shape,
                        "::mlir::Type":$elementType);
  let hasCustomAssemblyFormat = 1;
  let extraClassDeclaration = [{
    bool hasRank() const { return true; }
    ViewType cloneWith(std::optional<::llvm::ArrayRef<int64_t>> shape,
                       ::mlir::Type elementType) const {
      return ViewType::get(getContext(), shape.value_or(getShape()),
                           elementType);
    }
  }];
}

def LPFA_TileType : LPFA_Type<"Tile", "tile", [ShapedTypeInterface]> {
  let summary = "a statically shaped piece of a tensor, as a value";
  let description = [{
    Where a tile lives is not said: at the tile stage nowhere yet, inside a
    role in the registers of the role's threads.

    - (C1) Every dimension is static and positive.

    Example: `!lpfa.tile<128x128xf32>`
  }];
  let parameters = (ins ArrayRefParameter<"int64_t">:$shape,
                        "::mlir::Type":$elementType);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    bool hasRank() const { return true; }
    TileType cloneWith(std::optional<::llvm::ArrayRef<int64_t>> shape,
                       ::mlir::Type elementType) const {
      return TileType::get(getContext(), shape.value_or(getShape()),
                           elementType);
    }

    /// An atom of scale factors, `32x4x4xf8E8M0FNU`.
    static TileType getAtom(::mlir::MLIRContext *context);

    /// Whether the tile is an atom of scale factors of any type, or some of them
    /// one after the other.
    bool isAtom() const;
    int64_t getAtoms() const { return getRank() == 4 ? getShape()[0] : 1; }

    /// The tile of one f32 for each row of this one.
    TileType getRow() const;
  }];
}

def LPFA_BufferType : LPFA_Type<"Buffer", "buffer", [ShapedTypeInterface]> {
  let summary = "a tile's home in shared or tensor memory";
  let description = [{
    A reference to on-chip memory that holds one tile. Scale factors have the
    shape `32x4x4` of one 512-byte atom: 128 rows by 4 groups, byte
    `(r % 32) * 16 + (r / 32) * 4 + g`; in tensor memory an atom takes four
    columns, repeated in the four quarters of the lanes.

    - (C1) Every dimension is static and positive.

    Example: `!lpfa.buffer<128x128xf32, tensor>`
  }];
  let parameters = (ins ArrayRefParameter<"int64_t">:$shape,
                        "::mlir::Type":$elementType,
                        "::lpfa::MemorySpace":$space);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    bool hasRank() const { return true; }
    BufferType cloneWith(std::optional<::llvm::ArrayRef<int64_t>> shape,
                         ::mlir::Type elementType) const {
      return BufferType::get(getContext(), shape.value_or(getShape()),
                             elementType, getSpace());
    }

    /// The tile that the buffer holds.
    TileType getTile() const {
      return TileType::get(getContext(), getShape(), getElementType());
    }

    /// Whether the buffer holds an atom of scale factors.
    bool isScales() const;

    /// Bytes from a row to the next in shared memory. Rows of a matrix of 32
    /// bytes and more are padded to 32, 64 or a multiple of 128, the widths of
    /// the swizzles by which engines access them.
    int64_t getPitch() const;

    /// What the buffer takes of its memory: bytes of shared memory, columns of
    /// tensor memory. A row of a tile in tensor memory lies in one lane, packed
    /// into 32-bit columns.
    int64_t getSize() const;
  }];
}

def LPFA_ChannelType : LPFA_Type<"Channel", "channel"> {
  let summary = "a ring of slots from one role to others";
  let description = [{
    A slot holds the given buffers, which come and go together.

    - (C1) A slot has at least one buffer.

    Example: `!lpfa.channel<buffer<128x128xf8E4M3FN, shared>,
    buffer<32x4x4xf8E8M0FNU, shared>>`
  }];
  let parameters = (ins ArrayRefParameter<"::lpfa::BufferType">:$buffers);
  let assemblyFormat = "`<` custom<BufferList>($buffers) `>`";
  let genVerifyDecl = 1;
}

def LPFA_BarrierType : LPFA_Type<"Barrier", "barrier"> {
  let summary = "a ring of mbarriers in shared memory";
}

def LPFA_CursorType : LPFA_Type<"Cursor", "cursor"> {
  let summary = "a role's position in a ring: a use number";
  let description = [{
    A variable of the role, 0 at its start and one more at each `lpfa.advance`.
    Use number `u` of a ring of `s` stages is slot `u mod s`.
  }];
}

#endif // LPFA_DIALECT_LPFA_IR_LPFATYPES_TD

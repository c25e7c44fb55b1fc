"""Written by `pytest tests/contracts --update-golden`, from the tables of the module beside it."""

from typing import Any

from triptych.cute import amdgpu as amdgpu
from triptych.cute import arch as arch
from triptych.cute import math as math
from triptych.cute import nvgpu as nvgpu
from triptych.cute import runtime as runtime
from triptych.cute import testing as testing
from triptych.cute import typing as typing
from triptych.cute import utils as utils
from triptych.cute.memory.address_spaces import AddressSpace as AddressSpace
from triptych.objectstage.compile_flags import AsyncOrder as AsyncOrder
from triptych.metastage.values.scalars import BFloat16 as BFloat16
from triptych.metastage.values.scalars import Boolean as Boolean
from triptych.layout import ComposedLayout as ComposedLayout
from triptych.objectstage.compile_flags import Contract as Contract
from triptych.cute.tensors.program_integers import Coord as Coord
from triptych.cute.copies.atoms import CopyAtom as CopyAtom
from triptych.cute.copies.atoms import CopyLayouts as CopyLayouts
from triptych.cute.copies.atoms import CopyOperation as CopyOp
from triptych.cute.copies.atoms import CopyOperation as CopyOperation
from triptych.layout import E as E
from triptych.objectstage.compile_flags import EnableAssertions as EnableAssertions
from triptych.objectstage.compile_flags import EnableTVMFFI as EnableTVMFFI
from triptych.cute.dynamic.divisors import FastDivmodDivisor as FastDivmodDivisor
from triptych.metastage.values.scalars import Float as Float
from triptych.metastage.values.scalars import Float4E2M1FN as Float4E2M1FN
from triptych.metastage.values.scalars import Float6E2M3FN as Float6E2M3FN
from triptych.metastage.values.scalars import Float6E3M2FN as Float6E3M2FN
from triptych.metastage.values.scalars import Float8E4M3 as Float8E4M3
from triptych.metastage.values.scalars import Float8E4M3B11FNUZ as Float8E4M3B11FNUZ
from triptych.metastage.values.scalars import Float8E4M3FN as Float8E4M3FN
from triptych.metastage.values.scalars import Float8E4M3FNUZ as Float8E4M3FNUZ
from triptych.metastage.values.scalars import Float8E5M2 as Float8E5M2
from triptych.metastage.values.scalars import Float8E5M2FNUZ as Float8E5M2FNUZ
from triptych.metastage.values.scalars import Float8E8M0FNU as Float8E8M0FNU
from triptych.metastage.values.scalars import Float16 as Float16
from triptych.metastage.values.scalars import Float32 as Float32
from triptych.metastage.values.scalars import Float64 as Float64
from triptych.objectstage.compile_flags import GPUArch as GPUArch
from triptych.objectstage.compile_flags import GenerateLineInfo as GenerateLineInfo
from triptych.cute.tensors.program_integers import Int as Int
from triptych.metastage.values.scalars import Int4 as Int4
from triptych.metastage.values.scalars import Int8 as Int8
from triptych.metastage.values.scalars import Int16 as Int16
from triptych.metastage.values.scalars import Int32 as Int32
from triptych.metastage.values.scalars import Int64 as Int64
from triptych.metastage.values.scalars import Int128 as Int128
from triptych.cute.tensors.program_integers import IntTuple as IntTuple
from triptych.metastage.values.scalars import Integer as Integer
from triptych.objectstage.compile_flags import KeepCUBIN as KeepCUBIN
from triptych.objectstage.compile_flags import KeepPTX as KeepPTX
from triptych.layout import Layout as Layout
from triptych.cute.mma.atoms import MmaAtom as MmaAtom
from triptych.cute.mma.atoms import MmaOperation as MmaOp
from triptych.cute.mma.atoms import MmaOperation as MmaOperation
from triptych.metastage.values.scalars import Numeric as Numeric
from triptych.objectstage.compile_flags import OptLevel as OptLevel
from triptych.cute.memory.pointers import Pointer as Pointer
from triptych.objectstage.compile_flags import PtxasOptions as PtxasOptions
from triptych.cute.tensors.reduction import ReductionOp as ReductionKind
from triptych.cute.tensors.reduction import ReductionOp as ReductionOp
from triptych.cute.tensors.program_integers import Shape as Shape
from triptych.cute.tensors.shared_memory import SmemAllocator as SmemAllocator
from triptych.cute.tensors.program_integers import Stride as Stride
from triptych.layout import Swizzle as Swizzle
from triptych.layout import SymInt as SymInt
from triptych.metastage.values.scalars import TFloat32 as TFloat32
from triptych.cute.tensors.tensor import Tensor as Tensor
from triptych.cute.tensors.value import TensorSSA as TensorSSA
from triptych.cute.copies.tiled import ThrCopy as ThrCopy
from triptych.cute.mma.tiled import ThrMma as ThrMma
from triptych.cute.tensors.program_integers import Tile as Tile
from triptych.cute.copies.tiled import TiledCopy as TiledCopy
from triptych.cute.mma.tiled import TiledMma as TiledMma
from triptych.metastage.values.scalars import Uint8 as Uint8
from triptych.metastage.values.scalars import Uint16 as Uint16
from triptych.metastage.values.scalars import Uint32 as Uint32
from triptych.metastage.values.scalars import Uint64 as Uint64
from triptych.metastage.values.scalars import Uint128 as Uint128
from triptych.layout import ComposedLayout as _ComposedLayout
from triptych.cute.tensors.tensor import Tensor as _Tensor
from triptych.cute.mathematics.functions import acos as acos
from triptych.cute.tensors.value_functions import all_ as all_
from triptych.cute.tensors.value_functions import any_ as any_
from triptych.cute.tensors.views import append as append
from triptych.cute.tensors.views import append_ones as append_ones
from triptych.cute.mathematics.functions import asin as asin
from triptych.cute.tensors.layout_queries import assume as assume
from triptych.cute.mathematics.functions import atan as atan
from triptych.cute.mathematics.functions import atan2 as atan2
from triptych.cute.copies.dispatch import autovec_copy as autovec_copy
from triptych.cute.copies.dispatch import basic_copy as basic_copy
from triptych.cute.copies.dispatch import basic_copy_if as basic_copy_if
from triptych.cute.tensors.views import blocked_product as blocked_product
from triptych.cute.tensors.layout_queries import ceil_div as ceil_div
from triptych.cute.dynamic.traced_integers import checked_layouts as checked_layouts
from triptych.cute.tensors.views import coalesce as coalesce
from triptych.driver.compile_calls import compile as compile
from triptych.cute.tensors.views import complement as complement
from triptych.cute.tensors.views import composition as composition
from triptych.cute.copies.dispatch import copy as copy
from triptych.cute.copies.dispatch import copy_atom_call as copy_atom_call
from triptych.cute.mathematics.functions import cos as cos
from triptych.cute.tensors.layout_queries import cosize as cosize
from triptych.cute.tensors.layout_queries import crd2idx as crd2idx
from triptych.cute.tensors.layout_queries import depth as depth
from triptych.cute.tensors.views import dice as dice
from triptych.cute.tensors.views import domain_offset as domain_offset
from triptych.cute.tensors.layout_queries import elem_less as elem_less
from triptych.cute.tensors.value_functions import empty_like as empty_like
from triptych.cute.mathematics.functions import erf as erf
from triptych.cute.mathematics.functions import exp as exp
from triptych.cute.mathematics.functions import exp2 as exp2
from triptych.cute.dynamic.divisors import fast_divmod_create_divisor as fast_divmod_create_divisor
from triptych.cute.tensors.views import filter as filter
from triptych.cute.tensors.views import filter_zeros as filter_zeros
from triptych.cute.tensors.views import flat_divide as flat_divide
from triptych.cute.tensors.views import flat_product as flat_product
from triptych.cute.tensors.views import flatten as flatten
from triptych.cute.tensors.views import flatten_to_tuple as flatten_to_tuple
from triptych.cute.tensors.value_functions import full as full
from triptych.cute.tensors.value_functions import full_like as full_like
from triptych.cute.mma.gemm import gemm as gemm
from triptych.cute.tensors.views import get as get
from triptych.cute.tensors.views import group_modes as group_modes
from triptych.cute.tensors.layout_queries import idx2crd as idx2crd
from triptych.cute.tensors.layout_queries import increment_coord as increment_coord
from triptych.cute.tensors.layout_queries import is_congruent as is_congruent
from triptych.cute.tensors.layout_queries import is_static as is_static
from triptych.cute.tensors.layout_queries import is_weakly_congruent as is_weakly_congruent
from triptych.driver.jitting import jit as jit
from triptych.driver.jitting import kernel as kernel
from triptych.cute.tensors.layout_queries import leading_dim as leading_dim
from triptych.layout import left_inverse as left_inverse
from triptych.cute.tensors.views import local_partition as local_partition
from triptych.cute.tensors.views import local_tile as local_tile
from triptych.cute.mathematics.functions import log as log
from triptych.cute.mathematics.functions import log2 as log2
from triptych.cute.mathematics.functions import log10 as log10
from triptych.cute.tensors.views import logical_divide as logical_divide
from triptych.cute.tensors.views import logical_product as logical_product
from triptych.cute.tensors.views import make_composed_layout as make_composed_layout
from triptych.cute.copies.atoms import make_copy_atom as make_copy_atom
from triptych.cute.copies.tiled import make_cotiled_copy as make_cotiled_copy
from triptych.cute.tensors.factories import make_rmem_tensor as make_fragment
from triptych.cute.tensors.factories import make_fragment_like as make_fragment_like
from triptych.cute.tensors.views import make_identity_layout as make_identity_layout
from triptych.cute.tensors.factories import make_identity_tensor as make_identity_tensor
from triptych.cute.tensors.views import make_layout as make_layout
from triptych.cute.tensors.layout_queries import make_layout_image_mask as make_layout_image_mask
from triptych.layout import make_layout_like as make_layout_like
from triptych.layout import make_layout_tv as make_layout_tv
from triptych.cute.mma.atoms import make_mma_atom as make_mma_atom
from triptych.cute.tensors.views import make_ordered_layout as make_ordered_layout
from triptych.cute.memory.pointers import make_ptr as make_ptr
from triptych.cute.tensors.factories import make_rmem_tensor as make_rmem_tensor
from triptych.cute.tensors.factories import make_rmem_tensor_like as make_rmem_tensor_like
from triptych.layout import make_swizzle as make_swizzle
from triptych.cute.tensors.factories import make_tensor as make_tensor
from triptych.cute.copies.tiled import make_tiled_copy as make_tiled_copy
from triptych.cute.copies.tiled import make_tiled_copy_A as make_tiled_copy_A
from triptych.cute.copies.tiled import make_tiled_copy_B as make_tiled_copy_B
from triptych.cute.copies.tiled import make_tiled_copy_C as make_tiled_copy_C
from triptych.cute.copies.tiled import make_tiled_copy_C_atom as make_tiled_copy_C_atom
from triptych.cute.copies.tiled import make_tiled_copy_D as make_tiled_copy_D
from triptych.cute.copies.tiled import make_tiled_copy_S as make_tiled_copy_S
from triptych.cute.copies.tiled import make_tiled_copy_tv as make_tiled_copy_tv
from triptych.cute.mma.tiled import make_tiled_mma as make_tiled_mma
from triptych.layout import max_common_layout as max_common_layout
from triptych.layout import max_common_vector as max_common_vector
from triptych.cute.mma.gemm import mma_atom_call as mma_atom_call
from triptych.layout import nullspace as nullspace
from triptych.cute.tensors.value_functions import ones_like as ones_like
from triptych.cute.copies.dispatch import prefetch as prefetch
from triptych.cute.tensors.views import prepend as prepend
from triptych.cute.tensors.views import prepend_ones as prepend_ones
from triptych.cute.tensors.printing import print_tensor as print_tensor
from triptych.cute.tensors.printing import printf as printf
from triptych.cute.tensors.layout_queries import product as product
from triptych.cute.tensors.layout_queries import product_each as product_each
from triptych.cute.tensors.layout_queries import product_like as product_like
from triptych.cute.tensors.views import raked_product as raked_product
from triptych.cute.tensors.layout_queries import rank as rank
from triptych.cute.dynamic.traced_integers import realize as realize
from triptych.layout import recast_layout as recast_layout
from triptych.cute.memory.pointers import recast_ptr as recast_ptr
from triptych.cute.tensors.factories import recast_tensor as recast_tensor
from triptych.frontends.ptx.lowerings import register_ptx_meaning as register_ptx_meaning
from triptych.layout import repeat as repeat
from triptych.cute.tensors.views import repeat_like as repeat_like
from triptych.layout import right_inverse as right_inverse
from triptych.cute.tensors.layout_queries import round_up as round_up
from triptych.cute.mathematics.functions import rsqrt as rsqrt
from triptych.cute.tensors.views import select as select
from triptych.cute.tensors.layout_queries import shape as shape
from triptych.cute.tensors.layout_queries import shape_div as shape_div
from triptych.cute.mathematics.functions import sin as sin
from triptych.cute.tensors.layout_queries import size as size
from triptych.cute.tensors.layout_queries import size_in_bytes as size_in_bytes
from triptych.cute.tensors.views import slice_ as slice_
from triptych.cute.tensors.views import slice_and_offset as slice_and_offset
from triptych.cute.mathematics.functions import sqrt as sqrt
from triptych.cute.tensors.layout_queries import stride as stride
from triptych.cute.runtime.fake_tensors import sym_int as sym_int
from triptych.cute.runtime.fake_tensors import sym_int32 as sym_int32
from triptych.cute.runtime.fake_tensors import sym_int64 as sym_int64
from triptych.cute.mathematics.functions import tan as tan
from triptych.cute.mathematics.functions import tanh as tanh
from triptych.cute.tensors.views import tile_to_shape as tile_to_shape
from triptych.cute.tensors.views import tiled_divide as tiled_divide
from triptych.cute.tensors.views import tiled_product as tiled_product
from triptych.cute.dynamic.traced_integers import traced_int as traced_int
from triptych.layout import transform_leaf as transform_leaf
from triptych.cute.dynamic.traced_integers import trusted_int as trusted_int
from triptych.layout import tuple_add as tuple_add
from triptych.layout import tuple_mul as tuple_mul
from triptych.layout import tuple_sub as tuple_sub
from triptych.cute.tensors.value_functions import where as where
from triptych.cute.tensors.value_functions import zeros_like as zeros_like
from triptych.cute.tensors.views import zipped_divide as zipped_divide
from triptych.cute.tensors.views import zipped_product as zipped_product

struct: Any

__all__ = [
    "AddressSpace",
    "AsyncOrder",
    "BFloat16",
    "Boolean",
    "ComposedLayout",
    "Contract",
    "Coord",
    "CopyAtom",
    "CopyLayouts",
    "CopyOp",
    "CopyOperation",
    "E",
    "EnableAssertions",
    "EnableTVMFFI",
    "FastDivmodDivisor",
    "Float",
    "Float4E2M1FN",
    "Float6E2M3FN",
    "Float6E3M2FN",
    "Float8E4M3",
    "Float8E4M3B11FNUZ",
    "Float8E4M3FN",
    "Float8E4M3FNUZ",
    "Float8E5M2",
    "Float8E5M2FNUZ",
    "Float8E8M0FNU",
    "Float16",
    "Float32",
    "Float64",
    "GPUArch",
    "GenerateLineInfo",
    "Int",
    "Int4",
    "Int8",
    "Int16",
    "Int32",
    "Int64",
    "Int128",
    "IntTuple",
    "Integer",
    "KeepCUBIN",
    "KeepPTX",
    "Layout",
    "MmaAtom",
    "MmaOp",
    "MmaOperation",
    "Numeric",
    "OptLevel",
    "Pointer",
    "PtxasOptions",
    "ReductionKind",
    "ReductionOp",
    "Shape",
    "SmemAllocator",
    "Stride",
    "Swizzle",
    "SymInt",
    "TFloat32",
    "Tensor",
    "TensorSSA",
    "ThrCopy",
    "ThrMma",
    "Tile",
    "TiledCopy",
    "TiledMma",
    "Uint8",
    "Uint16",
    "Uint32",
    "Uint64",
    "Uint128",
    "acos",
    "all_",
    "amdgpu",
    "any_",
    "append",
    "append_ones",
    "arch",
    "asin",
    "assume",
    "atan",
    "atan2",
    "autovec_copy",
    "basic_copy",
    "basic_copy_if",
    "blocked_product",
    "ceil_div",
    "checked_layouts",
    "coalesce",
    "compile",
    "complement",
    "composition",
    "copy",
    "copy_atom_call",
    "cos",
    "cosize",
    "crd2idx",
    "depth",
    "dice",
    "domain_offset",
    "elem_less",
    "empty_like",
    "erf",
    "exp",
    "exp2",
    "fast_divmod_create_divisor",
    "filter",
    "filter_zeros",
    "flat_divide",
    "flat_product",
    "flatten",
    "flatten_to_tuple",
    "full",
    "full_like",
    "gemm",
    "get",
    "group_modes",
    "idx2crd",
    "increment_coord",
    "is_congruent",
    "is_static",
    "is_weakly_congruent",
    "jit",
    "kernel",
    "leading_dim",
    "left_inverse",
    "local_partition",
    "local_tile",
    "log",
    "log2",
    "log10",
    "logical_divide",
    "logical_product",
    "make_composed_layout",
    "make_copy_atom",
    "make_cotiled_copy",
    "make_fragment",
    "make_fragment_like",
    "make_identity_layout",
    "make_identity_tensor",
    "make_layout",
    "make_layout_image_mask",
    "make_layout_like",
    "make_layout_tv",
    "make_mma_atom",
    "make_ordered_layout",
    "make_ptr",
    "make_rmem_tensor",
    "make_rmem_tensor_like",
    "make_swizzle",
    "make_tensor",
    "make_tiled_copy",
    "make_tiled_copy_A",
    "make_tiled_copy_B",
    "make_tiled_copy_C",
    "make_tiled_copy_C_atom",
    "make_tiled_copy_D",
    "make_tiled_copy_S",
    "make_tiled_copy_tv",
    "make_tiled_mma",
    "math",
    "max_common_layout",
    "max_common_vector",
    "mma_atom_call",
    "nullspace",
    "nvgpu",
    "ones_like",
    "prefetch",
    "prepend",
    "prepend_ones",
    "print_tensor",
    "printf",
    "product",
    "product_each",
    "product_like",
    "raked_product",
    "rank",
    "realize",
    "recast_layout",
    "recast_ptr",
    "recast_tensor",
    "register_ptx_meaning",
    "repeat",
    "repeat_like",
    "right_inverse",
    "round_up",
    "rsqrt",
    "runtime",
    "select",
    "shape",
    "shape_div",
    "sin",
    "size",
    "size_in_bytes",
    "slice_",
    "slice_and_offset",
    "sqrt",
    "stride",
    "struct",
    "sym_int",
    "sym_int32",
    "sym_int64",
    "tan",
    "tanh",
    "testing",
    "tile_to_shape",
    "tiled_divide",
    "tiled_product",
    "traced_int",
    "transform_leaf",
    "trusted_int",
    "tuple_add",
    "tuple_mul",
    "tuple_sub",
    "typing",
    "utils",
    "where",
    "zeros_like",
    "zipped_divide",
    "zipped_product",
]

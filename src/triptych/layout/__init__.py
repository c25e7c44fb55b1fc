"""The algebra of shapes, strides and layouts: pure Python, usable with nothing else installed.

The same functions answer in a notebook, in a unit test and while a kernel is traced; see the guide
"Layouts by picture". `None` stands for a whole mode wherever the notation writes `_`.
"""

from __future__ import annotations

from triptych.layout.arithmetic import elem_less, round_up, shape_div, tuple_add, tuple_mul, tuple_sub
from triptych.layout.basis import E, ScaledBasis
from triptych.layout.coalescing import coalesce, filter, filter_zeros
from triptych.layout.compose import composition
from triptych.layout.composed import AnyLayout, ComposedLayout, make_composed_layout
from triptych.layout.constructors import make_identity_layout, make_layout, make_layout_like, make_ordered_layout
from triptych.layout.divides import ceil_div, flat_divide, logical_divide, tiled_divide, zipped_divide
from triptych.layout.drawing import draw_latex, draw_text
from triptych.layout.errors import (
    AccessError,
    DeclarationError,
    DivisibilityError,
    LayoutError,
    NotationError,
    OverlapError,
    ProfileError,
    SwizzleError,
    UndecidableError,
)
from triptych.layout.fast_divmod import FastDivmodDivisor, fast_divmod_create_divisor
from triptych.layout.gaps import complement
from triptych.layout.integers import DynamicInt, Int, Requirement, assuming, divisibility, is_static
from triptych.layout.inverses import left_inverse, max_common_layout, max_common_vector, nullspace, right_inverse
from triptych.layout.layout import Layout
from triptych.layout.memory import BankConflicts, Sectors, bank_conflicts, global_sectors
from triptych.layout.modes import (
    append,
    append_ones,
    cosize,
    crd2idx,
    depth,
    flatten,
    get,
    get_flat_coord,
    get_hier_coord,
    group_modes,
    idx2crd,
    increment_coord,
    is_congruent,
    is_weakly_congruent,
    leading_dim,
    prepend,
    rank,
    repeat,
    repeat_like,
    select,
    shape,
    size,
    size_in_bytes,
    stride,
)
from triptych.layout.parsing import parse, tile_text
from triptych.layout.partition import (
    local_partition,
    local_tile,
    make_layout_image_mask,
    make_layout_tv,
)
from triptych.layout.picture import cycle_grid, index_grid, thread_value_grid
from triptych.layout.products import (
    blocked_product,
    flat_product,
    logical_product,
    raked_product,
    tile_to_shape,
    tiled_product,
    zipped_product,
)
from triptych.layout.ratio import Ratio
from triptych.layout.recast import recast_layout
from triptych.layout.slicing import dice, domain_offset, slice_, slice_and_offset
from triptych.layout.substitution import substitute
from triptych.layout.svg import draw_svg
from triptych.layout.swizzle import Swizzle, make_swizzle
from triptych.layout.symbolic import SymInt
from triptych.layout.tuples import (
    Coord,
    IntTuple,
    Shape,
    Stride,
    Tile,
    product,
    product_each,
    product_like,
    transform_leaf,
)
from triptych.layout.tuples import tuple_text as text
from triptych.layout.unknowns import assume, sym_int
from triptych.layout.views import bank_svg, layout_svg, swizzle_svg, thread_value_svg

__all__ = [
    "AccessError",
    "AnyLayout",
    "BankConflicts",
    "ComposedLayout",
    "Coord",
    "DeclarationError",
    "DivisibilityError",
    "DynamicInt",
    "E",
    "FastDivmodDivisor",
    "Int",
    "IntTuple",
    "Layout",
    "LayoutError",
    "NotationError",
    "OverlapError",
    "ProfileError",
    "Ratio",
    "Requirement",
    "ScaledBasis",
    "Sectors",
    "Shape",
    "Stride",
    "Swizzle",
    "SwizzleError",
    "SymInt",
    "Tile",
    "UndecidableError",
    "append",
    "append_ones",
    "assume",
    "assuming",
    "bank_conflicts",
    "bank_svg",
    "blocked_product",
    "ceil_div",
    "coalesce",
    "complement",
    "composition",
    "cosize",
    "crd2idx",
    "cycle_grid",
    "depth",
    "dice",
    "divisibility",
    "domain_offset",
    "draw_latex",
    "draw_svg",
    "draw_text",
    "elem_less",
    "fast_divmod_create_divisor",
    "filter",
    "filter_zeros",
    "flat_divide",
    "flat_product",
    "flatten",
    "get",
    "get_flat_coord",
    "get_hier_coord",
    "global_sectors",
    "group_modes",
    "idx2crd",
    "increment_coord",
    "index_grid",
    "is_congruent",
    "is_static",
    "is_weakly_congruent",
    "layout_svg",
    "leading_dim",
    "left_inverse",
    "local_partition",
    "local_tile",
    "logical_divide",
    "logical_product",
    "make_composed_layout",
    "make_identity_layout",
    "make_layout",
    "make_layout_image_mask",
    "make_layout_like",
    "make_layout_tv",
    "make_ordered_layout",
    "make_swizzle",
    "max_common_layout",
    "max_common_vector",
    "nullspace",
    "parse",
    "prepend",
    "product",
    "product_each",
    "product_like",
    "raked_product",
    "rank",
    "recast_layout",
    "repeat",
    "repeat_like",
    "right_inverse",
    "round_up",
    "select",
    "shape",
    "shape_div",
    "size",
    "size_in_bytes",
    "slice_",
    "slice_and_offset",
    "stride",
    "substitute",
    "swizzle_svg",
    "sym_int",
    "text",
    "thread_value_grid",
    "thread_value_svg",
    "tile_text",
    "tile_to_shape",
    "tiled_divide",
    "tiled_product",
    "transform_leaf",
    "tuple_add",
    "tuple_mul",
    "tuple_sub",
    "zipped_divide",
    "zipped_product",
]


def __dir__() -> list[str]:
    return __all__

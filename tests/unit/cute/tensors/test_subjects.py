"""Functions of the layout algebra on every kind of object: the right answer, or an error; never the object itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import triptych as tt
from triptych import cute
from triptych.cute.nvgpu import warp
from triptych.metastage.trace.errors import OperandTypeError

WRONG = object()
"""Stands for the error of a function that has no answer."""

SHAPE = (4, (2, 3))
OF_LAYOUTS = ("layout", "composed", "tensor")
NUMBERS = ("integer", "known later")
OTHERS = (
    *("tiled copy", "thread of a copy", "tiled product", "thread of a product", "copy atom", "product atom"),
    *("operation", "swizzle", "pointer", "nothing", "text", "list", "float", "Float32", "type", "basis", "struct"),
)
KINDS = (*NUMBERS, "tuple", *OF_LAYOUTS, "tensor value", *OTHERS)


@cute.struct
class Storage:
    """Shared memory of a program."""

    numbers: cute.struct.MemRange[tt.Int32, 4]


def objects(x: cute.Tensor, n: tt.Int32) -> dict[str, Any]:
    """One of each kind; those with modes have the same shape."""
    atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), tt.Float32)
    threads, values = cute.make_layout((4, 8), stride=(8, 1)), cute.make_layout((1, 4))
    copy = cute.make_tiled_copy_tv(atom, threads, values)
    product = cute.make_tiled_mma(warp.MmaF16BF16Op(tt.Float16, tt.Float32, (16, 8, 16)), (2, 2, 1))
    layout, swizzle = cute.make_layout(SHAPE), cute.make_swizzle(1, 0, 2)
    found = {
        "integer": 24,
        "known later": n,
        "tuple": SHAPE,
        "layout": layout,
        "composed": cute.make_composed_layout(swizzle, 0, layout),
        "tensor": cute.make_tensor(x.iterator, layout),
        "tensor value": cute.full(SHAPE, 0.0, tt.Float32),
        "tiled copy": copy,
        "thread of a copy": copy.get_slice(0),
        "tiled product": product,
        "thread of a product": product.get_slice(0),
        "copy atom": atom,
        "product atom": cute.make_mma_atom(product.op),
        "operation": product.op,
        "swizzle": swizzle,
        "pointer": x.iterator,
        "nothing": None,
        "text": "ab",
        "list": [4, 6],
        "float": 2.0,
        "Float32": tt.Float32(n),
        "type": tt.Float32,
        "basis": cute.E(0),
        "struct": Storage,
    }
    assert tuple(found) == KINDS
    return found


def answers(right: dict[str, Any], kinds: tuple[str, ...] = KINDS) -> dict[str, Any]:
    """What a function has for each kind: an answer, or the error."""
    return {kind: right.get(kind, WRONG) for kind in kinds}


def of(kinds: tuple[str, ...], answer: Any) -> dict[str, Any]:
    return dict.fromkeys(kinds, answer)


HAVE_SHAPES = ("tuple", *OF_LAYOUTS, "tensor value")
LEAVES = dict.fromkeys(("nothing", "basis"))
TILED = of(("tiled copy", "thread of a copy"), 32) | of(("tiled product", "thread of a product"), 128)
STEPS = of(("layout", "tensor"), (1, (4, 8)))

TABLE: dict[str, tuple[Callable[[Any], Any], dict[str, Any]]] = {
    "size": (cute.size, of((*NUMBERS, *HAVE_SHAPES), 24) | TILED),
    "rank": (cute.rank, of(HAVE_SHAPES, 2) | of((*NUMBERS, *LEAVES), 1)),
    "depth": (cute.depth, of(HAVE_SHAPES, 2) | of((*NUMBERS, *LEAVES), 0)),
    "shape": (cute.shape, of(HAVE_SHAPES, SHAPE) | of(NUMBERS, 24)),
    "stride": (cute.stride, STEPS),
    "cosize": (cute.cosize, of(OF_LAYOUTS, 24)),
    "product": (cute.product, of((*NUMBERS, "tuple"), 24)),
    "product_each": (cute.product_each, {"tuple": (4, 6)} | of(NUMBERS, (24,))),
    "product_like": (lambda x: cute.product_like(x, 0), of((*NUMBERS, "tuple"), 24)),
    "ceil_div": (lambda x: cute.ceil_div(x, 2), {"tuple": (2, (2, 3))} | of(NUMBERS, 12)),
    "round_up": (lambda x: cute.round_up(x, 5), of(NUMBERS, 25)),
    "shape_div": (lambda x: cute.shape_div(x, 2), {"tuple": (2, (2, 3))} | of(NUMBERS, 12)),
    "size_in_bytes": (
        lambda x: cute.size_in_bytes(tt.Float32, x),
        of((*NUMBERS, *HAVE_SHAPES), 96) | {"nothing": 0},
    ),
    "crd2idx": (lambda x: cute.crd2idx((1, (1, 2)), x), of(HAVE_SHAPES, 21) | {"composed": 20}),
    "idx2crd": (lambda x: cute.idx2crd(21, x), {"tuple": (1, (1, 2))} | of(NUMBERS, 21)),
    "is_congruent": (
        lambda x: cute.is_congruent(x, SHAPE),
        of(HAVE_SHAPES, True) | of((*NUMBERS, *LEAVES), False),
    ),
    "elem_less": (lambda x: cute.elem_less(x, (9, (9, 9))), of(HAVE_SHAPES, True)),
    "is_static": (
        cute.is_static,
        of((*HAVE_SHAPES, "integer", "nothing", "basis", "swizzle", "tiled copy", "tiled product"), True)
        | of(("copy atom", "product atom", "operation"), True)
        | of(("known later", "Float32"), False),
    ),
    "flatten_to_tuple": (
        cute.flatten_to_tuple,
        {"tuple": (4, 2, 3), "nothing": (None,), "basis": (cute.E(0),)} | of(NUMBERS, (24,)),
    ),
    "get": (lambda x: cute.shape(cute.get(x, 1)), of(("tuple", *OF_LAYOUTS), (2, 3))),
    "select": (lambda x: cute.shape(cute.select(x, [1])), of(("tuple", *OF_LAYOUTS), ((2, 3),))),
    "flatten": (lambda x: cute.shape(cute.flatten(x)), of(("tuple", *OF_LAYOUTS), (4, 2, 3)) | of(NUMBERS, 24)),
    "group_modes": (lambda x: cute.shape(cute.group_modes(x, 0, 2)), of(("tuple", *OF_LAYOUTS), (SHAPE,))),
    "append_ones": (
        lambda x: cute.shape(cute.append_ones(x, 3)),
        of(("tuple", *OF_LAYOUTS), (*SHAPE, 1)) | of(NUMBERS, (24, 1, 1)),
    ),
    "prepend_ones": (
        lambda x: cute.shape(cute.prepend_ones(x, 3)),
        of(("tuple", *OF_LAYOUTS), (1, *SHAPE)) | of(NUMBERS, (1, 1, 24)),
    ),
    "slice_": (
        lambda x: cute.shape(cute.slice_(x, (None, (0, 0)))),
        of(("tuple", *OF_LAYOUTS), (4,)),
    ),
    "coalesce": (lambda x: cute.shape(cute.coalesce(x)), of(OF_LAYOUTS, 24)),
    "filter": (lambda x: cute.shape(cute.filter(x)), of(OF_LAYOUTS, 24)),
    "filter_zeros": (lambda x: cute.shape(cute.filter_zeros(x)), of(OF_LAYOUTS, SHAPE)),
    "complement": (lambda x: cute.size(cute.complement(x, 48)), of(OF_LAYOUTS, 2)),
    "composition": (
        lambda x: cute.shape(cute.composition(lhs=x, rhs=cute.make_layout(8))),
        of(OF_LAYOUTS, 8),
    ),
    "zipped_divide": (lambda x: cute.size(cute.zipped_divide(x, (2, 2)), mode=[0]), of(OF_LAYOUTS, 4)),
    "domain_offset": (lambda x: cute.rank(first(cute.domain_offset((1, (0, 0)), x))), of(OF_LAYOUTS, 2)),
    "local_tile": (lambda x: cute.size(first(cute.local_tile(x, (2, 2), (0, 0)))), of(OF_LAYOUTS, 4)),
}


def first(found: Any) -> Any:
    """The layout of what is a layout with its offset."""
    return found[0] if isinstance(found, tuple) else found


def outcome(function: Callable[[Any], Any], value: Any) -> Any:
    try:
        return function(value)
    except Exception as error:
        return error


@pytest.mark.parametrize("name", TABLE)
def test_every_kind_has_its_answer_or_none(name: str) -> None:
    function, right = TABLE[name]
    seen: dict[str, Any] = {}

    def ask(x: cute.Tensor, n: tt.Int32) -> None:
        for kind, value in objects(x, n).items():
            seen[kind] = (value, outcome(function, value))

    @tt.kernel
    def kernel(x: cute.Tensor, n: tt.Int32) -> None:
        tt.trace_time(ask)(x, n)

    @tt.jit
    def host(x: cute.Tensor, n: tt.Int32) -> None:
        kernel(x, n).launch(grid=1, block=128)

    tt.compile(host, np.zeros(32, np.float32), 24)
    for kind, expected in answers(right).items():
        value, found = seen[kind]
        if expected is WRONG:
            assert isinstance(found, Exception), f"{name}({kind}) is {found}"
            if kind in OTHERS and kind not in LEAVES:
                assert isinstance(found, OperandTypeError), f"{name}({kind}): {found!r}"
        elif kind == "known later" and expected is not False:
            assert not isinstance(found, Exception), f"{name}({kind}) is {found!r}"
        else:
            assert found == expected, f"{name}({kind}) is {found!r}"
            assert found is not value or kind in (*NUMBERS, "tuple")


def test_an_error_says_what_to_write() -> None:
    @tt.jit
    def mistaken() -> Any:
        return cute.size(cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), tt.Float32))

    with pytest.raises(OperandTypeError, match="`size` has no answer for"):
        mistaken()
    with pytest.raises(OperandTypeError, match="`product` has no answer for") as caught:
        cute.product(cute.make_layout((4, 6)))  # type: ignore[arg-type]
    assert "cute.size(layout)" in caught.value.instead

"""Arguments written as text, for functions that are compiled before there are any: `Float32[n, 64]`, `Float32[:, ::1]`.

On the command line, in manifests, and in what a process says that may not compile.
"""

from __future__ import annotations

import ast
from typing import Any

from triptych.cute.runtime.errors import FakeTensorError
from triptych.cute.runtime.fake_tensors import FakeTensor, make_fake_compact_tensor, sym_int
from triptych.cute.runtime.tensor_kinds import implicit_kind
from triptych.cute.tracing.eager import eager
from triptych.interop.dlpack import ELEMENT_CODES
from triptych.metastage.values.scalars import NUMERIC_CLASSES
from triptych.support.parsing import parse_expression

_ALIGNMENT = 16


@eager
def example(text: str) -> Any:
    """A stand-in for arguments of a kind, to compile for.

    `"Float32[:, ::1]"` is any matrix of that type that is passed as it is (NumPy, PyTorch) and whose rows are without
    gaps; `"Float32[:, :]"` one of any strides. `"Float32[n, 64]"` is a compact row-major one with 64 columns, aligned
    to 16 bytes. Literals are themselves.
    """
    try:
        return argument(parse_expression(text), {})
    except (SyntaxError, ValueError):
        raise FakeTensorError(
            "this is no argument",
            found=repr(text),
            expected="a literal, or a kind of tensors",
            instead='"Float32[:, ::1]", "Float32[n, 64]"',
        ) from None


def argument(node: ast.expr, extents: dict[str, Any]) -> Any:
    """What a parsed text stands for; `extents` are the names of unknown extents, which several arguments share."""
    if not isinstance(node, ast.Subscript) or not isinstance(node.value, ast.Name):
        return ast.literal_eval(node)
    dtype = NUMERIC_CLASSES.get(node.value.id)
    if dtype is None:
        raise ValueError(node.value.id)
    modes = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    if any(isinstance(mode, ast.Slice) for mode in modes):
        return _passed_as_it_is(node.value.id, modes)
    shape = [_extent(mode, extents) for mode in modes]
    return make_fake_compact_tensor(dtype, shape, stride_order=range(len(shape) - 1, -1, -1), assumed_align=_ALIGNMENT)


def _passed_as_it_is(element: str, modes: list[ast.expr]) -> FakeTensor:
    """Every extent and stride is known at the call only, but for one stride of 1: `::1`."""
    steps = [ast.unparse(mode) for mode in modes]
    ones = [i for i, step in enumerate(steps) if step == "::1"]
    if element not in ELEMENT_CODES or len(ones) > 1 or not {*steps} <= {":", "::1"}:
        raise ValueError(element)
    return FakeTensor(implicit_kind(element, len(modes), ones[0] if ones else None))


def _extent(node: ast.expr, extents: dict[str, Any]) -> Any:
    """The same name is the same unknown."""
    if isinstance(node, ast.Name):
        return extents.setdefault(node.id, sym_int(symbol=node.id))
    extent = ast.literal_eval(node)
    if type(extent) is not int:
        raise ValueError(extent)
    return extent

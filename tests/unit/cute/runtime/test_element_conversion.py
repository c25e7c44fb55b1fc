"""`testing.convert`: elements of one tensor in another one, whatever their types and orders."""

from __future__ import annotations

import numpy as np
import pytest

from triptych.cute.runtime import from_dlpack
from triptych.cute.testing import convert

TYPES = ("int8", "uint8", "int32", "float16", "float32", "float64")


@pytest.mark.parametrize(("source", "target"), [*((kind, "float32") for kind in TYPES), ("float32", "int8")])
def test_numbers_are_those_of_numpy(source: str, target: str) -> None:
    x = np.arange(105).reshape(3, 5, 7).astype(source)
    y = np.zeros((3, 5, 7), target)
    convert(x, y)
    assert (y == x.astype(target)).all()


@pytest.mark.parametrize(("one", "other"), [((0, 1, 2), (2, 1, 0)), ((1, 2, 0), (1, 0, 2))])
def test_orders_of_memory_may_differ(one: tuple[int, ...], other: tuple[int, ...]) -> None:
    """A tensor's modes from the outermost to the innermost; extents are known at run time only."""
    for shape in ((3, 5, 7), (1, 2, 9), (130, 1, 2)):
        x = np.random.default_rng(0).standard_normal([shape[mode] for mode in one]).astype(np.float32)
        x = x.transpose(np.argsort(one))
        y = np.zeros([shape[mode] for mode in other], np.float16).transpose(np.argsort(other))
        convert(
            from_dlpack(x).mark_layout_dynamic(leading_dim=one[2]),
            from_dlpack(y).mark_layout_dynamic(leading_dim=other[2]),
        )
        assert (y == x.astype(np.float16)).all()

"""The layout algebra on tensors: a view is the same memory under the layout that the algebra gives."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import triptych as tt
from tests.support.layouts import values
from tests.unit.cute.array_memory import address, over
from triptych import cute, layout
from triptych.cute.tracing.errors import PointerError, TensorShapeError
from triptych.layout import Layout, ProfileError

tl: Any = layout
ROW_MAJOR = Layout((8, 12), (12, 1))
THREADS = Layout((2, 4), (4, 1))

VIEWS: dict[str, Callable[[Any, Any], Any]] = {
    "composition": lambda lib, t: lib.composition(t, (4, 6)),
    "coalesce": lambda lib, t: lib.coalesce(t),
    "group_modes": lambda lib, t: lib.group_modes(lib.zipped_divide(t, (2, 3)), 0, 2),
    "flatten": lambda lib, t: lib.flatten(lib.zipped_divide(t, (2, 3))),
    "select": lambda lib, t: lib.select(t, [1, 0]),
    "get": lambda lib, t: lib.get(lib.zipped_divide(t, (2, 3)), [1]),
    "logical_divide": lambda lib, t: lib.logical_divide(t, (2, 3)),
    "zipped_divide": lambda lib, t: lib.zipped_divide(t, (2, 3)),
    "tiled_divide": lambda lib, t: lib.tiled_divide(t, (2, 3)),
    "flat_divide": lambda lib, t: lib.flat_divide(t, (2, 3)),
    "append_ones": lambda lib, t: lib.append_ones(t, up_to_rank=3),
    "slice_": lambda lib, t: lib.slice_(t, (None, 0)),
}


@pytest.mark.parametrize("name", VIEWS)
def test_a_view_is_the_layout_of_the_algebra(name: str) -> None:
    expected = VIEWS[name](tl, ROW_MAJOR)
    count = tl.size(expected)

    @tt.jit
    def copy(a: tt.Int64, b: tt.Int64) -> None:
        view = VIEWS[name](cute, over(a, ROW_MAJOR))
        assert view.layout == expected
        over(b, cute.make_layout((count,))).store(view.load())

    source, target = np.arange(96, dtype=np.float32), np.zeros(count, np.float32)
    copy(address(source), address(target))
    assert target.tolist() == values(expected)


PARTS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "local_tile": lambda lib, t, i: lib.local_tile(t, (4, 4), (i, 2)),
    "local_tile_of_a_row": lambda lib, t, i: lib.local_tile(t, (4, 4), (i, None)),
    "local_tile_projected": lambda lib, t, i: lib.local_tile(t, (4, 9, 4), (i, 5, 1), (1, None, 1)),
    "local_partition": lambda lib, t, i: lib.local_partition(t, THREADS, i),
}


@pytest.mark.parametrize("name", PARTS)
@pytest.mark.parametrize("i", [0, 1])
def test_a_part_begins_where_the_algebra_says(name: str, i: int) -> None:
    expected, offset = PARTS[name](tl, ROW_MAJOR, i)
    count = tl.size(expected)

    @tt.jit
    def copy(a: tt.Int64, b: tt.Int64, index: tt.Int32) -> None:
        part = PARTS[name](cute, over(a, ROW_MAJOR), index)
        over(b, cute.make_layout((count,))).store(part.load())

    source, target = np.arange(96, dtype=np.float32), np.zeros(count, np.float32)
    copy(address(source), address(target), i)
    assert target.tolist() == [offset + index for index in values(expected)]


def test_domain_offset_moves_the_origin() -> None:
    @tt.jit
    def read(a: tt.Int64, i: tt.Int32) -> Any:
        moved = cute.domain_offset((i, 2), over(a, ROW_MAJOR))
        return moved[0, 0], moved[1, 1]

    assert read(address(np.arange(96, dtype=np.float32)), 3) == (38.0, 51.0)


def test_questions_have_the_answers_of_the_layout() -> None:
    @tt.jit
    def ask(a: tt.Int64, m: tt.Int32, n: tt.Int32) -> Any:
        t = over(a, cute.make_layout((m, (n, 2)), stride=(1, (m, 64))))
        assert (cute.rank(t), cute.depth(t), cute.rank(t, mode=[1])) == (2, 2, 2)
        assert cute.is_congruent(t, cute.make_layout((1, (2, 3))))
        return (
            cute.size(t),
            cute.size(t, mode=[1]),
            cute.shape(t, mode=[1, 0]),
            cute.cosize(t),
            cute.crd2idx((1, (1, 1)), t),
            *cute.ceil_div((m, n), (4, 4)),
            cute.size_in_bytes(tt.Float16, t),
        )

    assert ask(0, 5, 3) == (30, 6, 3, 79, 1 + 5 + 64, 2, 1, 158)


def test_static_questions_are_python_values() -> None:
    assert cute.size(cute.make_layout((4, 8))) == 32
    assert cute.ceil_div((10, 8), (4, 3)) == (3, 3)
    assert cute.elem_less((1, (2, 3)), (2, (3, 4))) is True
    with pytest.raises(ProfileError):
        cute.elem_less((1, 2), (3, 4, 5))


def test_registers_like_a_partition() -> None:
    @tt.jit
    def make(a: tt.Int64) -> None:
        part = cute.local_partition(over(a, Layout((8, 16), (16, 1)), tt.Float16), THREADS, 0)
        assert part.shape == (4, 4)
        assert str(cute.make_rmem_tensor_like(part).layout) == "(4,4):(4,1)"
        assert str(cute.make_fragment_like(part).layout) == "(4,4):(1,4)"
        assert cute.make_fragment_like(part, tt.Float32).element_type is tt.Float32
        repeated = Layout(((2, 4), 3, 2), ((1, 0), 0, 2))
        assert str(cute.make_fragment_like(repeated)) == "((2,4),3,2):((1,0),0,2)"
        swapped = Layout((4, 3, 2), (1, 8, 4))
        assert str(cute.make_fragment_like(swapped)) == "(4,3,2):(1,8,4)"

    make(0)


def test_sizes_of_a_copy_must_agree() -> None:
    @tt.jit
    def copy() -> None:
        cute.autovec_copy(cute.make_rmem_tensor((4,), tt.Int32), cute.make_rmem_tensor((5,), tt.Int32))

    with pytest.raises(TensorShapeError):
        copy()


def test_memory_has_no_coordinates_for_indices() -> None:
    @tt.jit
    def make(a: tt.Int64) -> None:
        over(a, cute.make_identity_layout((4, 4)))

    with pytest.raises(PointerError, match="into coordinates"):
        make(0)


@pytest.mark.parametrize("name", cute.__all__)
def test_public_name_resolves_to_one_object(name: str) -> None:
    assert getattr(cute, name) is getattr(cute, name)


def test_no_submodule_hides_a_public_name() -> None:
    modules = {"amdgpu", "arch", "math", "nvgpu", "runtime", "testing", "typing", "utils"}
    for name in set(cute.__all__) - modules:
        with pytest.raises(ModuleNotFoundError):
            importlib.import_module(f"triptych.cute.{name}")


def test_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'tensorr'"):
        getattr(cute, "tensorr")  # noqa: B009 - the name must stay unknown to the type checker

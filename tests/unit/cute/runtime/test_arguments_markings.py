"""Layouts that are part of the program, and markings that make parts of them dynamic."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import triptych as tt
from triptych import cute
from triptych.cute.runtime import RuntimeTensor, from_dlpack
from triptych.cute.tracing.errors import TensorMarkingError
from triptych.diagnostics.tensor_errors import ArgumentTensorError, ArgumentTensorTypeError, UnsupportedTensorError
from triptych.layout import substitute

A = np.empty((16, 4, 8, 2), np.float32).transpose(2, 1, 0, 3)
"""(8,4,16,2):(2,16,64,1)"""
B = np.empty((32, 1, 1, 1, 4), np.float32).transpose(3, 4, 1, 0, 2)
"""(1,4,1,32,1), the steps of modes of extent 1 mean nothing"""
C = np.empty((3, 4), np.float32)[::2, ::2]
D = np.broadcast_to(np.empty((3, 1, 1, 5), np.float32), (3, 4, 2, 5))


def test_a_converted_tensor_is_static_and_shows_itself() -> None:
    array = np.zeros((30, 20), np.float32)
    tensor = from_dlpack(array)
    assert (tensor.shape, tensor.stride, tensor.element_type) == ((30, 20), (20, 1), tt.Float32)
    assert tensor.memspace is cute.AddressSpace.gmem
    assert str(tensor) == f"Tensor<0x{array.ctypes.data:016x}@gmem o (30,20):(20,1)>"


@pytest.mark.parametrize(
    ("array", "leading", "layout"),
    [
        (A, None, "(?,?,?,?):(?{i64},?{i64},?{i64},1)"),
        (B, 0, "(?,?,?,?,?):(1,?{i64},?{i64},?{i64},?{i64})"),
        (B, 2, "(?,?,?,?,?):(?{i64},?{i64},1,?{i64},?{i64})"),
        (B, None, "(?,?,?,?,?):(?{i64},1,?{i64},?{i64},?{i64})"),
        (C, None, "(?,?):(?{i64},?{i64})"),
        (D, None, "(?,?,?,?):(?{i64},0,0,1)"),
        (A, -1, "(?,?,?,?):(?{i64},?{i64},?{i64},1)"),
    ],
)
def test_a_layout_marked_dynamic(array: Any, leading: int | None, layout: str) -> None:
    assert str(from_dlpack(array).mark_layout_dynamic(leading_dim=leading).layout) == layout


def test_strides_of_32_bits() -> None:
    marked = from_dlpack(A, use_32bit_stride=True).mark_layout_dynamic()
    assert str(marked.layout) == "(?,?,?,?):(?,?,?,1)"


@pytest.mark.parametrize(
    ("marks", "layout"),
    [
        ([(A, 0, 2, None)], "(?{div=2},4,16,2):(2,?{div=4},?{div=16},1)"),
        ([(A, 1, 2, None)], "(8,?{div=2},16,2):(2,16,?{div=32},1)"),
        ([(A, 1, 2, None), (A, 3, 2, None)], "(8,?{div=2},16,?{div=2}):(?{div=2},?{div=16},?{div=32},1)"),
        ([(B, 2, 1, (3, 0, 2, 4, 1))], "(1,4,?,32,1):(0,1,4,?{div=4},0)"),
        ([(B, 2, 1, (2, 3, 4, 0, 1))], "(1,4,?,32,1):(0,1,128,4,0)"),
    ],
)
def test_extents_of_a_compact_tensor_marked_dynamic(marks: Any, layout: str) -> None:
    tensor = from_dlpack(marks[0][0])
    for _, mode, divisibility, order in marks:
        tensor = tensor.mark_compact_shape_dynamic(mode=mode, divisibility=divisibility, stride_order=order)
    assert str(tensor.layout) == layout


def test_one_element_leads_by_its_last_mode() -> None:
    assert str(from_dlpack(np.ones((1, 1))).mark_layout_dynamic().layout) == "(?,?):(?{i64},1)"


def _ambiguous() -> np.ndarray:
    """Two modes of extent 1 and step 1, and one that steps over elements."""
    return np.lib.stride_tricks.as_strided(np.ones(8), (1, 4, 1), (8, 16, 8))


def _twice(tensor: RuntimeTensor) -> RuntimeTensor:
    return tensor.mark_compact_shape_dynamic(mode=1).mark_compact_shape_dynamic(mode=3, stride_order=(0, 1, 2, 3))


@pytest.mark.parametrize(
    ("mark", "title"),
    [
        (lambda: from_dlpack(_ambiguous()).mark_layout_dynamic(), "several modes could be the leading one"),
        (lambda: from_dlpack(A).mark_layout_dynamic(leading_dim=1), "mode 1 cannot be the leading one"),
        (lambda: from_dlpack(B).mark_layout_dynamic(leading_dim=3), "mode 3 cannot be the leading one"),
        (lambda: from_dlpack(A).mark_layout_dynamic(leading_dim=4), "leading_dim is not a mode"),
        (lambda: _twice(from_dlpack(A)), "stride_order is another one than before"),
        (
            lambda: from_dlpack(A).mark_compact_shape_dynamic(mode=3, stride_order=(0, 1, 2, 3)),
            "the tensor is not compact in this order of modes",
        ),
        (lambda: from_dlpack(B).mark_compact_shape_dynamic(mode=0), "the order of the modes cannot be told"),
        (lambda: from_dlpack(A).mark_compact_shape_dynamic(mode=30), "mode is not a mode"),
        (
            lambda: from_dlpack(B).mark_compact_shape_dynamic(mode=3, stride_order=(2, 1, 2, 3, 4)),
            "stride_order does not name every mode once",
        ),
        (
            lambda: from_dlpack(A).mark_compact_shape_dynamic(mode=0, divisibility=3),
            "the extent of mode 0 is not a multiple of 3",
        ),
        (lambda: from_dlpack(C).mark_compact_shape_dynamic(mode=0), "the tensor is not compact"),
        (
            lambda: from_dlpack(_huge(), use_32bit_stride=True).mark_layout_dynamic(),
            "32 bits are not enough for the strides",
        ),
    ],
)
def test_a_marking_that_does_not_fit(mark: Any, title: str) -> None:
    with pytest.raises(TensorMarkingError, match=title) as caught:
        mark()
    assert caught.value.span is not None


def _huge() -> Any:
    """Many elements that are nowhere: nothing reads them."""
    return np.lib.stride_tricks.as_strided(np.zeros(1, np.float32), (10**9, 10**9), (4 * 10**9, 4))


def test_a_static_layout_is_compared_at_every_call() -> None:
    @tt.jit
    def clear(x: cute.Tensor) -> None:
        x.fill(0.0)

    compiled = tt.compile(clear, from_dlpack(np.zeros((3, 4))))
    fitting = np.ones((3, 4))
    compiled(fitting)
    assert not fitting.any()
    whole = np.ones((6, 8))
    for other, part in (
        (np.ones((4, 3)), "shape"),
        (np.ones((3, 5)), "shape"),
        (np.ones((3, 4), order="F"), "stride"),
        (whole[::2, ::2], "stride"),
    ):
        with pytest.raises(ArgumentTensorError, match=f"argument 'x' has another {part}"):
            compiled(other)
        assert other.all()
    for kind in (np.ones((3, 4), np.float32), np.ones(12), np.ones((3, 4, 1))):
        with pytest.raises(ArgumentTensorTypeError):
            compiled(kind)
        assert kind.all()


def test_each_marking_has_code_of_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    @tt.jit
    def look(x: cute.Tensor) -> None:
        print(x.layout)

    array = np.zeros((3, 4))
    marked = (from_dlpack(array).mark_layout_dynamic(), from_dlpack(array).mark_compact_shape_dynamic(0))
    for _ in range(2):
        for tensor in (from_dlpack(array), *marked, array):
            look(tensor)
            look(tensor)
    assert capsys.readouterr().out.split() == ["(3,4):(4,1)", "(?,?):(?{i64},1)", "(?,4):(4,1)"]


def test_a_marking_changes_the_tensor_itself() -> None:
    tensor = from_dlpack(np.zeros((3, 4)))
    assert tensor.mark_layout_dynamic() is tensor
    assert str(tensor.layout) == "(?,?):(?{i64},1)"


def test_what_is_dynamic_stays_dynamic_when_an_extent_gets_a_divisor() -> None:
    tensor = from_dlpack(np.zeros((2, 3, 8), np.float32)).mark_layout_dynamic(leading_dim=2)
    tensor.mark_compact_shape_dynamic(mode=2, stride_order=(0, 1, 2), divisibility=4)
    assert str(tensor.layout) == "(?,?,?{div=4}):(?{div=4},?{div=4},1)"

    @tt.jit
    def clear(x: cute.Tensor) -> None:
        for i in range(cute.size(x)):
            x[i] = 0.0

    compiled = tt.compile(clear, tensor)
    for shape in ((2, 3, 8), (1, 5, 4), (7, 1, 12)):
        array = np.ones(shape, np.float32)
        compiled(array)
        assert not array.any()
    with pytest.raises(ArgumentTensorError):
        compiled(np.ones((2, 3, 6), np.float32))


def test_the_leading_mode() -> None:
    array = np.zeros((3, 4), np.float32)
    assert from_dlpack(array).leading_dim == from_dlpack(array).mark_layout_dynamic().leading_dim == 1
    assert from_dlpack(array.T).leading_dim == 0
    assert from_dlpack(array[:, ::2]).leading_dim is None


def test_bytes_are_elements_of_another_type() -> None:
    @tt.jit
    def double(x: cute.Tensor, y: cute.Tensor) -> None:
        print(x.element_type)
        for i in range(cute.size(x)):
            y[i] = x[i].to(tt.Float32) * 2

    numbers = np.array([1.5, -2.0, 448.0], ml_dtypes.float8_e4m3fn)
    tensor, doubled = from_dlpack(numbers.view(np.uint8)), np.zeros(3, np.float32)
    tensor.element_type = tt.Float8E4M3FN
    assert tensor.element_type is tensor.dtype is tt.Float8E4M3FN
    double(tensor, doubled)
    assert doubled.tolist() == [3.0, -4.0, 896.0]
    with pytest.raises(UnsupportedTensorError, match="Float8E4M3FN cannot be taken for elements of type Float16"):
        tensor.element_type = tt.Float16


def test_an_alignment_is_checked_where_it_is_declared_and_at_the_call() -> None:
    @tt.jit
    def clear(x: cute.Tensor) -> None:
        x[0] = 0.0

    raw = np.zeros(1024, np.uint8)
    start = -raw.ctypes.data % 64
    aligned, shifted = (raw[start + by : start + by + 64].view(np.float32) for by in (0, 4))
    compiled = tt.compile(clear, from_dlpack(aligned, assumed_align=64).mark_layout_dynamic())
    compiled(aligned)
    with pytest.raises(ArgumentTensorError, match="argument 'x' is not aligned"):
        compiled(shifted)
    with pytest.raises(ArgumentTensorError, match="not aligned as assumed"):
        from_dlpack(shifted, assumed_align=8)
    with pytest.raises(ArgumentTensorError, match="not aligned as assumed"):
        from_dlpack(aligned, assumed_align=3)
    odd = raw[start + 1 : start + 65].view(np.float32)
    with pytest.raises(ArgumentTensorError, match="argument 'x' is not aligned"):
        clear(odd)


@given(
    extents=st.tuples(*[st.integers(1, 5)] * 3),
    order=st.permutations(range(3)),
    mode=st.integers(0, 2),
)
def test_a_compact_marking_describes_the_tensor(extents: Any, order: Any, mode: int) -> None:
    """The marked layout with the real extent in its place steps as the tensor does."""
    array = np.zeros([extents[m] for m in order]).transpose(np.argsort(order))
    marked = from_dlpack(array).mark_compact_shape_dynamic(mode, stride_order=order)
    layout = substitute(marked.layout, {f".shape[{mode}]": extents[mode]})
    assert layout.shape == array.shape
    for extent, step, byte_step in zip(array.shape, layout.stride, array.strides, strict=True):
        assert extent == 1 or step == byte_step // 8


def functions_entered(call: Callable[[], object]) -> int:
    """How many functions of Python a warm call enters."""
    call()
    entered = 0

    def count(frame: object, event: str, argument: object) -> None:
        nonlocal entered
        entered += event == "call"

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        call()
    finally:
        sys.setprofile(before)
    return entered - 1


def test_a_layout_that_has_been_seen_is_not_computed_again() -> None:
    """Describing and marking an array took over a hundred functions, layouts and unknown integers."""
    array = np.zeros((64, 32), np.float32)
    assert functions_entered(lambda: from_dlpack(array)) <= 14
    assert functions_entered(lambda: from_dlpack(array).mark_layout_dynamic(leading_dim=1)) <= 18
    compact: dict[str, Any] = {"mode": 1, "stride_order": (0, 1), "divisibility": 8}
    assert functions_entered(lambda: from_dlpack(array).mark_compact_shape_dynamic(**compact)) <= 18


def test_what_is_remembered_of_a_mark_is_of_that_type_of_argument() -> None:
    array = np.zeros((64, 32), np.float32)
    from_dlpack(array, assumed_align=4).mark_layout_dynamic(leading_dim=1)
    wrong: Any = 1.0
    with pytest.raises(TypeError):
        from_dlpack(array).mark_layout_dynamic(leading_dim=wrong)
    with pytest.raises(TypeError):
        from_dlpack(array, assumed_align=4 * wrong)


def test_a_tensor_taken_for_other_elements_leaves_the_one_that_it_came_from() -> None:
    first = from_dlpack(np.zeros(4, np.uint8))
    second = from_dlpack(first)
    second.element_type = tt.Float8E4M3FN
    assert (first.element, second.element) == ("Uint8", "Float8E4M3FN")
    assert from_dlpack(second).element_type is tt.Float8E4M3FN

"""Tensors that are passed as they are: any element type, any view, without a copy."""

from __future__ import annotations

import pickle
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import triptych as tt
from triptych import cute
from triptych.cute.runtime import from_dlpack
from triptych.diagnostics.tensor_errors import ReadOnlyTensorError, UnsupportedTensorError
from triptych.interop.dlpack import ELEMENT_CODES, PACKED_ELEMENTS, array_type


@tt.jit
def copy(source: cute.Tensor, target: cute.Tensor) -> None:
    for i in range(source.shape[0]):
        for j in range(source.shape[1]):
            target[i, j] = source[i, j]


@tt.jit
def copy_row(source, target):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201 - no annotation is the case
    for i in range(source.shape[0]):
        target[i] = source[i]


@st.composite
def slices(draw: st.DrawFn, extent: int) -> slice:
    start = draw(st.integers(0, extent))
    return slice(start, draw(st.integers(start, extent)), draw(st.integers(1, 3)))


@st.composite
def views(draw: st.DrawFn) -> Any:
    """A matrix that is a part of another one, transposed, or repeats its rows."""
    rows, columns = draw(st.integers(1, 6)), draw(st.integers(1, 6))
    whole = np.arange(rows * columns, dtype=np.float32).reshape(rows, columns)
    part = whole[draw(slices(rows)), draw(slices(columns))]
    part = part.T if draw(st.booleans()) else part
    return np.broadcast_to(part[:1], (4, part.shape[1])) if draw(st.booleans()) and len(part) else part


@given(source=views(), order=st.sampled_from("CF"))
def test_every_view_is_read_and_written_where_its_elements_are(source: Any, order: str) -> None:
    target = np.full(source.shape, -1.0, np.float32, order=order)  # type: ignore[call-overload]
    copy(source, target)
    assert np.array_equal(target, source)


@pytest.mark.parametrize("element", [each for each in ELEMENT_CODES if each not in {*PACKED_ELEMENTS, "TFloat32"}])
def test_every_element_type_crosses(element: str) -> None:
    kind = np.dtype(getattr(np, array_type(element), None) or getattr(ml_dtypes, array_type(element)))
    raw = np.arange(1, 9, dtype=np.uint8) if element != "Boolean" else np.array([0, 1] * 4, np.uint8)
    source = np.resize(raw, 8 * kind.itemsize).view(kind)
    target = np.zeros_like(source)
    copy_row(source, target)
    assert target.tobytes() == source.tobytes()
    assert [leaf.dtype for leaf in _parameters(tt.compile(copy_row, source, target))] == [element, element]


def test_sizes_share_one_compiled_function_and_types_do_not(capsys: pytest.CaptureFixture[str]) -> None:
    @tt.jit
    def look(x: cute.Tensor) -> Any:
        print(x.layout)
        return x.shape[0]

    for extent in (3, 8, 1000, 3):
        assert look(np.zeros((extent, 2))) == extent
    assert capsys.readouterr().out == "(?,?):(?{i64},1)\n"
    look(np.zeros((2, 3)).T)
    look(np.zeros((5, 2), np.float32))
    look(np.zeros((6, 6))[::2, ::2])
    look(np.zeros((2, 3)))
    assert capsys.readouterr().out.split() == ["(?,?):(1,?{i64})", "(?,?):(?{i64},1)", "(?,?):(?{i64},?{i64})"]


@pytest.mark.parametrize("shape", [(0,), (1,), (0, 3), (3, 0), (1, 1), (1, 4), (4, 1)])
def test_modes_that_never_step_fit_every_layout(shape: tuple[int, ...]) -> None:
    """A function that was compiled for a row-major matrix takes an empty one, and one of a single row."""

    @tt.jit
    def extents(x: cute.Tensor) -> Any:
        return x.shape

    assert extents(np.zeros(shape)) == shape
    assert tt.compile(extents, np.zeros((2,) * len(shape)))(np.zeros(shape)) == shape


def test_a_tensor_of_no_modes() -> None:
    @tt.jit
    def double(x: cute.Tensor) -> None:
        x[()] = x[()] * 2

    value = np.array(21.0)
    double(value)
    assert value == 42.0


def test_arrays_that_are_not_plain_arrays() -> None:
    class Special(np.ndarray[Any, Any]):
        pass

    source = np.arange(4, dtype=np.float32)
    for array in (source.view(Special), pickle.loads(pickle.dumps(source)), source.astype("<f4")):
        target = np.zeros_like(source)
        copy_row(array, target)
        assert np.array_equal(target, source)
    wide = np.arange(4, dtype=np.longlong)
    target = np.zeros(4, np.int64)
    copy_row(wide, target)
    assert np.array_equal(target, wide)


@pytest.mark.parametrize(
    ("array", "found"),
    [
        (np.zeros(4, np.complex128), "elements of type complex128"),
        (np.zeros(4, ">f4"), "elements of type >f4"),
        (np.zeros(4, "S3"), "elements of type bytes24"),
        (np.zeros(4, [("a", "f4"), ("b", "i2")])["a"], "strides of (6,) bytes"),
    ],
)
def test_memory_that_is_no_tensor_is_refused(array: Any, found: str) -> None:
    with pytest.raises(UnsupportedTensorError) as caught:
        copy_row(array, array)
    assert (caught.value.found, caught.value.span is not None) == (found, True)
    assert "argument 'source'" in caught.value.title


def test_a_tensor_that_is_only_read_may_be_read_only() -> None:
    source, target = np.arange(5, dtype=np.float32), np.zeros(5, np.float32)
    source.flags.writeable = False
    compiled = tt.compile(copy_row, target, target)
    for call in (copy_row, compiled):
        call(source, target)
        assert np.array_equal(target, source)
        with pytest.raises(ReadOnlyTensorError, match="argument 'target' is read-only"):
            call(target, source)


def test_a_kernel_says_what_it_writes() -> None:
    @tt.kernel
    def move(source: cute.Tensor, target: cute.Tensor) -> None:
        i, _, _ = cute.arch.thread_idx()
        target[i] = source[i]

    @tt.jit
    def host(source: cute.Tensor, target: cute.Tensor) -> None:
        move(source, target).launch(grid=1, block=4)

    written = [leaf.memory.written for leaf in _parameters(tt.compile(host, np.zeros(4), np.zeros(4))) if leaf.memory]
    assert written == [False, True]


def test_tensors_in_tuples() -> None:
    @tt.jit
    def shift(pair: Any) -> None:
        source, (target, by) = pair
        for i in range(source.shape[0]):
            target[i] = source[i] + by

    source, target = np.arange(4, dtype=np.float32), np.zeros(4, np.float32)
    shift((source, (target, 2.0)))
    assert np.array_equal(target, source + 2)


def test_results_beside_tensors() -> None:
    @tt.jit
    def ends(x: cute.Tensor) -> Any:
        return x[0], x[x.shape[0] - 1]

    for _ in range(3):
        assert ends(np.arange(5.0)) == (0.0, 4.0)
        assert ends(np.arange(7.0, dtype=np.float32)) == (0.0, 6.0)
    fixed = np.arange(5.0)
    fixed.flags.writeable = False
    with pytest.raises(UnsupportedTensorError, match="several results"):
        ends(fixed)


def _parameters(compiled: Any) -> Any:
    return compiled._loaded.compiled.lowered.traced.parameters


def test_tensors_of_arguments_are_tensors_to_programs_that_ask() -> None:
    tensor: object = from_dlpack(np.zeros(4, np.float32))
    assert isinstance(tensor, cute.Tensor)
    assert isinstance(tensor, type(tensor))
    assert type(tensor) is not cute.Tensor
    assert not isinstance(3, cute.Tensor)

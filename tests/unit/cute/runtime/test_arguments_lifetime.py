"""What a call takes of a tensor it gives back; what compiled code cannot read Python reads for it."""

from __future__ import annotations

import gc
import sys
import weakref
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import triptych as tt
from triptych import cute
from triptych.cute.runtime import from_dlpack, make_ptr
from triptych.diagnostics.tensor_errors import ArgumentTensorError, ArgumentTensorTypeError, UnsupportedTensorError
from triptych.interop.tensor_views import tensor_view


class Foreign:
    """A tensor of a library that compiled code knows nothing about."""

    def __init__(self, array: Any) -> None:
        self.array = array

    def __dlpack__(self, **options: Any) -> Any:
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        return self.array.__dlpack_device__()


class Old(Foreign):
    """One that knows no versions."""

    def __dlpack__(self) -> Any:  # type: ignore[override]
        return self.array.__dlpack__()


class Elsewhere(Foreign):
    """One that cannot give its memory away."""

    def __dlpack__(self, **options: Any) -> Any:
        raise BufferError("the memory is on another planet")


@tt.jit
def double(x: cute.Tensor) -> None:
    for i in range(x.shape[0]):
        x[i] = x[i] * 2


@pytest.mark.parametrize("wrap", [lambda a: a, Foreign, Old, from_dlpack, tensor_view])
def test_calls_leave_no_references(wrap: Any) -> None:
    array = np.ones(3)
    compiled = tt.compile(double, np.ones(3))
    tensor = wrap(array)
    for call in (double, compiled):
        call(tensor)
    before = sys.getrefcount(array)
    for _ in range(50):
        compiled(tensor)
        double(tensor)
        for other in (np.ones(3, np.float32), np.ones((3, 3))):
            with pytest.raises(ArgumentTensorTypeError):
                compiled(wrap(other))
    assert sys.getrefcount(array) == before
    assert array.tolist() == [2.0**102] * 3


@pytest.mark.parametrize("wrap", [Foreign, Old, lambda a: a])
def test_a_view_holds_the_memory_as_long_as_it_lives(wrap: Any) -> None:
    array = np.arange(4.0).view(_Watched)
    watcher = weakref.ref(array)
    view = from_dlpack(wrap(array)).mark_layout_dynamic()
    del array
    gc.collect()
    assert watcher() is not None
    double(view)
    assert np.array_equal(np.asarray(watcher()), [0.0, 2.0, 4.0, 6.0])
    del view
    gc.collect()
    assert watcher() is None


class _Watched(np.ndarray[Any, Any]):
    pass


def test_a_tensor_that_keeps_its_memory_is_refused() -> None:
    for call in (double, tt.compile(double, np.ones(3))):
        with pytest.raises(UnsupportedTensorError, match="argument 'x'") as caught:
            call(Elsewhere(np.ones(3)))
        assert caught.value.found == "BufferError: the memory is on another planet"


def test_memory_of_another_device_is_refused() -> None:
    view = tensor_view(np.ones(3))
    view._described.device = 2
    with pytest.raises(ArgumentTensorError, match="not in memory of this machine's CPU") as caught:
        tt.compile(double, np.ones(3))(view)
    assert caught.value.found == "a CUDA GPU (number 0)"
    view._described.device, view._described.data = 1, None
    with pytest.raises(ArgumentTensorError, match="has no memory"):
        tt.compile(double, np.ones(3))(view)


def test_threads_call_at_once() -> None:
    arrays = [np.ones(100 + k) for k in range(8)]

    def work(array: Any) -> None:
        for _ in range(200):
            double(array)
            array /= 2

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, arrays))
    assert all((array == 1).all() for array in arrays)


def test_kinds_of_tensors_take_turns_without_compiling() -> None:
    @tt.jit
    def halve(x: cute.Tensor) -> None:
        x[0] = x[0] / 2

    arrays = [np.ones(3), np.ones(3, np.float32), Foreign(np.ones(3)), np.ones(6)[::2]]
    for _ in range(20):
        for array in arrays:
            halve(array)
    assert [np.asarray(a.array if isinstance(a, Foreign) else a)[0] for a in arrays] == [2.0**-20] * 4
    assert len(halve._compiled) == 3


@tt.jit
def doubled(p: cute.Pointer, n: tt.Int32) -> None:
    for i in range(n):
        (p + i).store((p + i).load() * 2.0)


def test_the_pointer_of_a_tensor_is_an_argument_that_keeps_its_memory() -> None:
    x = np.arange(6, dtype=np.float32)
    pointer = from_dlpack(x, assumed_align=4).iterator
    assert pointer == make_ptr(tt.Float32, x.ctypes.data, cute.AddressSpace.gmem, assumed_align=4)
    doubled(pointer, 6)
    np.testing.assert_array_equal(x, 2 * np.arange(6))
    kept = weakref.ref(x)
    del x
    gc.collect()
    assert kept() is not None
    aligned = pointer.align(4)
    del pointer
    gc.collect()
    doubled(aligned, 6)
    np.testing.assert_array_equal(kept(), 4 * np.arange(6))
    del aligned
    gc.collect()
    assert kept() is None

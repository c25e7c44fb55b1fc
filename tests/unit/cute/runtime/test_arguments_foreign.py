"""Arrays of JAX, `array.array`, `memoryview` and objects with `__array_interface__` as arguments."""

from __future__ import annotations

import array
import sys
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
import pytest

import triptych as tt
from triptych import cute
from triptych.cute.runtime import from_dlpack
from triptych.diagnostics.tensor_errors import ReadOnlyTensorError, TracedByJaxError, UnsupportedTensorError
from triptych.support.errors import TriptychError


class OwnInterface:
    """Has the interface as an attribute of each object."""

    def __init__(self, values: list[float]) -> None:
        self.memory = np.array(values, np.float32)
        self.__array_interface__ = self.memory.__array_interface__


class ClassInterface:
    """Has the interface as a property of its class."""

    def __init__(self, values: list[float]) -> None:
        self.memory = np.array(values, np.float32)

    @property
    def __array_interface__(self) -> dict[str, Any]:
        return self.memory.__array_interface__


MAKERS: dict[str, Callable[[list[float]], Any]] = {
    "array.array": lambda values: array.array("f", values),
    "memoryview": lambda values: memoryview(array.array("f", values)),
    "own interface": OwnInterface,
    "class interface": ClassInterface,
}


@tt.jit
def double(a: cute.Tensor, c: cute.Tensor) -> None:
    for i in range(a.shape[0]):
        c[i] = a[i] * 2.0


@tt.jit
def total(a: cute.Tensor) -> Any:
    found = tt.Float32(0.0)
    for i in range(a.shape[0]):
        found += a[i]
    return found


@tt.jit
def with_results(a: cute.Tensor, c: cute.Tensor) -> Any:
    double(a, c)
    return c[0], c[1]


@pytest.mark.parametrize("maker", list(MAKERS))
def test_memory_is_shared(maker: str) -> None:
    make = MAKERS[maker]
    for call in (double, tt.compile(double, make([1.0]), make([1.0])), with_results):
        for _ in range(3):
            source, target = make([1.0, 2.0, 3.0]), make([0.0] * 3)
            references = sys.getrefcount(source), sys.getrefcount(target)
            call(source, target)
            call(np.array([1, 2, 3], np.float32), target)
            assert np.asarray(target).tolist() == [2.0, 4.0, 6.0]
            assert (sys.getrefcount(source), sys.getrefcount(target)) == references
    assert total(from_dlpack(make([1.0, 2.0]))) == 3.0


def test_what_may_not_be_written_or_is_no_tensor() -> None:
    frozen = memoryview(np.array([1, 2], np.float32).tobytes()).cast("f")
    assert total(frozen) == 3.0
    for _ in range(2):
        with pytest.raises(ReadOnlyTensorError, match="argument 'c'"):
            double(frozen, frozen)
    with pytest.raises(UnsupportedTensorError, match="argument 'a'"):
        total(memoryview(b"abc").cast("c"))


class OnGpu:
    """Offers its memory by CUDA's own interface only."""

    __cuda_array_interface__: ClassVar = {"shape": (4,), "typestr": "<f4", "data": (4096, False), "version": 3}


@pytest.mark.parametrize("call", [double, tt.compile(double, np.ones(4, np.float32), np.ones(4, np.float32))])
def test_cuda_s_own_interface_is_answered_with_the_one_to_use(call: Callable[..., Any]) -> None:
    with pytest.raises(TriptychError) as raised:
        call(OnGpu(), OnGpu())
    assert raised.value.code in ("TT0402", "TT0602")
    assert "DLPack" in raised.value.instead
    assert "torch.as_tensor(x, device='cuda')" in raised.value.instead


def test_scalars_of_numpy_stay_numbers() -> None:
    @tt.jit
    def following(x: Any) -> Any:
        return x + 1

    assert following(np.int32(4)) == 5


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int8", "bool", "float16"])
def test_arrays_of_jax(dtype: str) -> None:
    jnp = pytest.importorskip("jax.numpy")

    @tt.jit
    def copy(source: cute.Tensor, target: cute.Tensor) -> None:
        for i in range(source.shape[0]):
            for j in range(source.shape[1]):
                target[i, j] = source[i, j]

    source = jnp.arange(6).reshape(2, 3).astype(dtype)
    for array_ in (source, source.T, source[:1], source[:0]):
        target = np.zeros(array_.shape, np.asarray(array_).dtype)
        for call in (copy, copy, tt.compile(copy, array_, target)):
            target[...] = 0
            call(array_, target)
            assert (target == np.asarray(array_)).all()
    with pytest.raises(ReadOnlyTensorError):
        copy(source, source)


def test_a_tracer_of_jax_is_reported_what_to_call() -> None:
    jax = pytest.importorskip("jax")
    compiled = tt.compile(total, np.zeros(4, np.float32))
    for call in (total, compiled):
        for transform in (jax.jit, jax.grad, jax.vmap):
            with pytest.raises(TracedByJaxError) as caught:
                transform(lambda x, call=call: call(x))(jax.numpy.ones((4,)))
            assert "triptych.jax.call" in caught.value.instead
            assert caught.value.span is not None

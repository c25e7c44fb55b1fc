"""Tensors whose memory is not what they stand for, and descriptions that are not true: refused on every way in."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import triptych as tt
from tests.support.exporters import Exporter
from triptych import cute
from triptych.cute.runtime import from_dlpack
from triptych.diagnostics.tensor_errors import ArgumentTensorTypeError, ReadOnlyTensorError, UnsupportedTensorError
from triptych.support.errors import TriptychError


@tt.jit
def first(x: cute.Tensor) -> Any:
    return x[0]


@tt.jit
def twice(x: cute.Tensor) -> Any:
    return x[0], x[1]


@tt.jit
def clear(x: cute.Tensor) -> None:
    x[0] = x.element_type(0)


def ways_in(good: Any) -> dict[str, Callable[[Any], Any]]:
    """Every way by which a tensor like `good` reaches a program, each warm."""
    ways: dict[str, Callable[[Any], Any]] = {
        "jit": first,
        "compiled": tt.compile(first, good),
        "several results": twice,
        "compiled, several results": tt.compile(twice, good),
        "from_dlpack": lambda x: first(from_dlpack(x)),
    }
    for way in ways.values():
        way(good)
        way(good)
    return ways


# torch ------------------------------------------------------------------------------------------------------------
def torch_or_skip() -> Any:
    return pytest.importorskip("torch")


def test_gradients_are_refused() -> None:
    torch = torch_or_skip()
    leaf = torch.arange(4.0, requires_grad=True)
    base = torch.zeros(4)
    late = base[1:]
    base.mul_(leaf)  # a view of a tensor that autograd follows from now on
    for name, call in ways_in(torch.arange(4.0)).items():
        for tensor in (leaf, leaf * 2, torch.nn.Parameter(torch.ones(4)), late):
            with pytest.raises(UnsupportedTensorError, match="requires a gradient") as caught:
                call(tensor)
            assert "detach" in caught.value.instead, name
        with torch.no_grad():
            call(leaf)
        call(leaf.detach())
        call(torch.nn.Parameter(torch.ones(4), requires_grad=False).detach())


def test_what_is_left_to_be_negated_is_refused() -> None:
    torch = torch_or_skip()
    negated = torch.tensor([1 + 2j, 3 + 4j, 5 + 6j]).conj().imag
    assert negated.is_neg()
    for call in ways_in(torch.zeros(6)[::2]).values():
        with pytest.raises(UnsupportedTensorError) as caught:
            call(negated)
        assert "resolve_neg" in caught.value.instead
        call(negated.resolve_neg())
    assert first(negated.resolve_neg()) == -2.0


def test_views_stay_welcome() -> None:
    torch = torch_or_skip()
    base = torch.arange(12, dtype=torch.int32)
    with torch.inference_mode():
        inferred = torch.ones(3, dtype=torch.int32)
    compiled = tt.compile(first, base)
    for view in (base[3:], base[3:7], base.view(3, 4)[1], base.detach()[3:], inferred):
        assert compiled(view) == first(view) == view[0].item()


TORCH_KINDS: dict[str, Callable[[Any], Any]] = {
    "conjugated": lambda torch: torch.tensor([1 + 2j, 2j]).conj(),
    "complex": lambda torch: torch.ones(4, dtype=torch.complex64),
    "sparse": lambda torch: torch.tensor([1.0, 0.0, 2.0]).to_sparse(),
    "meta": lambda torch: torch.empty(4, device="meta"),
    "nested": lambda torch: torch.nested.nested_tensor([torch.ones(2), torch.ones(3)]),
    "zero": lambda torch: torch._efficientzerotensor(4),
    "functional": lambda torch: torch._to_functional_tensor(torch.ones(4)),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", list(TORCH_KINDS))
def test_tensors_without_plain_memory_are_refused(kind: str) -> None:
    torch = torch_or_skip()
    tensor = TORCH_KINDS[kind](torch)
    for call in ways_in(torch.zeros(4)).values():
        with pytest.raises(TriptychError):
            call(tensor)


def test_a_class_of_its_own_is_asked() -> None:
    """A class with `__torch_function__` or `__dlpack__` decides what its tensors are."""
    torch = torch_or_skip()

    def refuse(cls: Any, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if function is torch.Tensor.__dlpack__:
            raise BufferError("not to be read")
        return torch.Tensor.__torch_function__.__func__(cls, function, types, args, kwargs or {})

    def double(tensor: Any, **options: Any) -> Any:
        return (tensor.as_subclass(torch.Tensor) * 2).__dlpack__(**options)

    Plain = type("Plain", (torch.Tensor,), {})
    Refusing = type("Refusing", (torch.Tensor,), {"__torch_function__": classmethod(refuse)})
    Doubling = type("Doubling", (torch.Tensor,), {"__dlpack__": double})
    numbers = torch.arange(1.0, 5.0)
    assert [first(numbers), first(numbers.as_subclass(Plain)), first(numbers.as_subclass(Doubling))] == [1.0, 1.0, 2.0]
    for _ in range(2):
        with pytest.raises(UnsupportedTensorError, match="does not give its memory away"):
            first(numbers.as_subclass(Refusing))


def test_torch_is_read_natively() -> None:
    """Where the fields of this version are not found, tensors go the long way, which takes twenty times as long."""
    torch_or_skip()
    fields = sys.modules["triptych.interop.torch_tensors"].torch_fields()
    assert fields is not None
    assert fields.negative.bit_count() == 1


# NumPy ------------------------------------------------------------------------------------------------------------
def test_masked_arrays_are_refused() -> None:
    masked = np.ma.array(np.arange(4.0), mask=[False, True, False, True])
    for call in ways_in(np.arange(4.0)).values():
        with pytest.raises(UnsupportedTensorError, match="masked") as caught:
            call(masked)
        assert "filled" in caught.value.instead
        call(masked.filled(0.0))


@pytest.mark.parametrize(
    "dtype", [[("a", np.int32), ("b", np.int32)], object, "U3", "S3", "M8[s]", "m8[s]", np.longdouble, ">i4", complex]
)
def test_arrays_of_other_elements_are_refused(dtype: Any) -> None:
    array = np.zeros(4, dtype=dtype)
    for call in ways_in(np.zeros(4, np.int32)).values():
        with pytest.raises((UnsupportedTensorError, ArgumentTensorTypeError)):
            call(array)


@pytest.mark.filterwarnings("ignore:the matrix subclass")
def test_classes_of_arrays() -> None:
    @tt.jit
    def corner(x: cute.Tensor) -> Any:
        return x[1, 0]

    class Own(np.ndarray[Any, Any]):
        pass

    square = np.arange(4.0).reshape(2, 2)
    for array in (square, np.asmatrix(square), square.view(Own), square.view(np.recarray)):
        assert corner(array) == 2.0


# descriptions -----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "exporter",
    [
        Exporter(),
        Exporter(stride=None),
        Exporter(version=(1, 0)),
        Exporter(version=(1, 7), stride=None),
        Exporter(offset=0, shape=(4, 2), stride=(1, 1), rank=1),
        Exporter(version=(1, 0), flags=1),
    ],
)
def test_true_descriptions(exporter: Exporter) -> None:
    calls: list[Callable[[Any], Any]] = [
        first,
        tt.compile(first, np.zeros(4, np.int32)),
        lambda x: first(from_dlpack(x)),
    ]
    for call in calls:
        assert [call(exporter), call(exporter)] == [0, 0]


LIES: dict[str, dict[str, Any]] = {
    "no extents": {"shape": None, "rank": 1},
    "no memory": {"data": None},
    "a negative extent": {"shape": (-4,)},
    "a negative number of modes": {"rank": -1},
    "an absurd number of modes": {"rank": 2**31 - 1},
    "more modes than anybody has": {"rank": 65},
    "an extent beyond memory": {"shape": (2**62,)},
    "extents beyond memory": {"shape": (2**62, 2**62), "stride": None},
    "a stride beyond memory": {"stride": (2**62,)},
    "another device": {"device": 2},
    "no device": {"device": -7},
    "complex numbers": {"code": 5, "bits": 64},
    "an unknown type": {"code": 200},
    "unknown bits": {"bits": 7},
    "no bits": {"bits": 0},
    "lanes": {"lanes": 4},
    "no lanes": {"lanes": 0},
    "an odd offset": {"offset": 2},
    "a capsule that has been used": {"name": b"used_dltensor"},
    "a capsule of something else": {"name": b"foo"},
    "an empty name": {"name": b""},
    "a newer version": {"version": (2, 0)},
    "version zero": {"version": (0, 8)},
    "no capsule": {"returned": 5},
    "text": {"returned": "dltensor"},
    "a failure": {"returned": RuntimeError("no")},
    "a wrong call": {"returned": TypeError("no")},
}


@pytest.mark.parametrize("lie", list(LIES))
def test_untrue_descriptions_are_refused(lie: str) -> None:
    for call in ways_in(np.zeros(4, np.int32)).values():
        with pytest.raises(TriptychError):
            call(Exporter(**LIES[lie]))


def test_read_only_memory_is_not_written_to() -> None:
    """As arrays of JAX are, which never change."""
    compiled = tt.compile(clear, np.zeros(4, np.int32))
    for call in (clear, compiled):
        call(Exporter(version=(1, 0)))
        exporter = Exporter(version=(1, 0), flags=1)
        exporter.memory[0] = 9
        for _ in range(2):
            with pytest.raises(ReadOnlyTensorError):
                call(exporter)
        assert exporter.memory[0] == 9


def test_arrays_of_jax_are_read_only_whatever_they_say() -> None:
    class Array(Exporter):
        __module__ = "jaxlib._jax"

    with pytest.raises(ReadOnlyTensorError):
        clear(Array())
    assert first(Array()) == 0

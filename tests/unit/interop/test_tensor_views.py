"""Views of tensors by DLPack, where torch is not at hand: packed elements, tensors without memory, refused ones."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from triptych.diagnostics.tensor_errors import UnsupportedTensorError
from triptych.interop.dlpack import CPU, ELEMENT_CODES, describing_function, tensor_facts
from triptych.interop.fake_views import fake_memory
from triptych.interop.tensor_views import TensorView, passing_view, tensor_view
from triptych.interop.torch_tensors import check_settled


def packed(extents: tuple[int, ...], strides: tuple[int, ...]) -> TensorView:
    """Two numbers of 4 bits in each byte, counted in bytes as torch does."""
    owner: Any = None
    facts = tensor_facts(*ELEMENT_CODES["Float4E2M1FN"], extents, strides, 2)
    return TensorView((facts, 4096, owner, None, None, False))


def test_packed_elements_are_counted_one_by_one() -> None:
    view = packed((3, 8), (8, 1))
    assert (view.extents, view.strides, view.element) == ((3, 16), (16, 1), "Float4E2M1FN")
    view = packed((4, 5), (1, 4))
    assert (view.extents, view.strides) == ((8, 5), (1, 8))
    assert (view.address, view.on_cpu, view.read_only) == (4096, True, False)
    with pytest.raises(UnsupportedTensorError, match="2 elements are packed"):
        packed((3, 8), (16, 2))


class Fake:
    """As a tensor of torch's `FakeTensorMode`: it has no memory."""

    def __init__(self, dtype: str) -> None:
        self.dtype = f"torch.{dtype}"
        self.shape = (3, 4)

    def stride(self) -> tuple[int, ...]:
        return (4, 1)


def test_a_tensor_without_memory_has_a_type_and_extents(monkeypatch: pytest.MonkeyPatch) -> None:
    assert fake_memory(Fake("float32")) is None
    module = ModuleType("torch._subclasses.fake_tensor")
    monkeypatch.setattr(module, "FakeTensor", Fake, raising=False)
    monkeypatch.setitem(sys.modules, module.__name__, module)
    memory = fake_memory(Fake("float32"))
    assert memory is not None
    facts, address = memory[:2]
    assert (facts.extents, facts.strides, facts.element, address) == ((3, 4), (4, 1), "Float32", 0)
    assert fake_memory(np.zeros(3)) is None
    with pytest.raises(UnsupportedTensorError, match="complex64"):
        fake_memory(Fake("complex64"))


class Followed:
    requires_grad = True


class Negated:
    requires_grad = False

    def is_neg(self) -> bool:
        return True


@pytest.mark.parametrize(("value", "instead"), [(Followed(), "detach"), (Negated(), "resolve_neg")])
def test_memory_that_is_not_what_it_stands_for_is_refused(value: object, instead: str) -> None:
    with pytest.raises(UnsupportedTensorError, match=instead):
        check_settled(value)


def test_arrays_have_no_c_function_and_views_are_their_own() -> None:
    array = np.arange(6.0).reshape(2, 3)
    assert describing_function(np.ndarray) is None
    view = passing_view(array)
    assert (view.extents, view.element) == ((2, 3), "Float64")
    assert tensor_view(view) is view
    assert view.__dlpack_device__() == array.__dlpack_device__()


class WithTable:
    """Offers a C function by a table that is none."""

    __dlpack_c_exchange_api__ = "no capsule"

    def __dlpack__(self, **options: object) -> Any:
        return np.zeros(2, np.int16).__dlpack__()

    def __dlpack_device__(self) -> Any:
        return (CPU, 0)


def test_a_table_that_is_none_is_not_called() -> None:
    assert describing_function(WithTable) is None
    assert passing_view(WithTable()).extents == (2,)

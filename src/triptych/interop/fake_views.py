"""Fake tensors of torch: functions are compiled for them, and called with tensors that have memory."""

from __future__ import annotations

from typing import Any

from triptych.diagnostics.tensor_errors import UnsupportedTensorError
from triptych.interop.dlpack import ELEMENT_CODES, TensorMemory, array_type, tensor_facts
from triptych.interop.torch_tensors import lacks_memory


# Any: a tensor of torch, which has no types here; so below.
def fake_facts(value: Any) -> tuple[str, tuple[Any, ...], tuple[Any, ...]] | None:
    """The element type, extents and strides of a tensor of torch that has no memory; None for all others.

    Such are those of `FakeTensorMode`, whose integers may be symbols of torch's, and those on the device `meta`.
    """
    if not lacks_memory(value):
        return None
    name = str(value.dtype).rpartition(".")[2]
    element = next((element for element in ELEMENT_CODES if array_type(element) == name), None)
    if element is None:
        raise UnsupportedTensorError(
            f"elements of type {name} cannot be elements of a tensor",
            found=name,
            expected=f"one of {', '.join(ELEMENT_CODES)}",
        )
    return element, tuple(value.shape), tuple(value.stride())


def fake_memory(value: object) -> TensorMemory | None:
    """What a view of a tensor that has no memory is made of."""
    facts = fake_facts(value)
    if facts is None:
        return None
    element, extents, strides = facts
    known = tensor_facts(*ELEMENT_CODES[element], tuple(map(int, extents)), tuple(map(int, strides)))
    return known, 0, value, None, None, False

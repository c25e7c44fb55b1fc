"""Tensor views: the memory of any object that offers it, by DLPack or as a NumPy array, with nothing copied.

Input: an array or tensor. Output: a `TensorView` with address, extents, strides in elements and type. NumPy arrays and
plain tensors of torch are read where they have these; others are asked for a capsule.
"""

from __future__ import annotations

import ctypes
from typing import Any

from triptych.interop.dlpack import (
    CPU_DEVICES,
    CountedTensor,
    TensorFacts,
    TensorMemory,
    capsule_of,
    describe,
    described_facts,
    describing_function,
    read_capsule,
)
from triptych.interop.foreign_arrays import check_no_tracer, foreign_array, is_foreign_array, is_jax
from triptych.interop.numpy_arrays import Array, array_address, array_facts, is_array
from triptych.interop.torch_tensors import check_settled, exporting, is_torch, plain_memory, torch_fields


class TensorView:
    """The memory of a tensor, which stays alive as long as the view. Compiled code finds the description in it."""

    __slots__ = (
        *("__dltensor__", "__weakref__", "__writable_dltensor__", "_described", "_facts", "_held", "_owner"),
        "counted",
    )

    __dltensor__: int
    """The address of a `DLTensor`."""
    __writable_dltensor__: int
    """The same; missing when the memory may not be written to."""

    def __init__(self, memory: TensorMemory) -> None:
        self._facts, address, self._owner, self._held, self.counted, read_only = memory
        self._described = described = CountedTensor.from_buffer_copy(self._facts.image)
        described.data = address
        if self.counted is not None:
            fields = torch_fields()
            described.tensor = id(self.counted)
            described.torch = None if fields is None else ctypes.addressof(fields)
        self.__dltensor__ = place = ctypes.addressof(described)
        if not read_only:
            self.__writable_dltensor__ = place

    @property
    def memory(self) -> TensorMemory:
        """What another view of the same is made of."""
        return self._facts, self.address, self, None, self.counted, self.read_only

    def uncounted(self) -> TensorView:
        """The same memory, whose changes somebody else has told autograd of."""
        return TensorView((self._facts, self.address, self, None, None, self.read_only))

    @property
    def address(self) -> int:
        """Where element zero is."""
        return self._described.data or 0

    @property
    def facts(self) -> TensorFacts:
        """What its description says but for the address."""
        return self._facts

    @property
    def extents(self) -> tuple[int, ...]:
        return self._facts.extents

    @property
    def strides(self) -> tuple[int, ...]:
        """In elements."""
        return self._facts.strides

    @property
    def element(self) -> str:
        """The DSL type of the elements; empty when there is none."""
        return self._facts.element

    @property
    def on_cpu(self) -> bool:
        return self._facts.device in CPU_DEVICES

    @property
    def read_only(self) -> bool:
        return not hasattr(self, "__writable_dltensor__")

    def __dlpack__(self, **options: Any) -> Any:
        return exporting(self._owner).__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        return self._owner.__dlpack_device__()


def tensor_view(value: object) -> TensorView:
    """A view of any object that offers its memory; UnsupportedTensorError when it cannot be had."""
    return value if isinstance(value, TensorView) else TensorView(read_memory(value) or exported_memory(value))


def read_memory(value: object) -> TensorMemory | None:
    """The memory of our own views, of NumPy's arrays and of torch's plain tensors; None for what has to be asked."""
    if is_array(value):
        return _memory_of_array(value)
    return value.memory if isinstance(value, TensorView) else plain_memory(value)


def exported_memory(value: object) -> TensorMemory:
    """The memory of any other object that offers it."""
    if is_foreign_array(value):
        try:
            return _memory_of_array(foreign_array(value))
        except BufferError:
            pass  # an array of JAX on a GPU: asked by DLPack
    check_no_tracer(value)
    check_settled(value)
    # The capsule stays as it was made: when the view goes, the capsule goes, and gives the memory back.
    capsule = capsule_of(exporting(value))
    described, read_only = read_capsule(value, capsule)
    kind = type(value)
    address, counted = (described.data or 0) + described.offset, value if is_torch(kind) else None
    return described_facts(described), address, value, capsule, counted, read_only or is_jax(kind)


def passing_view(value: object) -> TensorView:
    """A view for the length of a call: the tensor does not move meanwhile, so nothing needs to hold its memory.

    Where a class offers a C function for it, it takes a tenth of the time.
    """
    if isinstance(value, TensorView):
        return value
    memory = read_memory(value)
    function = describing_function(type(value)) if memory is None else None
    if function is not None:
        check_settled(value)
        described = describe(value, function)
        address, counted = (described.data or 0) + described.offset, value if is_torch(type(value)) else None
        memory = described_facts(described), address, value, None, counted, False
    return TensorView(memory or exported_memory(value))


def _memory_of_array(array: Array) -> TensorMemory:
    return array_facts(array), array_address(array), array, None, None, not array.flags.writeable

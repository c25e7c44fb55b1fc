"""Arguments of compiled functions that are not plain numbers: tensors of other libraries, pointers, stand-ins."""

from __future__ import annotations

from triptych.cute.runtime.dlpack import RuntimeTensor, from_dlpack
from triptych.cute.runtime.exported_modules import find_runtime_libraries, load_module
from triptych.cute.runtime.fake_tensors import (
    FakeStream,
    FakeTensor,
    example,
    make_fake_compact_tensor,
    make_fake_stream,
    make_fake_tensor,
)
from triptych.cute.runtime.pointers import RuntimePointer, make_ptr, nullptr

Pointer = RuntimePointer
"""The kind of pointers made here, for annotations."""

__all__ = [
    "FakeStream",
    "FakeTensor",
    "Pointer",
    "RuntimePointer",
    "RuntimeTensor",
    "example",
    "find_runtime_libraries",
    "from_dlpack",
    "load_module",
    "make_fake_compact_tensor",
    "make_fake_stream",
    "make_fake_tensor",
    "make_ptr",
    "nullptr",
]


def __dir__() -> list[str]:
    return __all__

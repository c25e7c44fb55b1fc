"""A generated kernel: module text, the launch, the memory it works on, and the scalars of each call."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Dims = tuple[int, int, int]

NUMPY_TYPES = {
    "Int8": "int8",
    "Int32": "int32",
    "Int64": "int64",
    "Uint32": "uint32",
    "Float16": "float16",
    "Float32": "float32",
    "Float64": "float64",
}


@dataclass(frozen=True, slots=True)
class Buffer:
    """A tensor in global memory with its first contents; `values` repeat to fill it."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    values: tuple[int | float, ...]

    def array(self) -> NDArray[np.generic]:
        """A new array with the first contents."""
        return np.resize(np.array(self.values, NUMPY_TYPES[self.dtype]), self.shape)


@dataclass(frozen=True, slots=True)
class KernelProgram:
    """A module with a kernel `fuzzed(buffers..., scalars...)` and a host function `launch` of the same arguments.

    Unless it is dynamic, the launch shape is written in the module's text; it stands here for the reference.
    """

    source: str
    grid: Dims
    block: Dims
    is_dynamic: bool
    """Whether grid and block are further arguments of `launch`."""
    buffers: tuple[Buffer, ...]
    scalars: tuple[str, ...]
    calls: tuple[tuple[int, ...], ...]
    """The values of the scalars, one tuple for each call."""

    def __str__(self) -> str:
        contents = [f"{buffer.name} = {buffer.array().tolist()}"[:200] for buffer in self.buffers]
        launch = f"grid {self.grid}, block {self.block}, scalars {self.calls}"
        return "\n".join([launch, *contents, self.source])

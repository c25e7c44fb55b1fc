"""SPIR-V modules, read: the kernels of a module and the types of their parameters.

Input: the words of a module. Output: for each kernel its parameters, as a driver that sets them one by one needs them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from struct import unpack_from

from triptych.support.dataclass import dataclass

MAGIC = 0x07230203
_HEADER = 5
_ENTRY_POINT, _INT, _FLOAT, _POINTER, _FUNCTION_TYPE, _FUNCTION = 15, 21, 22, 32, 33, 54
"""Numbers of instructions."""
WORKGROUP, CROSS_WORKGROUP = 4, 5
"""Storage classes: shared memory and global memory."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter: a number of so many bytes, or a pointer into a kind of memory."""

    bytes: int
    storage: int | None = None


def kernel_parameters(module: bytes) -> Mapping[str, tuple[Parameter, ...]]:
    """By the names of the kernels."""
    names: dict[int, str] = {}
    types: dict[int, Parameter] = {}
    signatures: dict[int, tuple[int, ...]] = {}
    found: dict[str, tuple[Parameter, ...]] = {}
    for instruction, operands in instructions(module):
        if instruction == _ENTRY_POINT:
            names[operands[1]] = _text(operands[2:])
        elif instruction in (_INT, _FLOAT):
            types[operands[0]] = Parameter(-(-operands[1] // 8))
        elif instruction == _POINTER:
            types[operands[0]] = Parameter(8, operands[1])
        elif instruction == _FUNCTION_TYPE:
            signatures[operands[0]] = operands[2:]
        elif instruction == _FUNCTION and operands[1] in names:
            found[names[operands[1]]] = tuple(types[kind] for kind in signatures[operands[3]])
    return found


def instructions(module: bytes) -> Iterator[tuple[int, tuple[int, ...]]]:
    """The number of each instruction, and its operands."""
    words = unpack_from(f"<{len(module) // 4}I", module)
    assert words[0] == MAGIC, "this is a SPIR-V module of this machine's byte order"
    at = _HEADER
    while at < len(words):
        size, instruction = words[at] >> 16, words[at] & 0xFFFF
        yield instruction, words[at + 1 : at + size]
        at += size


def _text(words: tuple[int, ...]) -> str:
    data = b"".join(word.to_bytes(4, "little") for word in words)
    return data[: data.index(0)].decode()

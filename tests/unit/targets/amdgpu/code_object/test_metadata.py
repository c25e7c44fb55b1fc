"""`metadata`: MessagePack as LLVM writes it, and what a code object says of a kernel."""

from __future__ import annotations

import struct
from typing import Any

import pytest

from tests.unit.targets.amdgpu.programs import compiled
from triptych.targets.amdgpu.code_object.metadata import Argument, chip_of, kernels_of, metadata
from triptych.targets.amdgpu.description.chips import CHIPS

LONG = "x" * 40


def packed(value: Any) -> bytes:
    """MessagePack by its specification: the shortest form of each value."""
    if value is None or isinstance(value, bool):
        return bytes([{None: 0xC0, False: 0xC2, True: 0xC3}[value]])
    if isinstance(value, int):
        return _number(value)
    if isinstance(value, str):
        data = value.encode()
        return (bytes([0xA0 | len(data)]) if len(data) < 32 else bytes([0xD9, len(data)])) + data
    if isinstance(value, list):
        head = bytes([0x90 | len(value)]) if len(value) < 16 else b"\xdc" + struct.pack(">H", len(value))
        return head + b"".join(map(packed, value))
    head = bytes([0x80 | len(value)]) if len(value) < 16 else b"\xde" + struct.pack(">H", len(value))
    return head + b"".join(packed(key) + packed(each) for key, each in value.items())


def _number(value: int) -> bytes:
    if -32 <= value < 128:
        return struct.pack(">b", value)
    forms = ((0xCC, "B"), (0xCD, "H"), (0xCE, "I"), (0xCF, "Q")) if value >= 0 else ((0xD2, "i"), (0xD3, "q"))
    for first, form in forms:
        try:
            return bytes([first]) + struct.pack(f">{form}", value)
        except struct.error:
            continue
    raise ValueError(value)


def file_with(note: bytes) -> bytes:
    """An ELF file with nothing but a note, in a section."""
    notes = struct.pack("<III", 4, 0, 5) + b"GNU\0" + struct.pack("<III", 7, len(note), 32) + b"AMDGPU\0\0" + note
    head = bytearray(64)
    struct.pack_into("<Q", head, 0x28, 64)
    struct.pack_into("<HH", head, 0x3A, 64, 1)
    section = struct.pack("<IIQQQQ", 0, 7, 0, 0, 128, len(notes)).ljust(64, b"\0")
    return bytes(head) + section + notes


VALUES = {
    "small": [0, 127, -1, -32, None, True, False],
    "numbers": [128, 255, 256, 65535, 65536, 1 << 40, -33, -(1 << 40)],
    "texts": ["", "a", LONG],
    "long": list(range(20)),
    "many": {f"key{i}": {"inner": [i]} for i in range(17)},
}


def test_values_of_all_kinds() -> None:
    assert metadata(file_with(packed(VALUES))) == VALUES


@pytest.mark.parametrize("broken", [b"\x81\xa1a\xc7\x01\x00", b"\x81\xa5ab", b"\x82\xa1a\x01"])
def test_broken_notes_are_errors(broken: bytes) -> None:
    with pytest.raises((ValueError, IndexError)):
        metadata(file_with(broken))


def test_a_file_without_a_note() -> None:
    with pytest.raises(ValueError, match="has none"):
        metadata(file_with(b"")[:80].ljust(200, b"\0"))


def copy(x: Any, y: Any, t: Any) -> None:
    y[t] = x[t]


@pytest.mark.parametrize("chip", CHIPS)
def test_a_kernel(chip: str) -> None:
    code = compiled(copy, chip).artifact
    assert chip_of(code) == chip
    (kernel,) = kernels_of(code).values()
    assert (kernel.name, kernel.symbol, kernel.threads) == ("kernel", "kernel.kd", 256)
    assert kernel.arguments == (Argument("global_buffer", 0, 8), Argument("global_buffer", 8, 8))
    assert (kernel.argument_bytes, kernel.lanes) == (16, CHIPS[chip].lanes)
    assert (kernel.vector_spills, kernel.scalar_spills, kernel.scratch, kernel.shared) == (0, 0, 0, 0)
    assert 0 < kernel.vector_registers < 8

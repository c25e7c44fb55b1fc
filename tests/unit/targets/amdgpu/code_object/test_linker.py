"""`linker`: a code object is what LLVM's linker makes, and what cannot be one is refused."""

from __future__ import annotations

import struct
from typing import Any

import pytest
from benchmarks.amd_code_objects import differences_of, found_linker, linked_by, sections_of

from tests.unit.targets.amdgpu.programs import compiled, made_by_llvm
from triptych.ir.errors import CodegenError
from triptych.targets.amdgpu.code_object.linker import link
from triptych.targets.amdgpu.code_object.symbol_tables import SymbolTables
from triptych.targets.amdgpu.description.chips import CHIPS

LLD = found_linker()
needs_linker = pytest.mark.skipif(LLD is None, reason="needs the package `ziglang`, which brings LLVM's linker")

CONSTANTS = """
@t = internal unnamed_addr addrspace(4) constant [37 x float] zeroinitializer, align 4
@u = private unnamed_addr addrspace(4) constant [4 x i32] [i32 1, i32 2, i32 3, i32 4], align 16
@w = {linkage} addrspace(4) constant [16 x i32] [{numbers}]
@shared = external addrspace(3) global [0 x i8], align 1024
define amdgpu_kernel void @k(ptr addrspace(1) %o, i32 %i) #0 {{
  %p = getelementptr i32, ptr addrspace(4) @u, i32 %i
  %v = load i32, ptr addrspace(4) %p
  %q = getelementptr i32, ptr addrspace(4) @w, i32 %i
  %w = load i32, ptr addrspace(4) %q
  %s = getelementptr i32, ptr addrspace(3) @shared, i32 %i
  %l = load i32, ptr addrspace(3) %s
  %a = add i32 %v, %w
  %b = add i32 %a, %l
  store i32 %b, ptr addrspace(1) %o
  ret void
}}
attributes #0 = {{ nounwind "amdgpu-flat-work-group-size"="64,64" }}
"""
NUMBERS = ", ".join(f"i32 {7 * i}" for i in range(16))
CALLS = """
declare float @somewhere(float)
define amdgpu_kernel void @k(ptr addrspace(1) %o) {
  %v = call float @somewhere(float 1.0)
  store float %v, ptr addrspace(1) %o
  ret void
}
"""
WRITES = """
@count = addrspace(1) global i32 7
define amdgpu_kernel void @k() {
  store i32 3, ptr addrspace(1) @count
  ret void
}
"""


def scale(x: Any, y: Any, t: Any) -> None:
    y[t] = 3 * x[t]


def code_of(text: str, chip: str = "gfx942") -> bytes:
    return made_by_llvm(text, chip).object


@needs_linker
@pytest.mark.parametrize("chip", CHIPS)
def test_it_is_what_lld_makes(chip: str) -> None:
    assert LLD is not None
    several = "".join(f"define amdgpu_kernel void @k{i}() {{ ret void }}\n" for i in range(9))
    tables = CONSTANTS.format(linkage="internal", numbers=NUMBERS)
    for text in (compiled(scale, chip).llvm, several, tables):
        made = code_of(text, chip)
        assert not list(differences_of(link(made), linked_by(LLD, made)))


def test_a_page_that_code_fills_to_its_end() -> None:
    """The next segment begins behind it, on the next page."""
    code = link(code_of("define amdgpu_kernel void @k() { ret void }"))
    (kind, rights, offset, address, _, in_file, in_memory, _) = struct.unpack_from("<IIQQQQQQ", code, 64 + 2 * 56)
    assert (kind, rights, in_file, address - offset) == (1, 5, in_memory, 0x1000)
    table = struct.unpack_from("<IIQQQQQQ", code, 64 + 3 * 56)
    assert table[3] >> 12 > (address + in_memory - 1) >> 12


def test_a_descriptor_knows_the_way_to_its_kernel() -> None:
    code = link(code_of(compiled(scale, "gfx942").llvm))
    descriptors, begin = sections_of(code)[".rodata"], sections_of(code)[".text"][0]
    (distance,) = struct.unpack_from("<q", descriptors[1], 16)
    assert descriptors[0] + distance == begin


@pytest.mark.parametrize("count", [1, 2, 5, 40])
def test_both_hash_tables_find_every_symbol(count: int) -> None:
    names = [f"kernel_{i}{end}" for i in range(count) for end in ("", ".kd")]
    tables = SymbolTables(names)
    ordered = [names[i] for i in tables.order]
    buckets, _, words, shift = struct.unpack_from("<4I", tables.gnu_hash())
    bloom = struct.unpack_from(f"<{words}Q", tables.gnu_hash(), 16)
    rest = struct.unpack_from(f"<{buckets + len(names)}I", tables.gnu_hash(), 16 + 8 * words)
    system = struct.unpack(f"<{2 + 2 * (len(names) + 1)}I", tables.hash())
    for name in names:
        value = 5381
        for byte in name.encode():
            value = (33 * value + byte) % (1 << 32)
        word = bloom[value // 64 % words]
        assert word >> value % 64 & 1
        assert word >> (value >> shift) % 64 & 1
        place = rest[value % buckets]
        while rest[buckets + place - 1] | 1 != value | 1:
            assert not rest[buckets + place - 1] & 1, "the chain has ended"
            place += 1
        assert ordered[place - 1] == name
        chain, found = system[2:], 0
        found = chain[_system_v(name) % system[0]]
        while ordered[found - 1] != name:
            found = chain[system[0] + found]
        assert found


def _system_v(name: str) -> int:
    value = 0
    for byte in name.encode():
        value = (value << 4) + byte
        if high := value & 0xF0000000:
            value ^= high >> 24
        value &= 0x0FFFFFFF
    return value


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (CALLS, "somewhere"),
        (WRITES, ".data"),
        (CONSTANTS.format(linkage="", numbers=NUMBERS), "number 8"),
    ],
    ids=["a call", "a variable", "a constant that others may replace"],
)
def test_what_is_no_code_object(text: str, said: str) -> None:
    with pytest.raises(CodegenError, match=said):
        link(code_of(text))


def test_an_object_for_another_machine() -> None:
    made = bytearray(code_of("define amdgpu_kernel void @k() { ret void }"))
    struct.pack_into("<H", made, 18, 62)
    with pytest.raises(CodegenError, match="machine 62"):
        link(bytes(made))

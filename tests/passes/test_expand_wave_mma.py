"""`expand-tile-mma` for AMD: which numbers every matrix instruction takes, in which order, and where its results go."""

from __future__ import annotations

from typing import Any

import pytest

from tests.passes.running import lowered_kernel, parsed
from triptych.ir import bindings
from triptych.ir.modules import operations_named
from triptych.ir.passes import verify
from triptych.kernel_ir.dialects.mma import elements_per_register
from triptych.kernel_ir.dialects.wave_mma import WAVE_MMAS, WaveMma
from triptych.layout import size
from triptych.targets.amdgpu.description.matrix_instructions import MATRIX_INSTRUCTIONS
from triptych.targets.amdgpu.passes.expand_mma import expand_tile_mma

HALVES = "mfma.m16n16k16.f32.f16.f16.f32"
TILES = (2, 3, 2)
STARTS = {"d": 0, "a": 1000, "b": 2000, "c": 3000}
Offsets = dict[str, list[int]]


def offsets_of(entry: WaveMma, apart: int = 0) -> Offsets:
    """Where registers begin; those of A and of the sums are `apart` further from each other than they have to be."""
    m, n, k = TILES
    found = {}
    sums = (entry.tv_c, entry.accumulator, m * n)
    for name, (tv, kind, count) in {
        "a": (entry.tv_a, entry.a, m * k),
        "b": (entry.tv_b, entry.b, n * k),
        "c": sums,
        "d": sums,
    }.items():
        together = elements_per_register(kind)
        values = size(tv, [1])
        assert isinstance(values, int)
        step = together + (0 if name == "b" else apart * together)
        found[name] = [STARTS[name] + i * step for i in range(values // together * count)]
    return found


def program(name: str, offsets: Offsets) -> str:
    entry = WAVE_MMAS[name]
    elements = {"f16": "f16", "bf16": "bf16", "f32": "f32", "tf32": "f32", "f64": "f64", "s32": "i32"}
    kinds = {"d": entry.accumulator, "a": entry.a, "b": entry.b, "c": entry.accumulator}
    arrays = "\n".join(
        f"%{array} = llvm.alloca %size x {elements.get(kind, 'i8')} : (i32) -> !llvm.ptr"
        for array, kind in kinds.items()
    )
    tables = [f"{array} = array<i64: {', '.join(map(str, offsets[array]))}>" for array in "dabc"]
    tables.append(f"tiles = array<i64: {', '.join(map(str, TILES))}>")
    pointers = ", ".join(["!llvm.ptr"] * 4)
    return lowered_kernel(
        f"""
        %size = llvm.mlir.constant(9999 : i32) : i32
        {arrays}
        "tile.mma"(%d, %a, %b, %c) {{instruction = "{name}", {", ".join(tables)}}} : ({pointers}) -> ()
        llvm.return
        """
    )


class Walk:
    """What is stored where: a number is the text of what it was loaded from, a product names its operands."""

    def __init__(self, text: str) -> None:
        module = parsed(text)
        with module.context:
            expand_tile_mma(module)
        verify(module)
        (function,) = operations_named(module, "llvm.func")
        self.stored: dict[str, str] = {}
        self.calls: list[Any] = []
        self._said: dict[Any, Any] = {}
        self._arrays = iter("dabc")
        for operation in function.regions[0].blocks[0].operations:
            self._step(operation)

    def _step(self, operation: Any) -> None:
        operands = [self._said.get(operand, "?") for operand in operation.operands]
        match operation.operation.name:
            case "llvm.alloca":
                made: Any = next(self._arrays)
            case "llvm.getelementptr":
                (place,) = bindings.mlir().DenseI32ArrayAttr(operation.attributes["rawConstantIndices"])
                made = f"{operands[0]}{place}"
            case "llvm.mlir.constant":
                made = operation.attributes["value"].value
            case "llvm.mlir.poison":
                made = ()
            case "llvm.insertelement":
                made = (*operands[0], operands[1])
            case "llvm.extractelement":
                made = f"{operands[0]}[{operands[1]}]"
            case "llvm.call_intrinsic":
                self.calls.append((operation.attributes["intrin"].value, operands))
                made = f"#{len(self.calls) - 1}"
            case "llvm.store":
                self.stored[operands[1]] = operands[0]
                return
            case _:
                made = operands[0] if operands else None
        for result in operation.results:
            self._said[result] = made


def sums_of(walk: Walk, result: str) -> tuple[Any, list[tuple[Any, Any]]]:
    """Where a sum began, and the products that were added to it, first to last."""
    products = []
    while result.startswith("#"):
        operands = walk.calls[int(result[1:])][1]
        if MATRIX_SIGNS in walk.calls[int(result[1:])][0]:
            _, a, _, b, result, _ = operands
        else:
            a, b, result = operands[:3]
        products.append((a, b))
    return result, products[::-1]


MATRIX_SIGNS = ".iu8."
"""In the names of intrinsics that are told whether factors have signs."""


@pytest.mark.parametrize("name", WAVE_MMAS)
def test_every_tile_is_the_sum_of_its_products(name: str) -> None:
    offsets, (m_tiles, n_tiles, k_tiles) = offsets_of(WAVE_MMAS[name]), TILES
    walk = Walk(program(name, offsets))
    tiles = {"a": m_tiles * k_tiles, "b": n_tiles * k_tiles, "c": m_tiles * n_tiles, "d": m_tiles * n_tiles}

    def first(array: str, number: int) -> str:
        """The first register of one instruction."""
        return f"{array}{offsets[array][number * len(offsets[array]) // tiles[array]]}"

    for m in range(m_tiles):
        for n in range(n_tiles):
            start, products = sums_of(walk, walk.stored[first("d", m + m_tiles * n)])
            assert start == first("c", m + m_tiles * n)
            assert products == [(first("a", m + m_tiles * k), first("b", n + n_tiles * k)) for k in range(k_tiles)]
    assert len(walk.calls) == m_tiles * n_tiles * k_tiles
    assert {intrinsic for intrinsic, _ in walk.calls} == {MATRIX_INSTRUCTIONS[name].intrinsic}
    assert len(walk.stored) == m_tiles * n_tiles


@pytest.mark.parametrize("name", [name for name, each in WAVE_MMAS.items() if MATRIX_INSTRUCTIONS[name].signs])
def test_integers_say_whether_they_have_a_sign(name: str) -> None:
    entry = WAVE_MMAS[name]
    for intrinsic, (sign_a, _, sign_b, _, _, clamp) in Walk(program(name, offsets_of(entry))).calls:
        assert MATRIX_SIGNS in intrinsic
        assert [bool(sign_a), bool(sign_b)] == [entry.a == "s8", entry.b == "s8"]
        assert not clamp


def test_scattered_registers_are_joined_and_taken_apart() -> None:
    """Two registers of 32 bits of A, four sums; those of B lie side by side."""
    entry = WAVE_MMAS[HALVES]
    offsets = offsets_of(entry, apart=1)
    walk = Walk(program(HALVES, offsets))
    _, (a, b, c, *flags) = walk.calls[0]
    assert a == ("a1000", "a1004")
    assert b == "b2000"
    assert c == ("c3000", "c3002", "c3004", "c3006")
    assert flags == [0, 0, 0]
    assert [walk.stored[f"d{place}"].partition("[")[2] for place in (0, 2, 4, 6)] == ["0]", "1]", "2]", "3]"]
    assert set(walk.stored) == {f"d{place}" for place in offsets["d"]}

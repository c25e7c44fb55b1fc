"""MMA of a warp with block scales, on operands in registers: functions that are made for each instruction, their calls.

Of each block of k that shares scales, products are added from zero, in the order of k and each with one rounding; the
sum times the product of both scales is added to the accumulator, with one rounding. The scales of a tile lie behind its
spread elements, as vectors that meet the accumulators lane by lane.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache

from triptych.ir.handles import Operation
from triptych.kernel_ir.dialects.mma import REGISTER_BITS, SCALED_WARP_MMAS, ScaledWarpMma
from triptych.kernel_ir.dialects.tile import MMA_BLOCK_SCALE, WARP_THREADS
from triptych.targets.cpu.emit.collectives import require_whole_warp
from triptych.targets.cpu.emit.mma import (
    Chunk,
    Side,
    WarpProduct,
    array_of,
    function_name,
    function_text,
    row_address,
    table,
    values,
)
from triptych.targets.cpu.emit.operand_conversion import converted
from triptych.targets.cpu.emit.warp import Warp

_BYTES = f"vector<{WARP_THREADS}xi8>"
_ARRAYS = ("d", "a", "b", "c", "sfa", "sfb")


@cache
def scaled_product_functions(instruction: ScaledWarpMma) -> str:
    """All functions that one instruction needs."""
    return "\n".join(_ScaledProduct(instruction).functions())


class _ScaledProduct(WarpProduct):
    _arrays = _ARRAYS

    def __init__(self, instruction: ScaledWarpMma) -> None:
        self._scaled = instruction
        super().__init__(instruction)

    def _per_register(self, kind: str) -> int:
        return REGISTER_BITS // self._scaled.container_bits

    def _spread_chunks(self, side: Side, slices: int) -> int:
        return self._elements(side) * slices + self._scaled.scales * len(side.patterns)

    def _elements(self, side: Side) -> int:
        """Chunks of spread elements; scales lie behind them."""
        return super()._spread_chunks(side, 1)

    # spreading --------------------------------------------------------------------------------------------------
    def _spread(self, side: Side) -> str:
        parameters = [f"%{name}: !llvm.ptr" for name in ("array", "registers", "scale_array", "scale_registers", "to")]
        lines = [*self._spread_lines(side), *self._spread_scales(side)]
        return function_text(f"{self._name}.{side.name}", parameters, lines)

    def _read_rows(self, side: Side) -> Iterator[str]:
        packed = self._scaled.container_bits < 8
        yield "%shift2 = arith.constant dense<2> : " + _BYTES
        yield "%shift4 = arith.constant dense<4> : " + _BYTES
        count = values(side.tv)
        for byte in range(count // 2 if packed else count):
            yield from row_address(f"%p{byte}", "%array", "%registers", byte, 4, _BYTES)
            yield f"%m{byte} = llvm.load %p{byte} {{alignment = 32 : i64}} : !llvm.ptr -> {_BYTES}"
            if packed:
                yield from converted(f"%v{2 * byte}", f"%m{byte}", "e2m1", WARP_THREADS)
                yield f"%h{byte} = arith.shrui %m{byte}, %shift4 : {_BYTES}"
                yield from converted(f"%v{2 * byte + 1}", f"%h{byte}", "e2m1", WARP_THREADS)
            elif side.kind == "e2m1":
                yield f"%h{byte} = arith.shrui %m{byte}, %shift2 : {_BYTES}"
                yield from converted(f"%v{byte}", f"%h{byte}", "e2m1", WARP_THREADS)
            else:
                yield from converted(f"%v{byte}", f"%m{byte}", side.kind, WARP_THREADS)

    def _spread_scales(self, side: Side) -> Iterator[str]:
        begin = self._elements(side)
        rows = f"vector<{WARP_THREADS}xf32>"
        for scale in range(self._scaled.scales):
            yield from row_address(f"%q{scale}", "%scale_array", "%scale_registers", scale, self._scaled.scales, _BYTES)
            yield f"%g{scale} = llvm.load %q{scale} {{alignment = 32 : i64}} : !llvm.ptr -> {_BYTES}"
            yield from converted(f"%w{scale}", f"%g{scale}", self._scaled.scale, WARP_THREADS)
            for p, pattern in enumerate(side.patterns):
                lanes = ", ".join(str(4 * (row % 8) + row // 8) for row in pattern)
                name = f"%z{scale}_{p}"
                yield f"{name} = vector.shuffle %w{scale}, %w{scale} [{lanes}] : {rows}, {rows}"
                at = begin + scale * len(side.patterns) + p
                yield f"{name}p = llvm.getelementptr %to[{at}] : (!llvm.ptr) -> !llvm.ptr, {self._chunk}"
                yield f"llvm.store {name}, {name}p {{alignment = 64 : i64}} : {self._chunk}, !llvm.ptr"

    # multiplying ------------------------------------------------------------------------------------------------
    def _add_products(self, result: str, chunks: Sequence[Chunk]) -> Iterator[str]:
        names = range(len(chunks))
        carried = ", ".join(f"%o{i} = %x{tile}_{chunk}" for i, (tile, chunk) in enumerate(chunks))
        kinds = ", ".join([self._chunk] * len(chunks))
        yield f"%none = arith.constant dense<0.0> : {self._chunk}"
        yield f"%vector = arith.constant {self._scaled.vector} : i64"
        yield f"%blocks = arith.constant {self._scaled.scales} : i64"
        yield (
            f"{result}:{len(chunks)} = scf.for %block = %zero to %blocks step %one "
            f"iter_args({carried}) -> ({kinds}) : i64 {{"
        )
        yield "%begin = arith.muli %block, %vector : i64"
        yield "%end = arith.addi %begin, %vector : i64"
        yield from self._along_k("%parts", ("%begin", "%end"), ["%none" for _ in names], chunks)
        yield from self._load_scales("scale_left", self._left, 0)
        for tile in dict.fromkeys(tile for tile, _ in chunks):
            yield from self._load_scales(f"scale_right{tile}_", self._right, tile)
        for i, (tile, chunk) in enumerate(chunks):
            left, right = self._pairs[chunk]
            yield f"%f{i} = arith.mulf %scale_left{left}, %scale_right{tile}_{right} : {self._chunk}"
            yield f"%e{i} = math.fma %parts#{i}, %f{i}, %o{i} : {self._chunk}"
        yield f"scf.yield {', '.join(f'%e{i}' for i in names)} : {kinds}"
        yield "}"

    def _load_scales(self, name: str, side: Side, tile: int) -> Iterator[str]:
        """The scales of one block that the chunks multiply."""
        yield f"%{name}_n = arith.constant {len(side.patterns)} : i64"
        yield f"%{name}_k = arith.muli %block, %{name}_n : i64"
        yield f"%{name}_p = llvm.getelementptr %{side.name}[%{name}_k] : (!llvm.ptr, i64) -> !llvm.ptr, {self._chunk}"
        for p in range(len(side.patterns)):
            at = tile * self._spread_chunks(side, 1) + self._elements(side) + p
            yield f"%{name}{p}_p = llvm.getelementptr %{name}_p[{at}] : (!llvm.ptr) -> !llvm.ptr, {self._chunk}"
            yield f"%{name}{p} = llvm.load %{name}{p}_p {{alignment = 64 : i64}} : !llvm.ptr -> {self._chunk}"

    def _given_with(self, operand: str) -> dict[str, str]:
        scales = f"%sf{operand}_registers"
        return {
            "located": f"%scales = llvm.getelementptr {scales}[%tile] : (!llvm.ptr, i64) -> !llvm.ptr, i32",
            "given": f"%sf{operand}, %scales, ",
            "kinds": "!llvm.ptr, !llvm.ptr, ",
        }


def multiply(warp: Warp, operation: Operation) -> None:
    """All tiles by one call: the arrays of the warp, and where in them the registers and scales of each tile are."""
    require_whole_warp(warp, operation)
    instruction = SCALED_WARP_MMAS[str(operation.attributes["instruction"].value)]
    warp.arrays.define(scaled_product_functions(instruction))
    arrays = [array_of(warp, operation, operand) for operand in operation.operands]
    tables = [table(warp, list(operation.attributes[name])) for name in _ARRAYS]
    counts = [warp.code.constant(count, "i64") for count in operation.attributes["tiles"]]
    callee = {"callee": warp.code.attribute(f"@{function_name(instruction)}")}
    warp.code.operation("func.call", [*arrays, *tables, *counts], attributes=callee)


HANDLERS: dict[str, Callable[[Warp, Operation], None]] = {MMA_BLOCK_SCALE: multiply}

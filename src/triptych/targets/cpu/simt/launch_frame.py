"""The function `<name>.blocks` around a kernel's code: its arguments, shared memory, and the loop over its blocks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

from triptych.ir.handles import Module, Operation, Value
from triptych.simt.device_attribute import device_of
from triptych.simt.operations import body, contains, known_block
from triptych.targets.cpu.kernel_functions import MEMORY_ATTRIBUTE
from triptych.targets.cpu.simt.block_memory import BlockMemory
from triptych.targets.cpu.simt.code import Code
from triptych.targets.cpu.simt.values import plain_pointer
from triptych.targets.cpu.simt.warp import Position


class LaunchFrame:
    """`<name>.blocks(kernel arguments, grid x 3, block x 3, shared bytes, begin, end)`."""

    def __init__(self, kernel: Operation, module: Module, code: Code) -> None:
        self._code = code
        code.location = kernel.location
        kinds = [plain_pointer(a.type) for a in body(kernel).arguments] + ["i32"] * 7 + ["i64"] * 2
        types = [code.builder.type(kind) for kind in kinds]
        name = f"{kernel.attributes['sym_name'].value}.blocks"
        self.function, entry = code.builder.function(module, name, types, code.location)
        self.function.attributes["sym_visibility"] = code.builder.string("private")
        code.builder.insertion = code.builder.at_end(entry)
        values = list(entry.arguments)
        self.arguments = values[:-9]
        self._grid, self._block = values[-9:-6], values[-6:-3]
        self._begin, self._end = values[-2:]
        size = known_block(kernel)
        if size is not None:
            self._block = [code.constant(n, "i32") for n in size]
        has_shared = contains(kernel, frozenset({"llvm.mlir.addressof"}))
        self.memory = BlockMemory(code, values[-3] if has_shared else None)
        self.shared = self.memory.shared
        known = prod(size) if size is not None else None
        self.most_warps = -(-(known or device_of(kernel).threads) // code.width)
        self.whole_warps = known is not None and known % code.width == 0
        """Whether every lane of every warp is a thread."""
        self.threads, self.warps = self._counts(known)

    def build(self, run: Callable[[Position], None]) -> None:
        """Write the loop; `run` writes what one block does."""
        code = self._code
        loop = code.operation("scf.for", (self._begin, self._end, code.constant(1, "i64")), regions=1)
        inside = code.block(loop, 0, ["i64"])
        before = code.enter(inside)
        run(Position(self._block_ids(inside.arguments[0]), self._grid, self._block))
        code.operation("scf.yield")
        code.leave(before)
        code.operation("func.return")
        self.function.attributes[MEMORY_ATTRIBUTE] = code.builder.integer("i64", self.memory.arena_bytes)

    def _counts(self, known: int | None) -> tuple[Value, Value]:
        """Threads and warps of a block (i32)."""
        code, width, block = self._code, self._code.width, self._block
        if known is not None:
            return code.constant(known, "i32"), code.constant(self.most_warps, "i32")
        counted = code.value("arith.muli", (code.value("arith.muli", block[:2], "i32"), block[2]), "i32")
        more = code.value("arith.addi", (counted, code.constant(width - 1, "i32")), "i32")
        return counted, code.value("arith.divui", (more, code.constant(width, "i32")), "i32")

    def _block_ids(self, number: Value) -> Sequence[Value]:
        code = self._code
        wide = [code.value("arith.extui", (size,), "i64") for size in self._grid[:2]]
        rest = code.value("arith.divui", (number, wide[0]), "i64")
        ids = [
            code.value("arith.remui", (number, wide[0]), "i64"),
            code.value("arith.remui", (rest, wide[1]), "i64"),
            code.value("arith.divui", (rest, wide[1]), "i64"),
        ]
        return [code.value("arith.trunci", (one,), "i32") for one in ids]

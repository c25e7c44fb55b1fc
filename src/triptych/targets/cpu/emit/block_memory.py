"""Memory of the function that runs blocks: on the stack what LLVM may turn into registers, in an arena what is large.

The thread that runs a block has an arena that the launch has made large enough (`pool_memory_code`): shared memory at
its start, then what is too large for a stack. One block's part is one stretch, so that several fit side by side.
"""

from __future__ import annotations

from triptych.ir.handles import Attribute, Type, Value
from triptych.ir.types import byte_size
from triptych.targets.cpu.abi.abi import BLOCK_MEMORY
from triptych.targets.cpu.abi.memory_sizes import SHARED_ALIGNMENT, STACK_BYTES, padded
from triptych.targets.cpu.emit.code import Code
from triptych.targets.cpu.emit.function_memory import FunctionMemory, insert_here


class BlockMemory(FunctionMemory):
    """Allocates for one block at a time, or for the blocks of a cluster together."""

    def __init__(self, code: Code, shared_bytes: Value | None, blocks: int) -> None:
        self.arena_bytes = 0
        self._stack_bytes = 0
        super().__init__(code)
        self.shared: Value | None = None
        """Of the first block."""
        self.distance = self._arena_start = code.constant(0, "i64")
        """From the shared memory of a block to that of the next one of its cluster, in bytes (i64)."""
        if shared_bytes is not None:
            self.shared = self._part(self._arena_start)
            each = code.value("arith.extui", (shared_bytes,), "i64")
            self.distance = code.padded(each) if blocks == 1 else code.padded(each, SHARED_ALIGNMENT)
            self._arena_start = code.value("arith.muli", (self.distance, code.constant(blocks, "i64")), "i64")
        self._after_start = insert_here(code)

    def allocate(self, kind: Type, count: int, attributes: dict[str, Attribute] | None = None) -> Value:
        size = padded(byte_size(kind) * count)
        if self._stack_bytes + size <= STACK_BYTES:
            self._stack_bytes += size
            return super().allocate(kind, count, attributes)
        code = self._code
        offset, self.arena_bytes = self.arena_bytes, self.arena_bytes + size
        before, code.builder.insertion = code.builder.insertion, self._after_start
        made = self._part(code.value("arith.addi", (self._arena_start, code.constant(offset, "i64")), "i64"))
        code.builder.insertion = before
        return made

    def _part(self, offset: Value) -> Value:
        return self._code.call(BLOCK_MEMORY, (offset,), ["!llvm.ptr"]).result

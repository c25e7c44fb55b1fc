"""What code of a warp needs from the function it is in: memory of threads, a place for faults, and how to wait."""

from __future__ import annotations

from typing import TYPE_CHECKING

from triptych.ir.handles import Module, Operation, Type, Value
from triptych.ir.modules import graft
from triptych.targets.cpu.simt.private_arrays import PrivateArray

if TYPE_CHECKING:
    from triptych.targets.cpu.simt.warp import Warp


class Arrays:
    """The block function's memory: shared memory, arrays private to threads, scratch, and the record of a fault."""

    shared: Value | None
    """None where the launch provides no shared memory."""

    def __init__(self, module: Module) -> None:
        self._module = module
        self._defined: set[str] = set()

    def private(self, warp: Warp, root: Value) -> tuple[PrivateArray, Value]:
        """A private array and the address of this warp's part of it."""
        raise NotImplementedError

    def define(self, text: str) -> None:
        """Have functions and constants beside the function; they are MLIR text."""
        if text not in self._defined:
            self._defined.add(text)
            graft(self._module, text)

    def scratch(self, kind: Type, role: str = "") -> Value:
        """Memory for one value of all lanes, used at once; the same one for every value of a type and a role."""
        raise NotImplementedError

    def fault(self, warp: Warp, thread: Value) -> None:
        """Record the thread (i32) that is about to fail a check."""
        raise NotImplementedError

    def poll(self, warp: Warp, loop: Operation) -> None:
        """Let a loop that may not end be interrupted, or let other warps run."""
        raise NotImplementedError

    def left(self, warp: Warp, loop: Operation) -> None:
        """A loop that waited has ended."""

    def barrier(self, warp: Warp, operation: Operation) -> None:
        """Meet other warps."""
        raise NotImplementedError

"""Breakpoint calls for the threads of a warp at once: where each stores its values, and which switch it reads."""

from __future__ import annotations

from collections.abc import Callable

from triptych.ir.handles import Operation, Value
from triptych.kernel_ir.dialects.check import CHECK_ADDRESS, CHECK_STOP, CHECK_STOPPED
from triptych.targets.cpu.emit.memory import row_address
from triptych.targets.cpu.emit.values import StackSlot, Vector
from triptych.targets.cpu.emit.warp import Warp

SIZE_BITS = 32
"""Of the second word of an address: bytes of an element, above the bytes from one element to the next. Zero: memory is
what it is anywhere else."""


def address(warp: Warp, operation: Operation) -> None:
    """`check.address`: an array of the thread may lie element by element, with the other lanes' in between."""
    code, (pointer,) = warp.code, operation.operands
    found = warp.get(pointer)
    word, wide = code.constant(0, "i64"), code.wide("i64")
    if isinstance(found, StackSlot):
        word = code.constant(found.size << SIZE_BITS | found.size * code.width, "i64")
        start = code.broadcast(code.value("llvm.ptrtoint", (_first(warp, found),), "i64"), "i64")
        lanes = code.constants([lane * found.size for lane in range(code.width)], "i64")
        places = code.value("arith.addi", (start, lanes), wide)
        if isinstance(found.dynamic, Vector):
            steps = code.constants([found.size * code.width] * code.width, "i64")
            moved = code.value("arith.muli", (found.dynamic.value, steps), wide)
            places = code.value("arith.addi", (places, moved), wide)
    else:
        places = code.value("llvm.ptrtoint", (warp.vector(pointer),), wide)
    warp.set(operation.results[0], Vector(places))
    warp.set(operation.results[1], Vector(code.broadcast(word, "i64")))


def _first(warp: Warp, found: StackSlot) -> Value:
    """The address of the row that an address in an array begins at, as far as lanes have it in common."""
    if not isinstance(found.dynamic, Vector):
        return row_address(warp, found, 0)
    return row_address(warp, StackSlot(found.root, found.index, None, found.size), 0)


def stop(warp: Warp, operation: Operation) -> None:
    """`check.stop`: one call for the warp; a later pass knows the launch."""
    code = warp.code
    found = warp.get(operation.operands[0])
    assert isinstance(found, StackSlot), "the array is only stored to, in whole words"
    memory = code.value("llvm.ptrtoint", (row_address(warp, found, 0),), "i64")
    every = (1 << code.width) - 1 if code.width < 64 else -1
    active = code.constant(every, "i64") if warp.mask is None else code.resized(code.bits(warp.mask), "i64")
    narrow = [warp.first_thread(), code.constant(code.width, "i32"), *warp.position.block_ids, *warp.position.block]
    numbers = [memory, code.constant(8 * code.width, "i64"), active]
    numbers += [code.resized(number, "i64") for number in narrow]
    attributes = {name: operation.attributes[name] for name in ("site", "switch")}
    code.operation(CHECK_STOPPED, numbers, attributes=attributes)


HANDLERS: dict[str, Callable[[Warp, Operation], None]] = {CHECK_ADDRESS: address, CHECK_STOP: stop}

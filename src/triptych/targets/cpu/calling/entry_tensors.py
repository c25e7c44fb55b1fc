"""MLIR text that takes tensors apart in an entry point: type, rank, device, extents, strides and alignment are checked.

A tensor arrives as the address of a DLPack description. First comes what must hold before its extents may be read,
then what concerns it alone, and when all tensors have been read what relates their integers to one another. What does
not fit goes to the block `^unfit`.
"""

from __future__ import annotations

from triptych.interop.dlpack import ELEMENT_CODES
from triptych.ir.errors import LoweringError
from triptych.stages import Leaf, Memory, SymbolicExtent
from triptych.targets.cpu.abi.abi import ANY, TENSOR_HEADER, TENSOR_TAG, VIEW_TAG

_LIKELY = "weights([2000, 1])"
_DESCRIPTION = "!llvm.struct<(ptr, i32, i32, i32, i32, ptr, ptr, i64)>"
_DATA, _DEVICE, _RANK, _TYPE, _SHAPE, _STRIDE, _OFFSET = 0, 1, 3, 4, 5, 6, 7
_OPERATIONS = {"+": "add", "*": "mul", "&": "and", "^": "xor"}


def check_memory(leaf: Leaf) -> None:
    """Refuse elements that no tensor from outside has."""
    if leaf.dtype not in ELEMENT_CODES:
        raise LoweringError(
            f"tensor {leaf.path!r} has elements of type {leaf.dtype}, which no tensor from outside has",
            found=leaf.dtype,
            expected=f"one of {', '.join(ELEMENT_CODES)}",
        )


class TensorReader:
    """Writes the blocks of one entry point that read tensors."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._names = 0
        self._unknowns: dict[str, str] = {}
        self._relations: list[tuple[str, str, str]] = []
        """What was read, what it must be in postfix notation, and whether it does not matter."""
        self._received: dict[int, list[str]] = {}

    def read(self, i: int, leaf: Leaf, memory: Memory) -> str:
        """The block `^argument<i>`: it goes on to the next argument, or leaves for `^unfit`."""
        self._lines = [f"^argument{i}:"]
        place = self._set(f"llvm.getelementptr %arguments[{i}] : (!llvm.ptr) -> !llvm.ptr, {ANY}")
        payload = self._set(f"llvm.getelementptr %arguments[{i}, 2] : (!llvm.ptr) -> !llvm.ptr, {ANY}")
        tag = self._set(f"llvm.load {place} : !llvm.ptr -> i32")
        is_view = self._compare("eq", tag, self._constant(VIEW_TAG, "i32"), "i32")
        is_object = self._compare("eq", tag, self._constant(TENSOR_TAG, "i32"), "i32")
        self._go_on_if(self._either(is_view, is_object), f"^tensor{i}")
        handle = self._set(f"llvm.load {payload} : !llvm.ptr -> !llvm.ptr")
        start = self._set(f"llvm.select {is_view}, {self._constant(0)}, {self._constant(TENSOR_HEADER)} : i1, i64")
        described = self._set(f"llvm.getelementptr {handle}[{start}] : (!llvm.ptr, i64) -> !llvm.ptr, i8")
        self._go_on_if(self._is_readable(described, leaf, memory), f"^layout{i}")
        self._go_on_if(self._has_layout(i, described, memory), f"^argument{i + 1}")
        return "\n".join(self._lines) + "\n"

    @property
    def has_read(self) -> bool:
        """Whether there is a tensor at all."""
        return bool(self._received)

    def related(self, following: str) -> str:
        """In the block after the last argument: integers must be what others make them; then on to `following`."""
        if not self._relations:
            return f"  llvm.br {following}\n"
        self._lines = []
        holds = self._constant(1, "i1")
        for found, expected, excused in self._relations:
            holds = self._both(holds, self._either(excused, self._compare("eq", found, self._evaluated(expected))))
        self._go_on_if(holds, following)
        return "\n".join(self._lines) + "\n"

    def received(self, i: int) -> list[str]:
        """SSA names of what compiled code receives for the tensor: a pointer, then its unknowns as i64."""
        return self._received[i]

    # one tensor -------------------------------------------------------------------------------------------------
    def _is_readable(self, described: str, leaf: Leaf, memory: Memory) -> str:
        code, bits = ELEMENT_CODES[leaf.dtype]
        device = self._field(described, _DEVICE, "i32")
        holds = self._constant(0, "i1")
        for allowed in memory.devices:
            holds = self._either(holds, self._compare("eq", device, self._constant(allowed, "i32"), "i32"))
        for field, wanted in ((_RANK, len(memory.shape)), (_TYPE, code | bits << 8 | 1 << 16)):
            found = self._field(described, field, "i32")
            holds = self._both(holds, self._compare("eq", found, self._constant(wanted, "i32"), "i32"))
        if memory.shape:
            null = self._set("llvm.mlir.zero : !llvm.ptr")
            strides = self._field(described, _STRIDE, "!llvm.ptr")
            holds = self._both(holds, self._compare("ne", strides, null, "!llvm.ptr"))
        return holds

    def _has_layout(self, i: int, described: str, memory: Memory) -> str:
        extents, strides = (
            self._integers(self._field(described, field, "!llvm.ptr"), len(memory.shape)) for field in (_SHAPE, _STRIDE)
        )
        never, none = self._constant(0, "i1"), self._constant(0)
        empty = never
        for extent in extents:
            empty = self._either(empty, self._compare("eq", extent, none))
        data = self._field(described, _DATA, "!llvm.ptr")
        offset = self._field(described, _OFFSET, "i64")
        pointer = self._set(f"llvm.getelementptr {data}[{offset}] : (!llvm.ptr, i64) -> !llvm.ptr, i8")
        address = self._set(f"llvm.ptrtoint {pointer} : !llvm.ptr to i64")
        beyond = self._set(f"llvm.and {address}, {self._constant(memory.alignment - 1)} : i64")
        present = self._either(empty, self._compare("ne", address, none))
        holds = self._both(present, self._compare("eq", beyond, none))
        unknowns = {unknown.name: unknown for unknown in memory.unknowns}
        # An extent of one or none never takes a step, so the step may be anything.
        idle = [self._either(empty, self._compare("sle", extent, self._constant(1))) for extent in extents]
        integers = [
            *((text, extent, never) for text, extent in zip(memory.shape, extents, strict=True)),
            *((text, stride, unused) for text, stride, unused in zip(memory.stride, strides, idle, strict=True)),
        ]
        for text, found, excused in integers:
            unknown = unknowns.pop(text, None)
            if unknown is None:
                self._relations.append((found, text, excused))
            else:
                holds = self._both(holds, self._learn(unknown, found, excused))
        self._received[i] = [pointer, *(self._unknowns[unknown.name] for unknown in memory.unknowns)]
        return holds

    def _learn(self, unknown: SymbolicExtent, found: str, excused: str) -> str:
        """Whether the number is as declared; one that is not but does not matter becomes zero, which always is."""
        good = self._compare("sge", found, self._constant(0))
        if unknown.width < 64:
            good = self._both(good, self._compare("sle", found, self._constant((1 << (unknown.width - 1)) - 1)))
        if unknown.divisor > 1:
            rest = self._set(f"llvm.srem {found}, {self._constant(unknown.divisor)} : i64")
            good = self._both(good, self._compare("eq", rest, self._constant(0)))
        self._unknowns[unknown.name] = self._set(f"llvm.select {good}, {found}, {self._constant(0)} : i1, i64")
        return self._either(good, excused)

    def _evaluated(self, text: str) -> str:
        """The value of an expression in postfix notation."""
        stack: list[str] = []
        for word in text.split():
            if word in self._unknowns:
                stack.append(self._unknowns[word])
            elif word.lstrip("-").isdigit():
                stack.append(self._constant(int(word)))
            else:
                right, left = stack.pop(), stack.pop()
                stack.append(self._operation(word, left, right))
        (value,) = stack
        return value

    def _operation(self, name: str, left: str, right: str) -> str:
        if name == "min":
            return self._set(f"llvm.intr.smin({left}, {right}) : (i64, i64) -> i64")
        # Unknowns are never negative, so a quotient that is rounded toward zero is the floor.
        return self._set(f"llvm.{_OPERATIONS.get(name, 'sdiv')} {left}, {right} : i64")

    # writing ----------------------------------------------------------------------------------------------------
    def _set(self, operation: str) -> str:
        self._names += 1
        name = f"%t{self._names}"
        self._lines.append(f"  {name} = {operation}")
        return name

    def _go_on_if(self, holds: str, block: str) -> None:
        self._lines.append(f"  llvm.cond_br {holds} {_LIKELY}, {block}, ^unfit")
        if block.startswith(("^tensor", "^layout")):
            self._lines.append(f"{block}:")

    def _constant(self, value: int, kind: str = "i64") -> str:
        return self._set(f"llvm.mlir.constant({value} : {kind}) : {kind}")

    def _compare(self, how: str, left: str, right: str, kind: str = "i64") -> str:
        return self._set(f'llvm.icmp "{how}" {left}, {right} : {kind}')

    def _both(self, left: str, right: str) -> str:
        return self._set(f"llvm.and {left}, {right} : i1")

    def _either(self, left: str, right: str) -> str:
        return self._set(f"llvm.or {left}, {right} : i1")

    def _field(self, described: str, field: int, kind: str) -> str:
        place = self._set(f"llvm.getelementptr {described}[0, {field}] : (!llvm.ptr) -> !llvm.ptr, {_DESCRIPTION}")
        return self._set(f"llvm.load {place} : !llvm.ptr -> {kind}")

    def _integers(self, first: str, count: int) -> list[str]:
        places = [self._set(f"llvm.getelementptr {first}[{k}] : (!llvm.ptr) -> !llvm.ptr, i64") for k in range(count)]
        return [self._set(f"llvm.load {place} : !llvm.ptr -> i64") for place in places]

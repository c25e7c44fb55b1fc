"""MLIR text that unpacks the arguments of an entry point: per parameter a type check, a range check and a conversion.

Nearly free of branches, because LLVM's time grows with blocks. A value that does not pass goes to the block
`^refused`, and Python works out what was wrong with it.
"""

from __future__ import annotations

import math
import struct

from triptych.interop.dlpack import ELEMENT_CODES
from triptych.ir.errors import LoweringError
from triptych.stages import Leaf, Memory, SymbolicExtent
from triptych.support.float_formats import FLOAT_FORMATS
from triptych.targets.cpu.abi.abi import (
    ANY,
    BIG_INT_TAG,
    BOOL_TAG,
    FLOAT_TAG,
    INT_TAG,
    TENSOR_HEADER,
    TENSOR_TAG,
    VIEW_TAG,
)
from triptych.targets.cpu.calling.scalars import BoundaryScalar

FLOAT32_LIMIT = 2.0**128 - 2.0**103
"""The smallest number that is rounded to the infinity of Float32."""
LIKELY = "weights([2000, 1])"

BIG_INT_DECLARATION = "llvm.func @TVMFFIBigIntGetContentByteArray(!llvm.ptr) -> !llvm.struct<(ptr, i64)>\n"


def read_argument(i: int, leaf: Leaf, scalar: BoundaryScalar) -> str:
    """The block `^argument<i>`: it defines `%value<i>` or leaves for `^refused`."""
    reader = _read_wide_unsigned if scalar.exceeds_63_bits else _READERS[scalar.kind]
    return f"""
^argument{i}:
  %any{i} = llvm.getelementptr %arguments[{i}] : (!llvm.ptr) -> !llvm.ptr, {ANY}
  %place{i} = llvm.getelementptr %arguments[{i}, 2] : (!llvm.ptr) -> !llvm.ptr, {ANY}
  %tag{i} = llvm.load %any{i} : !llvm.ptr -> i32
  %dtype{i} = llvm.mlir.addressof @triptych.dtype.{leaf.dtype} : !llvm.ptr
  %path{i} = llvm.mlir.addressof @triptych.path{i} : !llvm.ptr
{reader(i, scalar)}
"""


def _leave(i: int, accepted: str) -> str:
    refused = f"^refused(%any{i}, %dtype{i}, %path{i} : !llvm.ptr, !llvm.ptr, !llvm.ptr)"
    return f"llvm.cond_br {accepted} {LIKELY}, ^argument{i + 1}, {refused}"


def _is_integer(i: int) -> str:
    """Python counts a bool as an int, and so do int and float parameters."""
    return f"""  %is_int{i} = llvm.icmp "eq" %tag{i}, %int_tag : i32
  %is_bool{i} = llvm.icmp "eq" %tag{i}, %bool_tag : i32
  %is_integer{i} = llvm.or %is_int{i}, %is_bool{i} : i1"""


def _read_boolean(i: int, scalar: BoundaryScalar) -> str:
    return f"""  %is_bool{i} = llvm.icmp "eq" %tag{i}, %bool_tag : i32
  %whole{i} = llvm.load %place{i} : !llvm.ptr -> i64
  %value{i} = llvm.trunc %whole{i} : i64 to i1
  {_leave(i, f"%is_bool{i}")}"""


def _read_integer(i: int, scalar: BoundaryScalar) -> str:
    """In range when it survives being narrowed and widened again."""
    widen = "sext" if scalar.kind == "signed" else "zext"
    if scalar.width == 64:
        narrowing = f"""  %value{i} = llvm.load %place{i} : !llvm.ptr -> i64
  {_leave(i, f"%is_integer{i}")}"""
    else:
        narrowing = f"""  %whole{i} = llvm.load %place{i} : !llvm.ptr -> i64
  %value{i} = llvm.trunc %whole{i} : i64 to {scalar.mlir}
  %again{i} = llvm.{widen} %value{i} : {scalar.mlir} to i64
  %fits{i} = llvm.icmp "eq" %again{i}, %whole{i} : i64
  %accepted{i} = llvm.and %is_integer{i}, %fits{i} : i1
  {_leave(i, f"%accepted{i}")}"""
    return f"{_is_integer(i)}\n{narrowing}"


def _read_float(i: int, scalar: BoundaryScalar) -> str:
    narrow = (
        f"%value{i} = llvm.bitcast %wide{i} : f64 to f64"
        if scalar.width == 64
        else f"%value{i} = llvm.fptrunc %wide{i} : f64 to {scalar.mlir}"
    )
    return f"""{_is_integer(i)}
  %is_float{i} = llvm.icmp "eq" %tag{i}, %float_tag : i32
  %real{i} = llvm.load %place{i} : !llvm.ptr -> f64
  %whole{i} = llvm.load %place{i} : !llvm.ptr -> i64
  %converted{i} = llvm.sitofp %whole{i} : i64 to f64
  %wide{i} = llvm.select %is_float{i}, %real{i}, %converted{i} : i1, f64
  {narrow}
  %is_number{i} = llvm.or %is_integer{i}, %is_float{i} : i1
{_check_size(i, scalar)}
  {_leave(i, f"%accepted{i}")}"""


def _check_size(i: int, scalar: BoundaryScalar) -> str:
    """What would become another kind of number by being rounded does not fit: infinity of a number, a number of NaN."""
    form = FLOAT_FORMATS.get(scalar.traced)
    if form is None and scalar.width == 64:
        return f"  %accepted{i} = llvm.or %is_integer{i}, %is_float{i} : i1"
    limit = FLOAT32_LIMIT if form is None else form.limit
    lines = [
        f"%size{i} = llvm.intr.fabs(%wide{i}) : (f64) -> f64",
        f"%limit{i} = llvm.mlir.constant({_hexadecimal(limit)} : f64) : f64",
        f"%infinity{i} = llvm.mlir.constant({_hexadecimal(math.inf)} : f64) : f64",
        f'%below{i} = llvm.fcmp "ult" %size{i}, %limit{i} : f64',
        f'%infinite{i} = llvm.fcmp "oeq" %size{i}, %infinity{i} : f64',
        f"%kept{i} = llvm.or %below{i}, %infinite{i} : i1",
    ]
    kept = f"%kept{i}"
    if form is not None and not form.has_infinity:
        kept = f"%below{i}"
    if form is not None and form.nan is None:
        lines.append(f'%ordered{i} = llvm.fcmp "olt" %size{i}, %limit{i} : f64')
        kept = f"%ordered{i}"
    if form is not None and not form.signed:
        lines.append(f"%nothing{i} = llvm.mlir.constant(0.0 : f64) : f64")
        lines.append(f'%natural{i} = llvm.fcmp "uge" %wide{i}, %nothing{i} : f64')
        lines.append(f"%proper{i} = llvm.and {kept}, %natural{i} : i1")
        kept = f"%proper{i}"
    lines.append(f"%accepted{i} = llvm.and %is_number{i}, {kept} : i1")
    return "\n".join(f"  {line}" for line in lines)


def _hexadecimal(number: float) -> str:
    return f"0x{struct.unpack('<Q', struct.pack('<d', number))[0]:016X}"


def _read_wide_unsigned(i: int, scalar: BoundaryScalar) -> str:
    """From 2^63 on the value comes as an object of two words, the upper one zero."""
    refused = f"^refused(%any{i}, %dtype{i}, %path{i} : !llvm.ptr, !llvm.ptr, !llvm.ptr)"
    return f"""{_is_integer(i)}
  %zero{i} = llvm.mlir.constant(0 : i64) : i64
  %whole{i} = llvm.load %place{i} : !llvm.ptr -> i64
  %not_negative{i} = llvm.icmp "sge" %whole{i}, %zero{i} : i64
  %is_small{i} = llvm.and %is_integer{i}, %not_negative{i} : i1
  llvm.cond_br %is_small{i} {LIKELY}, ^unsigned{i}(%whole{i} : i64), ^large{i}
^large{i}:
  %big_tag{i} = llvm.mlir.constant({BIG_INT_TAG} : i32) : i32
  %is_big{i} = llvm.icmp "eq" %tag{i}, %big_tag{i} : i32
  llvm.cond_br %is_big{i}, ^words{i}, {refused}
^words{i}:
  %two_words{i} = llvm.mlir.constant(16 : i64) : i64
  %words{i} = llvm.call @TVMFFIBigIntGetContentByteArray(%any{i}) : (!llvm.ptr) -> !llvm.struct<(ptr, i64)>
  %data{i} = llvm.extractvalue %words{i}[0] : !llvm.struct<(ptr, i64)>
  %size{i} = llvm.extractvalue %words{i}[1] : !llvm.struct<(ptr, i64)>
  %next{i} = llvm.getelementptr %data{i}[1] : (!llvm.ptr) -> !llvm.ptr, i64
  %lower{i} = llvm.load %data{i} : !llvm.ptr -> i64
  %upper{i} = llvm.load %next{i} : !llvm.ptr -> i64
  %is_short{i} = llvm.icmp "eq" %size{i}, %two_words{i} : i64
  %is_word{i} = llvm.icmp "eq" %upper{i}, %zero{i} : i64
  %fits{i} = llvm.and %is_short{i}, %is_word{i} : i1
  llvm.cond_br %fits{i}, ^unsigned{i}(%lower{i} : i64), {refused}
^unsigned{i}(%value{i}: i64):
  llvm.br ^argument{i + 1}"""


_READERS = {"boolean": _read_boolean, "signed": _read_integer, "unsigned": _read_integer, "float": _read_float}

CONSTANTS = f"""
  %int_tag = llvm.mlir.constant({INT_TAG} : i32) : i32
  %bool_tag = llvm.mlir.constant({BOOL_TAG} : i32) : i32
  %float_tag = llvm.mlir.constant({FLOAT_TAG} : i32) : i32
"""


# MLIR text that takes tensors apart in an entry point: type, rank, device, extents, strides and alignment are
# checked.

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

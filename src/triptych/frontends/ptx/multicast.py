"""Inline PTX, lowerings of `multimem`: what is done at the same place of all GPUs by one instruction.

An address stands for the place on every rank, and where they are the machine says (`simt.multicast_stride`). A switch
between GPUs adds up in an order that it does not tell; here it is the order of ranks, so that all get the same bits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from triptych.cute.arch.atomics import ordering
from triptych.cute.memory.address_spaces import AddressSpace
from triptych.cute.memory.vectors import extract, join, vector_type
from triptych.frontends.ptx.code import ADDRESS, Code, Lowering, width_of
from triptych.frontends.ptx.memory import pointer
from triptych.frontends.ptx.statements import Instruction
from triptych.ir.handles import Attribute, Value
from triptych.ir.types import type_text
from triptych.kernel_ir.dialects.simt import IS_MULTICAST, MULTICAST_RANKS, MULTICAST_STRIDE
from triptych.metastage.trace.checks import check
from triptych.metastage.values.promotion import TypeInfo
from triptych.metastage.values.scalars import (
    BFloat16,
    Float8E4M3FN,
    Float8E5M2,
    Float16,
    Float32,
    Float64,
    Int32,
    Int64,
    Numeric,
    Uint8,
    Uint16,
    Uint32,
    Uint64,
)
from triptych.support.dataclass import dataclass

_SCOPES = ("cta", "cluster", "gpu", "sys")
_VECTORS = {"v2": 2, "v4": 4, "v8": 8}
_MOST_BYTES = 16
_PLAIN: dict[str, type[Numeric]] = {
    "b32": Uint32,
    "b64": Uint64,
    "u32": Uint32,
    "u64": Uint64,
    "s32": Int32,
    "s64": Int64,
    "f16": Float16,
    "bf16": BFloat16,
    "f32": Float32,
    "f64": Float64,
}
_PACKED: dict[str, tuple[type[Numeric], int]] = {
    "f16x2": (Float16, 2),
    "bf16x2": (BFloat16, 2),
    **{f"{name}x{n}": (kind, n) for name, kind in (("e4m3", Float8E4M3FN), ("e5m2", Float8E5M2)) for n in (2, 4)},
}
"""Types of registers that hold several numbers."""
_BITS = {8: Uint8, 16: Uint16, 32: Uint32, 64: Uint64}
_WIDER: dict[tuple[str, type[Numeric]], type[Numeric]] = {
    ("acc::f32", Float16): Float32,
    ("acc::f32", BFloat16): Float32,
    ("acc::f16", Float8E4M3FN): Float16,
    ("acc::f16", Float8E5M2): Float16,
}
"""What is summed up in, by a word of the opcode and the type of numbers."""
_OPERATIONS = {
    ("add", "int"): "arith.addi",
    ("min", "int"): "arith.minsi",
    ("max", "int"): "arith.maxsi",
    ("add", "uint"): "arith.addi",
    ("min", "uint"): "arith.minui",
    ("max", "uint"): "arith.maxui",
    **{(f"{name}", "bits"): f"arith.{name}i" for name in ("and", "or", "xor")},
    ("add", "float"): "arith.addf",
    ("min", "float"): "arith.minnumf",
    ("max", "float"): "arith.maxnumf",
}
_UPDATES = {
    "arith.addi": 1,
    "arith.andi": 3,
    "arith.ori": 5,
    "arith.xori": 6,
    "arith.maxsi": 7,
    "arith.minsi": 8,
    "arith.maxui": 9,
    "arith.minui": 10,
    "arith.addf": 11,
    "arith.maxnumf": 13,
    "arith.minnumf": 14,
}
"""LLVM's numbers of atomic updates that compute the same."""


@dataclass(frozen=True, slots=True)
class _Access:
    """What an opcode says."""

    order: str
    scope: str
    operation: str
    """An operation of MLIR; empty for a store."""
    number: type[Numeric]
    packed: int
    """Numbers in a register."""
    registers: int
    sum: type[Numeric]
    """What is computed in."""

    @property
    def register(self) -> str:
        """The kind of a register, as bits."""
        return f"b{self.number.width * self.packed}"

    @property
    def size(self) -> int:
        return self.number.width * self.packed * self.registers // 8


def _read(instruction: Instruction, name: str, orders: tuple[str, ...], operations: tuple[str, ...]) -> _Access | None:
    """`multimem.NAME.order.scope.global.operation.sum.vector.type`; None for what is no such instruction."""
    kind, *marks = reversed(instruction.marks)
    if not marks or marks.pop() != name:
        return None
    order = _taken(marks, orders)
    scope = _taken(marks, _SCOPES)
    _taken(marks, ("global",))
    operation = _taken(marks, operations)
    wider = _taken(marks, ("acc::f32", "acc::f16"))
    registers = _VECTORS.get(_taken(marks, tuple(_VECTORS)), 1)
    number, packed = _PACKED.get(kind) or (_PLAIN.get(kind), 1)
    if marks or number is None or (order in ("", "weak")) != (not scope) or bool(operation) != bool(operations):
        return None
    wide = _WIDER.get((wider, number)) if wider else number
    computes = _operation(operation, kind, number, packed) if operation else ""
    if wide is None or computes is None or (registers > 1 and number.info.kind != "float"):
        return None
    found = _Access(order, scope, computes, number, packed, registers, wide)
    return found if found.size <= _MOST_BYTES and number.width * packed >= 16 else None


def _taken(marks: list[str], words: tuple[str, ...]) -> str:
    """The next word if it is one of these, which is then read."""
    return marks.pop() if marks and marks[-1] in words else ""


def _operation(name: str, kind: str, number: type[Numeric], packed: int) -> str | None:
    form = "bits" if kind[0] == "b" and number.info.kind != "float" else number.info.kind
    if name != "add" and number in (Float32, Float64):
        return None
    return _OPERATIONS.get((name, form))


# what happens on every rank -----------------------------------------------------------------------------------------
def _places(code: Code, address: Value) -> tuple[Value, Callable[[Value], Value]]:
    """How many ranks there are (i32), and the place on one of them (i32) as an address."""
    check(
        code.trace,
        code.value(IS_MULTICAST, (address,), "i1"),
        "MulticastAddressError",
        "`multimem` needs an address that stands for all GPUs",
        expected="a tensor of `nvshmem.core.get_multicast_tensor`, or the `multicast_ptr` of a handle of "
        "`torch.distributed._symmetric_memory`",
        instead="the program under `triptych run --gpus 2`, whose ranks make such memory",
    )
    ranks = code.value(MULTICAST_RANKS, (), "i32")
    stride = code.value(MULTICAST_STRIDE, (), "i64")

    def place(rank: Value) -> Value:
        following = code.like("arith.addi", code.resized(rank, 64), code.integer(64, 1))
        return code.like("arith.addi", address, code.like("arith.muli", following, stride))

    return ranks, place


def _each(
    code: Code,
    first: int,
    ranks: Value,
    initial: Sequence[Value],
    step: Callable[[Value, list[Value]], Sequence[Value]],
) -> list[Value]:
    """A loop over ranks, from the first one on."""
    return code.loop((code.integer(32, first), ranks, code.integer(32, 1)), initial, step)


def _pointer(code: Code, address: Value) -> Value:
    return pointer(code, address, AddressSpace.gmem)


def _numbers(code: Code, words: Sequence[Value], access: _Access) -> list[Value]:
    """Registers as the numbers in them, of the type that is computed in."""
    bits, info = _BITS[access.number.width].info, access.number.info
    parts = [part for word in words for part in code.halves(word, access.packed)]
    return [_as(code, code.cast(part, bits, info), info, access.sum.info) for part in parts]


def _words(code: Code, numbers: Sequence[Value], access: _Access) -> list[Value]:
    """And back, each rounded once."""
    bits, info = _BITS[access.number.width].info, access.number.info
    parts = [code.cast(_as(code, number, access.sum.info, info), info, bits) for number in numbers]
    return [code.joined(parts[i : i + access.packed]) for i in range(0, len(parts), access.packed)]


def _as(code: Code, value: Value, source: TypeInfo, target: TypeInfo) -> Value:
    return value if source == target else code.converted(value, source, target)


def _attributes(code: Code, access: _Access) -> dict[str, Attribute]:
    integer = code.trace.builder.integer
    found = {"alignment": integer("i64", access.size), "ordering": integer("i64", 0)}
    if access.order != "weak":
        found["triptych.order"] = code.word(f"{access.order}.{access.scope}")
    return found


# the instructions ---------------------------------------------------------------------------------------------------
def load(instruction: Instruction) -> Lowering | None:
    """`multimem.ld_reduce`: what all ranks have, joined."""
    words = ("add", "min", "max", "and", "or", "xor")
    access = _read(instruction, "ld_reduce", ("weak", "relaxed", "acquire"), words)
    if access is None:
        return None
    kinds = (access.register,) * access.registers
    return Lowering(kinds, (ADDRESS,), partial(_loaded, access=access), effect=True)


def _loaded(code: Code, address: Value, *, access: _Access) -> list[Value]:
    ranks, place = _places(code, address)
    word = f"i{access.register[1:]}"

    def of_rank(rank: Value) -> list[Value]:
        kind = vector_type(access.registers, word) if access.registers > 1 else word
        raw = code.value("llvm.load", (_pointer(code, place(rank)),), kind, _attributes(code, access))
        words = [extract(code.trace, raw, i, word) for i in range(access.registers)] if access.registers > 1 else [raw]
        return _numbers(code, words, access)

    def step(rank: Value, before: list[Value]) -> list[Value]:
        return [code.like(access.operation, *pair) for pair in zip(before, of_rank(rank), strict=True)]

    return _words(code, _each(code, 1, ranks, of_rank(code.integer(32, 0)), step), access)


def store(instruction: Instruction) -> Lowering | None:
    """`multimem.st`: the same on all ranks."""
    access = _read(instruction, "st", ("weak", "relaxed", "release"), ())
    if access is None:
        return None
    sources = (ADDRESS, *(access.register,) * access.registers)
    return Lowering((), sources, partial(_stored, access=access), effect=True)


def _stored(code: Code, address: Value, *words: Value, access: _Access) -> None:
    ranks, place = _places(code, address)
    raw = join(code.trace, list(words), f"i{width_of(words[0])}") if len(words) > 1 else words[0]

    def step(rank: Value, _: list[Value]) -> list[Value]:
        code.effect("llvm.store", (raw, _pointer(code, place(rank))), _attributes(code, access))
        return []

    _each(code, 0, ranks, (), step)


def update(instruction: Instruction) -> Lowering | None:
    """`multimem.red`: an atomic update of the place on every rank."""
    access = _read(instruction, "red", ("relaxed", "release"), ("add", "min", "max", "and", "or", "xor"))
    if access is None or access.sum is not access.number:
        return None
    sources = (ADDRESS, *(access.register,) * access.registers)
    return Lowering((), sources, partial(_updated, access=access), effect=True)


def _updated(code: Code, address: Value, *words: Value, access: _Access) -> None:
    ranks, place = _places(code, address)
    integer, size = code.trace.builder.integer, access.number.width // 8
    attributes = {
        "bin_op": integer("i64", _UPDATES[access.operation]),
        "ordering": integer("i64", ordering(access.order)),
        "alignment": integer("i64", size),
    }
    numbers = _numbers(code, words, access)

    def step(rank: Value, _: list[Value]) -> list[Value]:
        start = place(rank)
        for i, number in enumerate(numbers):
            there = _pointer(code, code.like("arith.addi", start, code.integer(64, i * size)))
            code.value("llvm.atomicrmw", (there, number), type_text(number.type), attributes)
        return []

    _each(code, 0, ranks, (), step)

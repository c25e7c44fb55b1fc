"""Copies between tensor memory and registers as objects (`tcgen05.ld`, `.st`), and the tiled copies of four warps."""

from __future__ import annotations

import enum
from typing import ClassVar

from triptych.cute.arch.indices import make_warp_uniform
from triptych.cute.copies.atoms import CopyAtom, CopyLayouts, CopyOperation
from triptych.cute.copies.instructions import load_words, require_memory, words_of
from triptych.cute.copies.tiled import TiledCopy, make_cotiled_copy
from triptych.cute.memory.address_spaces import AddressSpace
from triptych.cute.memory.pointers import Pointer
from triptych.cute.tensors.tensor import Tensor
from triptych.cute.tracing.device import device_function, device_trace
from triptych.cute.tracing.errors import CopyInstructionError
from triptych.ir.builder import Builder
from triptych.ir.handles import Attribute, Value
from triptych.kernel_ir.dialects.tensor_memory import (
    ACCESSES,
    MOST_REGISTERS,
    WARP_LANES,
    TmemAccess,
    elements_per_word,
    lane_stride,
)
from triptych.kernel_ir.dialects.tile import TMEM_LOAD, TMEM_LOAD_REDUCE, TMEM_STORE
from triptych.layout import Layout, coalesce, composition, size
from triptych.layout.layout import from_modes
from triptych.metastage.trace.trace import place
from triptych.metastage.values.scalars import Float32, Numeric
from triptych.support.dataclass import dataclass


class Repetition(enum.Enum):
    """How often the smallest form of an instruction is repeated along columns."""

    x1 = 1
    x2 = 2
    x4 = 4
    x8 = 8
    x16 = 16
    x32 = 32
    x64 = 64
    x128 = 128


class Pack(enum.Enum):
    """Whether a register holds the low halves of two columns."""

    NONE = "none"
    PACK_16b_IN_32b = "pack 16 bits in 32"


class Unpack(enum.Enum):
    """Whether the halves of a register are stored as the low halves of two columns."""

    NONE = "none"
    UNPACK_32b_IN_16b = "unpack 32 bits to 16"


@dataclass(frozen=True, slots=True)
class TmemCopyOp(CopyOperation):
    """A load or store that the threads of a warp make together."""

    repeat: Repetition = Repetition.x1
    pack: Pack | Unpack = Pack.NONE
    shape: ClassVar[str]
    loads: ClassVar[bool]

    def __post_init__(self) -> None:
        if self.shape not in ACCESSES:
            raise CopyInstructionError(
                f"{type(self).__name__} is a name only: its instruction is not modelled",
                span=place(),
                found=f"tcgen05 copies of {self.shape}",
                expected=", ".join(ACCESSES),
            )
        if self.access.registers_of(self.repeat.value) > MOST_REGISTERS:
            raise CopyInstructionError(
                f"{type(self).__name__} has no such instruction",
                span=place(),
                found=f"{self.repeat}: {self.access.registers_of(self.repeat.value)} registers of a thread",
                expected=f"at most {MOST_REGISTERS}",
            )

    @property
    def access(self) -> TmemAccess:
        """Which thread holds what."""
        return ACCESSES[self.shape]

    def columns(self, dtype: type[Numeric]) -> int:
        """Elements of a lane that an instruction moves."""
        return self.access.columns * self.repeat.value * elements_per_word(dtype.width)

    @property
    def packs(self) -> bool:
        """Whether a register holds halves of two columns."""
        return self.pack not in (Pack.NONE, Unpack.NONE)

    def layouts(self, dtype: type[Numeric], num_bits_per_copy: int) -> CopyLayouts:
        """Numbers of elements go along columns first. Every thread names all that the warp loads."""
        columns, together = self.columns(dtype), elements_per_word(dtype.width)
        held = self.access.layout(self.repeat.value, columns, together)
        if together > 1:
            held = Layout((held.shape[0], (together, held.shape[1])), (held.stride[0], (1, held.stride[1])))
        memory = Layout((WARP_LANES, columns * self.access.lanes), (0, 1))
        there, here = (memory, held) if self.loads else (held, memory)
        return CopyLayouts(Layout(WARP_LANES, 1), there, here, memory)

    def operands(self, atom: CopyAtom, src: Tensor, dst: Tensor) -> tuple[Tensor, Tensor]:
        """A thread may also name of tensor memory what its own registers hold."""
        return (_of_warp(self, atom, src, dst), dst) if self.loads else (src, _of_warp(self, atom, dst, src))

    def emit(self, atom: CopyAtom, src: Tensor, dst: Tensor, index: int) -> None:
        """One load or store."""
        (_load if self.loads else _store)(self, atom, src, dst, index)


def get_tmem_copy_properties(atom: CopyAtom) -> tuple[int, int, int, Pack | Unpack]:
    """Of a copy of tensor memory: lanes, bits of a lane, how often both are repeated, and how registers are packed."""
    if not isinstance(atom.op, TmemCopyOp):
        raise CopyInstructionError(
            "only copies of tensor memory have these properties",
            span=place(),
            found=str(atom.op),
            expected="an atom of a `tcgen05.Ld…` or `tcgen05.St…` operation",
        )
    lanes, bits = atom.op.shape.removesuffix("bx2").removesuffix("b").split("x")
    return int(lanes), int(bits), atom.op.repeat.value, atom.op.pack


class TmemLoadOp(TmemCopyOp):
    """A load of tensor memory into registers."""

    __slots__ = ()
    loads = True


class TmemStoreOp(TmemCopyOp):
    """A store of registers to tensor memory."""

    __slots__ = ()
    loads = False


class Ld32x32bOp(TmemLoadOp):
    """A load of a lane for each thread."""

    __slots__ = ()
    shape = "32x32b"


class TmemLoadRedOp(enum.Enum):
    """What a load makes of the numbers of each thread."""

    MAX = "max"
    MIN = "min"


@dataclass(frozen=True, slots=True)
class LdRed32x32bOp(TmemLoadOp):
    """A load of a lane for each thread, and its largest or smallest number (sm_103a): `cute.copy(atom, source,
    (values, reduced))`."""

    redOp: TmemLoadRedOp = TmemLoadRedOp.MAX
    shape = "32x32b"

    def __post_init__(self) -> None:
        TmemLoadOp.__post_init__(self)
        if self.repeat is Repetition.x1 or self.packs:
            raise CopyInstructionError(
                "LdRed32x32bOp has no such instruction",
                span=place(),
                found=f"{self.repeat}, {self.pack}",
                expected="Repetition.x2 or more, Pack.NONE",
            )

    def emit(self, atom: CopyAtom, src: Tensor, dst: Tensor, index: int) -> None:
        """It has two destinations."""
        raise CopyInstructionError(
            f"{self} also loads the {self.redOp.value}imum of its numbers",
            span=place(),
            found="one destination",
            expected="two",
            instead="cute.copy(atom, source, (values, reduced)), or Ld32x32bOp, which only loads",
        )

    def emit_reduced(self, atom: CopyAtom, src: Tensor, dst: Tensor, reduced: Tensor, index: int) -> bool:
        """One load."""
        _load_and_reduce(self, atom, src, dst, reduced, index)
        return True


class LdRed16x32bx2Op(LdRed32x32bOp):
    """A reducing load of 16 lanes twice: a name to compare operations with."""

    __slots__ = ()
    shape = "16x32bx2"


class Ld16x32bx2Op(TmemLoadOp):
    """A load of 16 lanes twice: a name to compare operations with."""

    __slots__ = ()
    shape = "16x32bx2"


class Ld16x64bOp(TmemLoadOp):
    """A load of 16 lanes of 64 bits."""

    __slots__ = ()
    shape = "16x64b"


class Ld16x128bOp(TmemLoadOp):
    """A load of 16 lanes of 128 bits."""

    __slots__ = ()
    shape = "16x128b"


class Ld16x256bOp(TmemLoadOp):
    """A load of 16 lanes of 256 bits, as accumulators of a warp lie in registers."""

    __slots__ = ()
    shape = "16x256b"


class St32x32bOp(TmemStoreOp):
    """A store to a lane for each thread."""

    __slots__ = ()
    shape = "32x32b"


class St16x32bx2Op(TmemStoreOp):
    """A store to 16 lanes twice: a name to compare operations with."""

    __slots__ = ()
    shape = "16x32bx2"


class St16x64bOp(TmemStoreOp):
    """A store to 16 lanes of 64 bits."""

    __slots__ = ()
    shape = "16x64b"


class St16x128bOp(TmemStoreOp):
    """A store to 16 lanes of 128 bits."""

    __slots__ = ()
    shape = "16x128b"


class St16x256bOp(TmemStoreOp):
    """A store to 16 lanes of 256 bits."""

    __slots__ = ()
    shape = "16x256b"


@device_function
def _of_warp(op: TmemCopyOp, atom: CopyAtom, there: Tensor, held: Tensor) -> Tensor:
    """What the warp moves, of tensor memory that may have been divided as registers are.

    Then both sides have as many values, in the place of 16 or 32 times as many, and value 0 of thread 0 is where the
    instruction begins: its address is the same in all threads.
    """
    count, layout = size(held.layout), there.layout
    if there.memspace is not AddressSpace.tmem or not isinstance(layout, Layout) or size(layout) != count:
        return there
    values = (atom.layouts.destination if op.loads else atom.layouts.source)[1]
    if not isinstance(count, int) or count % size(values):
        return there
    dtype = there.element_type
    memory = Layout((op.columns(dtype), op.access.lanes), (_column_step(op, dtype), lane_stride(dtype.width)))
    parts = composition(layout, Layout((size(values), count // size(values)), (1, size(values))))
    if coalesce(parts[0]) != coalesce(composition(memory, values)):
        return there
    begin = make_warp_uniform(there.pointer.toint())
    pointer = Pointer(begin.ir_value(), dtype, AddressSpace.tmem, there.pointer.alignment)
    return Tensor(pointer, from_modes((memory, parts[1])))


def _column_step(op: TmemCopyOp, dtype: type[Numeric]) -> int:
    """From an element of a lane to the next that is moved."""
    return elements_per_word(dtype.width) if op.packs else 1


def _address(atom: CopyAtom, role: str, tensor: Tensor, index: int) -> Value:
    """Of what instruction `index` moves."""
    require_memory(atom, role, tensor, AddressSpace.tmem)
    address: Value = (tensor.pointer + tensor.offset((0, index))).ir_value()
    return address


def _named(op: TmemCopyOp, builder: Builder) -> dict[str, Attribute]:
    return {
        "shape": builder.string(op.shape),
        "repeat": builder.integer("i64", op.repeat.value),
        "pack": builder.attribute("true" if op.packs else "false"),
    }


@device_function
def _load(op: TmemCopyOp, atom: CopyAtom, src: Tensor, dst: Tensor, index: int) -> None:
    trace = device_trace()
    registers = [trace.builder.type("i32")] * op.access.registers_of(op.repeat.value)
    address = _address(atom, "source", src, index)
    words = trace.operation(TMEM_LOAD, (address,), registers, _named(op, trace.builder)).results
    load_words(atom, dst, index, list(words))


@device_function
def _load_and_reduce(op: LdRed32x32bOp, atom: CopyAtom, src: Tensor, dst: Tensor, reduced: Tensor, index: int) -> None:
    for role, tensor in (("values", src), ("reduced values", reduced)):
        if tensor.element_type is not Float32:
            raise CopyInstructionError(
                f"{op} reduces Float32", span=place(), found=f"{role} {tensor}", expected="elements of Float32"
            )
    trace = device_trace()
    kinds = [trace.builder.type("i32")] * (op.access.registers_of(op.repeat.value) + 1)
    address = _address(atom, "source", src, index)
    attributes = {**_named(op, trace.builder), "kind": trace.builder.string(op.redOp.value)}
    *words, number = trace.operation(TMEM_LOAD_REDUCE, (address,), kinds, attributes).results
    load_words(atom, dst, index, words)
    reduced[index] = Float32.of(trace.value("arith.bitcast", (number,), "f32"), trace.region)


@device_function
def _store(op: TmemCopyOp, atom: CopyAtom, src: Tensor, dst: Tensor, index: int) -> None:
    words = words_of(atom, src, index)
    address = _address(atom, "destination", dst, index)
    trace = device_trace()
    trace.operation(TMEM_STORE, (address, *words), attributes=_named(op, trace.builder))


def make_tmem_copy(atom: CopyAtom, tmem_tensor: Tensor) -> TiledCopy:
    """The copy by the 128 threads of four warps, each of which reaches a quarter of the lanes."""
    op, dtype = atom.op, atom.value_type
    if not isinstance(op, TmemCopyOp):
        raise CopyInstructionError(
            "this is no copy of tensor memory",
            span=place(),
            found=repr(op),
            expected="tcgen05.Ld32x32bOp(...) or another of tcgen05",
        )
    lane = lane_stride(dtype.width)
    values = ((op.columns(dtype), op.access.lanes), (_column_step(op, dtype), lane))
    threads = ((WARP_LANES, 4), (0, WARP_LANES * lane))
    reached = Layout((threads[0], values[0]), (threads[1], values[1]))
    return make_cotiled_copy(atom, reached, tmem_tensor.layout)

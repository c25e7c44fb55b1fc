"""TMA atoms: a copy with a tensor map, the tensor of its coordinates, and tiles cut into boxes.

Input: in host code, a tensor and the layout of a tile of it in shared memory. Output: one `tile.tensor_map`, and an
atom that crosses into a kernel with the map as its run-time part.

No machine makes a tensor map in a kernel; it changes what one in memory says of its tensor. So the atom that a kernel
makes has a map of the host, with the box and the swizzle and no tensor, and becomes a map of its tensor in memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar

from triptych.cute.copies.atoms import CopyAtom, CopyLayouts, CopyOperation
from triptych.cute.dynamic.traced_integers import ints, realize
from triptych.cute.memory.address_spaces import AddressSpace
from triptych.cute.memory.pointers import Pointer
from triptych.cute.tensors.tensor import Tensor
from triptych.cute.tracing.device import host_value, tracing
from triptych.cute.tracing.errors import CopyInstructionError, TensorMapError
from triptych.diagnostics.runtime_errors import LayoutRequirementError
from triptych.ir.handles import Value
from triptych.kernel_ir.dialects.tensor_maps import (
    PIECE,
    BoxError,
    Boxes,
    at_path,
    boxes_of,
    coordinate_strides,
    partition,
)
from triptych.kernel_ir.dialects.tile import TENSOR_MAP, TENSOR_MAP_ARGUMENT, TILE
from triptych.layout import (
    AnyLayout,
    ComposedLayout,
    Int,
    Layout,
    Shape,
    coalesce,
    composition,
    cosize,
    crd2idx,
    divisibility,
    domain_offset,
)
from triptych.metastage.trace.checks import check
from triptych.metastage.trace.trace import Trace, place
from triptych.metastage.values.scalars import (
    BFloat16,
    Float16,
    Float32,
    Float64,
    Int32,
    Int64,
    Numeric,
    TFloat32,
    Uint8,
    Uint32,
    Uint64,
    materialize,
    numeric_class,
)
from triptych.support.dataclass import dataclass

MAP_ALIGNMENT = 64
_NO_TENSOR = 128
"""An address that a map may have and that no tensor has."""
_WORDS: dict[type[Numeric], str] = {
    Float16: "f16",
    BFloat16: "bf16",
    Float32: "f32",
    TFloat32: "tf32",
    Float64: "f64",
    Int32: "s32",
    Uint32: "u32",
    Int64: "s64",
    Uint64: "u64",
}
"""Element types that a map says; the others are moved as integers of their size."""
_BY_WIDTH = {8: "u8", 16: "u16", 32: "u32", 64: "u64"}


NO_BOXES = Boxes((), (), 0, 1)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class TmaAtom(CopyAtom):
    """A TMA copy of one tensor."""

    __argument_marks__: ClassVar[tuple[str, ...]] = (TENSOR_MAP_ARGUMENT,)
    boxes: Boxes = NO_BOXES
    map: Pointer | Any = None
    """The 128 bytes that only the target reads."""
    word: str = ""
    """The type of elements that the map says."""
    shape: Any = ()
    """How the modes of the tensor are nested; its numbers mean nothing."""
    tensor: Tensor | None = None
    """Of an atom that a kernel has made: what its map in memory will be a map of."""

    @property
    def bytes_moved(self) -> int:
        """What one copy moves."""
        return self.boxes.bytes_moved

    def __str__(self) -> str:
        box = "x".join(map(str, self.boxes.share))
        return f"{type(self.op).__name__}<{self.value_type.__name__}, boxes of {box}>"

    __repr__ = __str__

    def __extract_mlir_values__(self) -> list[Any]:
        parts = (self.map, self.tensor) if self.tensor is not None else (self.map,)
        return [value for part in parts for value in part.__extract_mlir_values__()]

    def __new_from_mlir_values__(self, values: Sequence[Any]) -> TmaAtom:
        if tracing().kernel is None:
            raise TensorMapError(
                "a tensor map does not change in branches or loops of host code",
                span=place(),
                found=f"another {self} on another path, or in another turn",
                expected="an atom that is made once, before the branch or the loop",
                instead="a launch in each branch, or in the iteration that makes the atom",
            )
        first, *others = values
        tensor = None if self.tensor is None else self.tensor.__new_from_mlir_values__(others)
        return replace(self, map=self.map.__new_from_mlir_values__([first]), tensor=tensor)

    # Any: a static atom is its own static part, this one has less than itself.
    def __static_part__(self) -> Any:
        return self.op, self.value_type, self.boxes


def require_tma_atom(atom: object) -> TmaAtom:
    """An atom that has a tensor map."""
    if isinstance(atom, TmaAtom):
        return atom
    raise CopyInstructionError(
        "this atom has no tensor map",
        span=place(),
        found=str(atom),
        expected="an atom of cpasync.make_tiled_tma_atom",
    )


def own_map(atom: TmaAtom) -> Pointer:
    """The map that copies go by where the program names none in memory."""
    if atom.tensor is None:
        used: Pointer = atom.map
        return used
    raise TensorMapError(
        "a tensor map that a kernel has made is none before it is in memory",
        span=place(),
        found=f"{atom} without tma_desc_ptr",
        expected="a copy by the map that the atom was written to",
        instead="`cpasync.copy_tensormap(atom, pointer)`, fences, and `tma_desc_ptr=pointer`",
    )


def _nested(shape: Shape) -> Any:
    return tuple(map(_nested, shape)) if isinstance(shape, tuple) else 1


def make_tma_atom(
    op: CopyOperation,
    tensor: Tensor,
    shared: AnyLayout,
    tile: Layout,
    shares: int,
    internal_type: type[Numeric] | None,
) -> tuple[TmaAtom, Tensor]:
    """The atom and the tensor of coordinates, whose tiles it copies; `tile` gives the coordinates of a tile."""
    trace, pointer, layout = tracing(), tensor.pointer, tensor.layout
    if isinstance(layout, ComposedLayout):
        raise TensorMapError(
            "a tensor map is made of a tensor with plain strides",
            span=place(),
            found=str(layout),
            expected="a layout of a shape and strides",
        )
    dtype = numeric_class(internal_type or pointer.dtype)
    bits = pointer.dtype.width
    if dtype.width % bits or bits not in (4, *_BY_WIDTH) or (bits == 4 and internal_type is not None):
        raise TensorMapError(
            "a tensor map has elements of the tensor's own size or several of them together, in whole bytes",
            span=place(),
            found=f"{pointer.dtype.__name__} of {bits} bits as {dtype.__name__}",
            expected="elements of 4, 8, 16, 32 or 64 bits",
        )
    made = _boxes(layout, ints(shared), tile, bits, shares, 0 if dtype.width == bits else dtype.width)
    values = Layout((1, made.values), (0, 1))
    word = _WORDS.get(dtype) or _BY_WIDTH[8 * made.element_bytes]
    layouts = CopyLayouts(Layout(1, 0), values, values, values)
    of_kernel = trace.kernel is not None
    address = (
        _map_of_host(trace, made, word)
        if of_kernel
        else _emit_map(trace, *map_operands(trace, tensor, made), made, word)
    )
    used = Pointer(address, Uint8, AddressSpace.generic, MAP_ALIGNMENT)
    shape, described = _nested(layout.shape), tensor if of_kernel else None
    atom = TmaAtom(op, pointer.dtype, layouts, boxes=made, map=used, word=word, shape=shape, tensor=described)
    strides: Any = coordinate_strides(layout.shape, made)
    return atom, Tensor((0,) * len(made.box), Layout(layout.shape, strides))


def partition_for_tma(
    atom: TmaAtom, block: object, blocks: Layout, shared: Tensor, coordinates: Tensor
) -> tuple[Tensor, Tensor]:
    """Both tensors with their first mode as ((of a box, boxes)), from this block's share on."""
    tile = shared.layout.outer[0] if isinstance(shared.layout, ComposedLayout) else shared.layout[0]
    try:
        order = partition(tile, atom.boxes.values)
    except BoxError as error:
        raise _refused(error) from None
    total: Any = cosize(blocks)
    if total != atom.boxes.shares:
        raise CopyInstructionError(
            "the atom is made for another number of blocks that share a box",
            span=place(),
            found=f"the blocks {blocks}, and an atom for {atom.boxes.shares}",
            expected="as many blocks as `num_multicast` says where the atom is made",
            instead=f"`num_multicast={total}` with a multicast operation"
            if total > 1
            else "the layout of the blocks that share the box, and the coordinate of this one",
        )
    at_block: Any = crd2idx(ints(block), blocks)
    first: Any = at_block * (atom.boxes.values // total)
    return _cut(shared, order, first), _cut(coordinates, order, first)


def _cut(tensor: Tensor, order: Layout, first: Int) -> Tensor:
    whole = tensor.layout
    tiler: Any = (order, *(None,) * (len(whole) - 1))
    layout = coalesce(composition(whole, tiler), ((1, 1),))
    if isinstance(first, int) and first == 0:
        return Tensor(tensor.iterator, layout)
    moved, offset = domain_offset(((first, 0), *(0,) * (len(whole) - 1)), layout)
    return tensor.moved(offset, moved)


# maps -------------------------------------------------------------------------------------------------------------
def _boxes(layout: Layout, shared: AnyLayout, tile: Layout, bits: int, shares: int, unit_bits: int) -> Boxes:
    try:
        return boxes_of(tile, layout.shape, layout.stride, shared, bits, shares, unit_bits)
    except BoxError as error:
        raise _refused(error) from None


def _refused(error: BoxError) -> TensorMapError:
    return TensorMapError(error.title, span=place(), found=error.found, expected=error.expected, instead=error.instead)


def _map_of_host(trace: Trace, made: Boxes, word: str) -> Value:
    """A map of no tensor, which a kernel receives: a copy of it in memory becomes one of the kernel's tensor."""
    rank, box, swizzle = len(made.box), made.copied, made.swizzle

    def compute(_: Value) -> Value:
        numbers = [materialize(number, Int64.info, trace) for number in (*(1,) * rank, *(PIECE,) * (rank - 1))]
        address = materialize(_NO_TENSOR, Int64.info, trace)
        base = trace.value("llvm.inttoptr", (address,), AddressSpace.gmem.pointer_type)
        return _emit_map(trace, base, numbers, made, word)

    key, kind = ("tensor map", rank, box, swizzle, word), AddressSpace.generic.pointer_type
    received: Value = host_value(key, kind, compute, TENSOR_MAP_ARGUMENT)
    return received


def _emit_map(trace: Trace, base: Value, numbers: Sequence[Value], made: Boxes, word: str) -> Value:
    builder = trace.builder
    TILE.load(builder.context)
    attributes = {
        "type": builder.string(word),
        "box": builder.integers(made.copied),
        "swizzle": builder.integer("i64", made.swizzle),
    }
    address: Value = trace.value(TENSOR_MAP, (base, *numbers), AddressSpace.generic.pointer_type, attributes)
    return address


def map_operands(trace: Trace, tensor: Tensor, made: Boxes) -> tuple[Value, list[Value]]:
    """The base, and the extents and byte strides of all dimensions, checked as far as they are known. A tensor that a
    map is changed to may have narrower elements than the one it was made of: bytes of two, for example."""
    pointer, layout = tensor.pointer, tensor.layout
    unit = 8 * made.element_bytes // pointer.dtype.width
    _check_base(trace, tensor)
    extents = [at_path(layout.shape, path) for path in made.dimensions]
    for path, _ in made.joined:
        extents[0] = extents[0] * at_path(layout.shape, path)
    extents[0] = extents[0] // unit
    strides = [at_path(layout.stride, path) * made.element_bytes // unit for path in made.dimensions[1:]]
    for i, path in enumerate(made.dimensions[1:], start=1):
        strides[i - 1] = _checked_stride(trace, strides[i - 1], extents[i], path, tensor)
    return pointer.ir_value(), [_number(trace, number) for number in (*extents, *strides)]


def _check_base(trace: Trace, tensor: Tensor) -> None:
    """Refuse, when the program runs, a base that is no multiple of 16 bytes."""
    pointer = tensor.pointer
    if pointer.alignment % PIECE == 0:
        return
    title = f"a tensor map needs a base that is aligned to {PIECE} bytes"
    expected, instead = f"a multiple of {PIECE}", f"`from_dlpack(array, assumed_align={PIECE})`"
    left: Any = pointer.byte_address() % PIECE
    check(trace, (left == 0).ir_value(), LayoutRequirementError.__name__, title, expected=expected, instead=instead)


def _checked_stride(trace: Trace, step: Int, extent: Int, path: tuple[int, ...], tensor: Tensor) -> Int:
    """The stride; refuse one that is no multiple of 16 bytes, now or when the program runs. Where a mode has one
    element nobody takes the step, and it is made a multiple."""
    if divisibility(step) % PIECE == 0:
        return step
    mode = "".join(f"[{i}]" for i in path)
    title = f"a tensor map needs strides that are multiples of {PIECE} bytes"
    expected = f"a multiple of {PIECE} bytes"
    instead = "rows that are padded, or another tile of the memory"
    if isinstance(step, int) and extent != 1:
        found = f"{step} bytes along mode {mode} of {tensor}"
        raise TensorMapError(title, span=place(), found=found, expected=expected, instead=instead)
    if trace.kernel is not None:
        return step  # who changes a map in a kernel knows its tensors; a check there would cost more than the copies
    if not isinstance(step, int):
        left: Any = realize(step % PIECE)
        holds: Any = left == 0
        if not isinstance(extent, int):
            alone: Any = realize(extent) == 1
            holds = trace.hooks.operate("|", holds, alone)
        found = f"another stride along mode {mode} of {tensor}"
        check(trace, holds.ir_value(), LayoutRequirementError.__name__, title, found=found, expected=expected)
    return (step + (PIECE - 1)) // PIECE * PIECE


def _number(trace: Trace, number: Int) -> Value:
    known: Any = realize(number)
    value: Value = materialize(known, Int64.info, trace) if isinstance(known, int) else known.to(Int64).ir_value()
    return value

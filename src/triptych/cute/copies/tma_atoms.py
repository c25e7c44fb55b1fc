"""TMA atoms: a copy with a tensor map, the tensor of its coordinates, and tiles cut into boxes.

Input: in host code, a tensor and the layout of a tile of it in shared memory. Output: one `tile.tensor_map`, and an
atom that crosses into a kernel with the map as its run-time part.
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
from triptych.cute.tracing.device import tracing
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

    @property
    def bytes_moved(self) -> int:
        """What one copy moves."""
        return self.boxes.bytes_moved

    def __str__(self) -> str:
        box = "x".join(map(str, self.boxes.share))
        return f"{type(self.op).__name__}<{self.value_type.__name__}, boxes of {box}>"

    __repr__ = __str__

    def __extract_mlir_values__(self) -> list[Any]:
        return self.map.__extract_mlir_values__()

    def __new_from_mlir_values__(self, values: Sequence[Any]) -> TmaAtom:
        if tracing().kernel is None:
            raise TensorMapError(
                "a tensor map does not change in branches or loops of host code",
                span=place(),
                found=f"another {self} on another path, or in another turn",
                expected="an atom that is made once, before the branch or the loop",
                instead="a launch in each branch, or in the iteration that makes the atom",
            )
        return replace(self, map=self.map.__new_from_mlir_values__(values))

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
    if trace.kernel is not None or isinstance(layout, ComposedLayout):
        raise TensorMapError(
            "a tensor map is made in host code, of a tensor with plain strides",
            span=place(),
            found="a kernel" if trace.kernel is not None else str(layout),
            expected="a `@jit` function that hands the atom and its tensor to the kernel",
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
    used = Pointer(_emit_map(trace, tensor, made, word), Uint8, AddressSpace.generic, MAP_ALIGNMENT)
    atom = TmaAtom(op, pointer.dtype, layouts, boxes=made, map=used, word=word, shape=_nested(layout.shape))
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


def _emit_map(trace: Trace, tensor: Tensor, made: Boxes, word: str) -> Value:
    builder = trace.builder
    TILE.load(builder.context)
    base, numbers = map_operands(trace, tensor, made)
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
    for path, step in zip(made.dimensions[1:], strides, strict=True):
        _check_stride(trace, step, path, tensor)
    return pointer.ir_value(), [_number(trace, number) for number in (*extents, *strides)]


def _check_base(trace: Trace, tensor: Tensor) -> None:
    """Refuse a base that is no multiple of 16 bytes: on the host when the program runs, in a kernel now."""
    pointer = tensor.pointer
    if pointer.alignment % PIECE == 0:
        return
    title = f"a tensor map needs a base that is aligned to {PIECE} bytes"
    found = f"{pointer.alignment} bytes are known of {tensor}"
    expected, instead = f"a multiple of {PIECE}", f"`from_dlpack(array, assumed_align={PIECE})`"
    if trace.kernel is not None:
        raise TensorMapError(title, span=place(), found=found, expected=expected, instead=instead)
    left: Any = pointer.byte_address() % PIECE
    check(trace, (left == 0).ir_value(), LayoutRequirementError.__name__, title, expected=expected, instead=instead)


def _check_stride(trace: Trace, step: Int, path: tuple[int, ...], tensor: Tensor) -> None:
    """Refuse a stride that is no multiple of 16 bytes, now or when the program runs."""
    if divisibility(step) % PIECE == 0:
        return
    mode = "".join(f"[{i}]" for i in path)
    title = f"a tensor map needs strides that are multiples of {PIECE} bytes"
    expected = f"a multiple of {PIECE} bytes"
    instead = "rows that are padded, or another tile of the memory"
    if isinstance(step, int):
        found = f"{step} bytes along mode {mode} of {tensor}"
        raise TensorMapError(title, span=place(), found=found, expected=expected, instead=instead)
    if trace.kernel is not None:
        return  # who changes a map in a kernel knows its tensors; a check there would cost more than the copies
    left: Any = realize(step % PIECE)
    found = f"another stride along mode {mode} of {tensor}"
    check(trace, (left == 0).ir_value(), LayoutRequirementError.__name__, title, found=found, expected=expected)


def _number(trace: Trace, number: Int) -> Value:
    known: Any = realize(number)
    value: Value = materialize(known, Int64.info, trace) if isinstance(known, int) else known.to(Int64).ir_value()
    return value

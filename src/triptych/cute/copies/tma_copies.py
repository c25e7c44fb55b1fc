"""TMA copies: one lane of a warp asks for each box of a tile, one operation a box.

Input: an atom, a tensor of coordinates and one in shared memory, cut alike by `partition_for_tma`. Output: an elected
branch with an operation for each box.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from triptych.cute.arch.warp import elect_one
from triptych.cute.copies.atoms import CopyOperands
from triptych.cute.copies.tma_atoms import TmaAtom, own_map
from triptych.cute.dynamic.traced_integers import realize
from triptych.cute.memory.address_spaces import AddressSpace
from triptych.cute.memory.pointers import Pointer
from triptych.cute.tensors.tensor import Tensor, static_size
from triptych.cute.tracing.device import bits32, device_function, tracing
from triptych.cute.tracing.errors import BoxCopyError, CopyMemoryError
from triptych.ir.handles import Attribute, Value
from triptych.kernel_ir.dialects.smem_operands import WIDE_PIECES, pattern_bytes, row_bytes
from triptych.kernel_ir.dialects.tensor_maps import DESTINATION_ALIGNMENT, BoxError, element_swizzle, known_swizzle
from triptych.kernel_ir.dialects.tile import CACHE_POLICY, CTA_PAIR, TMA_LOAD, TMA_PREFETCH, TMA_STORE
from triptych.layout import ComposedLayout, Int, Swizzle, crd2idx, divisibility, text, tuple_add
from triptych.metastage.trace.trace import Trace, place
from triptych.metastage.values.scalars import Int32, materialize


@device_function
def emit_tma_load(
    atom: TmaAtom, src: Tensor, dst: Tensor, operands: CopyOperands, multicast: bool, *, pair: bool = False
) -> None:
    """Copy the boxes of a tile from global into shared memory; their bytes are counted on an mbarrier, in a pair of
    CTAs on that of the first."""
    barrier = operands.barrier
    if not isinstance(barrier, Pointer) or barrier.memspace is not AddressSpace.smem:
        raise BoxCopyError(
            f"{atom} counts the bytes that have arrived on an mbarrier",
            span=place(),
            found="no tma_bar_ptr" if barrier is None else f"tma_bar_ptr={barrier}",
            expected="a pointer to eight bytes of shared memory",
            instead="tma_bar_ptr=pipeline.producer_get_barrier(state)",
        )
    if not multicast and not (isinstance(operands.blocks, int) and operands.blocks.bit_count() > 1):
        operands = replace(operands, blocks=None)  # programs give masks to both loads if either has other blocks
    if multicast != (operands.blocks is not None):
        raise BoxCopyError(
            f"{atom} copies into {'several blocks' if multicast else 'its own block'}",
            span=place(),
            found="mcast_mask=..." if operands.blocks is not None else "no mcast_mask",
            expected="a mask of blocks for CopyBulkTensorTileG2SMulticastOp; CopyBulkTensorTileG2SOp uses none",
            instead="cute.make_layout_image_mask(cluster_layout, block_in_cluster, mode=...)",
        )
    trace = tracing()
    with elect_one():
        used, mbarrier = _map(atom, operands), barrier.ir_value()
        blocks = bits32(0 if operands.blocks is None else operands.blocks)
        extra = {**_facts(trace, atom, operands), "swizzle": _swizzle(trace, atom)}
        extra["multicast"] = trace.builder.attribute("true" if multicast else "false")
        if pair:
            extra[CTA_PAIR] = trace.builder.attribute("unit")
        for index in range(_count(atom, src, dst)):
            shared = _shared_address(atom, "destination", dst, index)
            where = _coordinates(atom, src, index)
            trace.operation(TMA_LOAD, (used, shared, mbarrier, blocks, *where), attributes=extra)


def load_as_mapped(tensor_map: Value, shared: Value, mbarrier: Value, coordinates: Sequence[Value]) -> None:
    """Load one box, as large as its tensor map says, by every thread that comes here."""
    trace = tracing()
    attributes = {
        **{name: trace.builder.integer("i64", 0) for name in ("bytes", "swizzle")},
        "box": trace.builder.attribute("array<i64>"),
        "multicast": trace.builder.attribute("false"),
    }
    nobody = trace.value("arith.constant", (), "i32", {"value": trace.builder.integer("i32", 0)})
    trace.operation(TMA_LOAD, (tensor_map, shared, mbarrier, nobody, *coordinates), attributes=attributes)


@device_function
def emit_tma_store(atom: TmaAtom, src: Tensor, dst: Tensor, operands: CopyOperands, kind: str) -> None:
    """Copy the boxes of a tile from shared into global memory, or join them with what is there."""
    unknown = [name for name in operands.given() if name in ("tma_bar_ptr", "mcast_mask")]
    if unknown:
        raise BoxCopyError(
            f"{atom} takes no {unknown[0]}",
            span=place(),
            found=f"{unknown[0]}=...",
            expected="bulk groups: cp_async_bulk_commit_group and cp_async_bulk_wait_group",
        )
    trace = tracing()
    with elect_one():
        used = _map(atom, operands)
        extra = {**_facts(trace, atom, operands), "swizzle": _swizzle(trace, atom)}
        extra["kind"] = trace.builder.string(kind)
        if kind != "store":
            extra["type"] = trace.builder.string(atom.word)
        for index in range(_count(atom, dst, src)):
            shared = _shared_address(atom, "source", src, index)
            trace.operation(TMA_STORE, (used, shared, *_coordinates(atom, dst, index)), attributes=extra)


@device_function
def emit_tma_prefetch(atom: TmaAtom, src: Tensor) -> None:
    """Bring the boxes of a tile into the cache that all share."""
    trace, operands = tracing(), CopyOperands()
    with elect_one():
        for index in range(static_size(src.layout, src) // atom.boxes.values):
            where = _coordinates(atom, src, index)
            trace.operation(TMA_PREFETCH, (_map(atom, operands), *where), attributes=_facts(trace, atom, operands))


# operands ---------------------------------------------------------------------------------------------------------
def _facts(trace: Trace, atom: TmaAtom, operands: CopyOperands) -> dict[str, Attribute]:
    builder = trace.builder
    facts = {
        "box": builder.integers(atom.boxes.copied),
        "bytes": builder.integer("i64", atom.boxes.element_bytes),
    }
    policy = operands.cache_policy
    if policy is not None:
        facts[CACHE_POLICY] = builder.integer("i64", int(policy))
    return facts


def _swizzle(trace: Trace, atom: TmaAtom) -> Attribute:
    return trace.builder.integer("i64", atom.boxes.swizzle)


def _map(atom: TmaAtom, operands: CopyOperands) -> Value:
    used: Pointer = own_map(atom) if operands.map is None else operands.map
    value: Value = used.ir_value()
    if used.memspace is not AddressSpace.generic:
        value = tracing().value("llvm.addrspacecast", (value,), AddressSpace.generic.pointer_type)
    return value


def _count(atom: TmaAtom, coordinates: Tensor, shared: Tensor) -> int:
    """How many boxes a tile is."""
    if isinstance(coordinates.iterator, Pointer) or not isinstance(shared.iterator, Pointer):
        raise CopyMemoryError(
            f"{atom} copies between shared memory and a tensor of coordinates",
            span=place(),
            found=f"{coordinates} and {shared}",
            expected="the two tensors of `cpasync.tma_partition`",
            instead="the second result of `make_tiled_tma_atom`, tiled and partitioned, for global memory",
        )
    sizes = [static_size(tensor.layout, tensor) for tensor in (coordinates, shared)]
    if sizes[0] != sizes[1] or sizes[0] % atom.boxes.values:
        raise BoxCopyError(
            f"the tensors are no multiple of TMA tiles of {atom.boxes.values} elements",
            span=place(),
            found=f"{text(coordinates.layout.shape)} and {text(shared.layout.shape)}",
            expected="the same part of both results of `cpasync.tma_partition`",
            instead="`tensor[None, stage]`, which keeps the first mode whole",
        )
    return sizes[0] // atom.boxes.values


def _coordinates(atom: TmaAtom, tensor: Tensor, index: int) -> list[Value]:
    """Of the first element of box `index`, the innermost first."""
    start: Any = tensor.iterator
    where: Any = tuple_add(start, crd2idx(index * atom.boxes.values, tensor.layout))
    if not isinstance(where, tuple) or len(where) != len(atom.boxes.box):
        raise BoxCopyError(
            f"{atom} takes coordinates of {len(atom.boxes.box)} dimensions",
            span=place(),
            found=f"{tensor}",
            expected="parts of the tensor that `make_tiled_tma_atom` made with this atom",
        )
    trace, (first, *others) = tracing(), where
    return [_coordinate(trace, part) for part in (first // atom.boxes.unit, *others)]


def _coordinate(trace: Trace, number: Int) -> Value:
    known: Any = realize(number, widest=Int32)
    value: Value = materialize(known, Int32.info, trace) if isinstance(known, int) else known.to(Int32).ir_value()
    return value


def _shared_address(atom: TmaAtom, role: str, tensor: Tensor, index: int) -> Value:
    """Where box `index` begins, as it would without the swizzle, which the copy applies itself."""
    if tensor.memspace is not AddressSpace.smem or tensor.pointer.dtype.width != atom.value_type.width:
        raise CopyMemoryError(
            f"{atom} has its {role} in shared memory",
            span=place(),
            found=f"the {role} {tensor}",
            expected=f"elements of {atom.value_type.width} bits in shared memory",
        )
    _check_swizzle(atom, role, tensor)
    layout, pointer = tensor.layout, tensor.pointer
    plain = layout.outer if isinstance(layout, ComposedLayout) else layout
    offset: Any = crd2idx(index * atom.boxes.values, plain)
    if isinstance(layout, ComposedLayout):
        offset = offset + layout.offset
    known = math.gcd(pointer.alignment, divisibility(offset) * atom.value_type.width // 8)
    pattern = pattern_bytes(atom.boxes.swizzle) if isinstance(layout, ComposedLayout) else DESTINATION_ALIGNMENT
    if known % DESTINATION_ALIGNMENT or pointer.alignment % pattern:
        needed = max(pattern, DESTINATION_ALIGNMENT)
        raise BoxCopyError(
            f"{atom} needs a {role} that is aligned to {needed} bytes",
            span=place(),
            found=f"{min(known, pointer.alignment)} bytes are known of the {role} {tensor}",
            expected=f"shared memory at a multiple of {needed} bytes",
            instead=f"`cute.struct.Align[..., {max(needed, 1024)}]`, or byte_alignment={max(needed, 1024)}",
        )
    value: Value = pointer.advanced(offset).ir_value()
    return value


def _check_swizzle(atom: TmaAtom, role: str, tensor: Tensor) -> None:
    try:
        inner = tensor.layout.known_inner if isinstance(tensor.layout, ComposedLayout) else None
        by_layout = element_swizzle(inner, atom.value_type.width) if isinstance(inner, Swizzle) else 0
        by_pointer = 0 if tensor.pointer.swizzle is None else known_swizzle(tensor.pointer.swizzle)
    except BoxError as error:
        raise BoxCopyError(error.title, span=place(), found=error.found, expected=error.expected) from None
    if atom.boxes.swizzle == by_layout + by_pointer and not (by_layout and by_pointer):
        return
    raise BoxCopyError(
        f"the swizzles of the tensor map and of the {role} are not the same",
        span=place(),
        found=f"{_said(atom.boxes.swizzle)} in the map, {_said(by_layout + by_pointer)} in {tensor}",
        expected="one layout for both",
        instead="`get_tensor(layout.outer, swizzle=layout.inner)` with the layout that the atom was made of",
    )


def _said(number: int) -> str:
    pieces = " in pieces of 32" if number == WIDE_PIECES else ""
    return f"{row_bytes(number)} bytes{pieces}" if number else "none"

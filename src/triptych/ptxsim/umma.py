"""UMMA (`tcgen05.mma`): a thread multiplies matrices of shared memory into tensor memory, by NVIDIA's manual of PTX.

What is multiplied is read from the bits of the descriptors. Products are added up in double precision and rounded
once for each instruction; a GPU rounds in between.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from triptych.ptxsim.accesses import shared_address, space_of
from triptych.ptxsim.arithmetic import UnknownInstructionError
from triptych.ptxsim.block_scales import factors_of_row, scaled_sums
from triptych.ptxsim.conversions import Mask, Numbers
from triptych.ptxsim.matrices import SUMS
from triptych.ptxsim.mbarriers import mbarrier_at
from triptych.ptxsim.operands import BlockState
from triptych.ptxsim.reading import Instruction
from triptych.ptxsim.smem_matrices import tcgen05_matrix
from triptych.ptxsim.tensor_memory import LANES, TensorMemory, TensorMemoryError, group_of, parted, peers_of
from triptych.ptxsim.umma_descriptors import InstructionDescriptor, decoded, decoded_scaled, elements

Run = Callable[[Any], None]
_PEER = 24
"""Bits of an address in the shared memory of one block."""
_COPIES = {"32x128b.warpx4": (32, 16), "128x128b": (128, 16), "128x256b": (128, 32)}
"""Rows, and bytes of each."""
_SCALES = {"block_scale", "block16", "block32", "scale_vec::1X", "scale_vec::2X", "scale_vec::4X"}
_COLLECTORS = {f"collector::a::{use}" for use in ("discard", "lastuse", "fill", "use")}


def issued_by_threads(block: BlockState, instruction: Instruction) -> Run:
    """What single threads do."""
    made = _FORMS.get(instruction.modifiers[0])
    if made is None:
        raise UnknownInstructionError(str(instruction))
    return made(block, instruction)


# products ---------------------------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class _Product:
    """One instruction with its operands, when it is issued."""

    what: str
    said: InstructionDescriptor
    target: int
    left: int
    right: int
    left_in_tensor: bool
    adds: bool
    scales: tuple[int, int] = (0, 0)
    """The addresses of the factors of A and B, where there are some."""


def _multiply(block: BlockState, instruction: Instruction) -> Run:
    words, what = instruction.modifiers, str(instruction)
    kind = next((word.removeprefix("kind::") for word in words if word.startswith("kind::")), "")
    is_scaled = "block_scale" in words
    known = {"mma", "cta_group::1", "cta_group::2", f"kind::{kind}"} | _COLLECTORS | (_SCALES if is_scaled else set())
    count = factors_of_row(kind, words) if is_scaled else 0
    if not set(words) <= known or len(instruction.operands) != (7 if is_scaled else 5) or count is None:
        raise UnknownInstructionError(what)
    to, left, right, bits, *scales, adds = instruction.operands
    registers, ctas = block.registers, group_of(instruction)
    in_tensor = left.startswith("[")
    read = (
        registers.address(to),
        registers.address(left) if in_tensor else registers.reader(left, "b64"),
        registers.reader(right, "b64"),
        registers.reader(bits, "b32"),
        registers.reader(adds, "pred"),
        *(registers.address(each) for each in scales),
    )

    def act(thread: int) -> None:
        target, a, b, descriptor, accumulates, *places = (int(each()[thread]) for each in read)
        said = decoded_scaled(descriptor, kind, count, ctas, what) if count else decoded(descriptor, kind, ctas, what)
        of_scales = (places[0], places[1]) if places else (0, 0)
        product = _Product(what, said, target, a, b, in_tensor, bool(accumulates), of_scales)
        block.tensor.enter(ctas, what)
        block.tensor.issue(thread, what, lambda: _compute(peers_of(block, ctas, what), product))

    return lambda mask: _each(mask, act)


def _each(mask: Mask, act: Callable[[int], None]) -> None:
    for thread in np.flatnonzero(mask):
        act(int(thread))


def _compute(blocks: list[Any], product: _Product) -> None:
    """Each block has its rows of A and D, and its share of the columns of B, which all of them use."""
    said, what = product.said, product.what
    rows, columns = said.m // len(blocks), said.n // len(blocks)
    b = np.concatenate([_shared(block, product.right, columns, said, 1, what) for block in blocks])
    results = []
    for block in blocks:
        lane, first = parted(product.target, what)
        lanes, places = said.accumulators(lane, first, what)
        block.tensor.check(first, int(places.max()) - first + 1, what)
        if product.left_in_tensor:
            a = _held(block.tensor, product.left, lane, said, what)
        else:
            a = _spread(said, _shared(block, product.left, rows, said, 0, what))
        words = block.tensor.words[lanes, places]
        whole = _products(block.tensor, product, a, b)
        results.append((block.tensor, lanes, places, _sums(said, whole, words, product.adds)))
    for tensor, lanes, places, words in results:
        tensor.words[lanes, places] = words


def _shared(block: BlockState, descriptor: int, rows: int, said: InstructionDescriptor, side: int, what: str) -> Any:
    """A matrix (rows, k) of shared memory, A or B, as numbers."""
    matrix, shared = tcgen05_matrix(descriptor, has_second=said.is_long), block.rooms["shared"]
    kind = (said.left, said.right)[side]
    size = {"tf32": 4, "f16": 2, "bf16": 2}.get(kind, 1)
    places = matrix.places(rows, said.depth_bytes // size, size, is_transposed=said.transposed[side])
    data = shared.read(shared.base + (places[..., None] + np.arange(size)).reshape(-1), what)
    return elements(data.reshape(rows, -1), kind)


def _held(tensor: TensorMemory, address: int, of_sums: int, said: InstructionDescriptor, what: str) -> Any:
    """A of every lane, from tensor memory: rows of 32 bytes, in the lanes that D has."""
    lane, first = parted(address, what)
    if said.left in ("e2m1", "e2m3", "e3m2"):
        raise TensorMemoryError(f"{what}: A of {said.left} in tensor memory is not known here")
    if lane != of_sums or said.transposed[0]:
        raise TensorMemoryError(f"{what}: A begins in lane {lane}, D in lane {of_sums}; and A must lie along K")
    tensor.check(first, said.depth_bytes // 4, what)
    words = np.roll(tensor.words[:, first : first + said.depth_bytes // 4], -lane, axis=0)
    return elements(words.view(np.uint8).reshape(LANES, -1), said.left)


def _spread(said: InstructionDescriptor, a: Numbers) -> Any:
    """A of every lane, where lanes without a row have zeros."""
    lanes, _ = said.accumulators(0, 0, "")
    spread = np.zeros((LANES, a.shape[1]), a.dtype)
    for column in (0, -1):  # a pair of 128 rows has two halves of the columns, one below the other
        spread[lanes[:, column]] = a
    return spread


def _products(tensor: TensorMemory, product: _Product, a: Numbers, b: Numbers) -> Any:
    """(lane, n), of rows of A and of B."""
    said = product.said
    wide = np.int64 if said.sum == "s32" else np.float64
    a, b = ((-1 if negated else 1) * each.astype(wide) for each, negated in zip((a, b), said.negated, strict=True))
    with np.errstate(all="ignore"):
        if said.scales is None:
            return a @ b.T
        rows = said.scales.of_rows(tensor, product.scales[0], product.what)
        columns = said.scales.of_columns(tensor, product.scales[1], said.n, product.what)
        return scaled_sums(a, b, rows, columns)


def _sums(said: InstructionDescriptor, whole: Numbers, words: Numbers, adds: bool) -> Any:
    """The words of D, from what they were."""
    kind = np.dtype(SUMS[said.sum])
    lanes, _ = said.accumulators(0, 0, "")
    with np.errstate(all="ignore"):
        total = whole[lanes, np.arange(said.n)]
        if adds:
            total = total + words.view(kind)[..., :: 4 // kind.itemsize].astype(whole.dtype)
        if said.saturates:
            total = np.clip(total, -(2**31), 2**31 - 1)
        result = total.astype(kind)
    if kind.itemsize == 4:
        return result.view(np.uint32)
    return words & np.uint32(0xFFFF0000) | result.view(np.uint16)


# commits ----------------------------------------------------------------------------------------------------------
def _commit(block: BlockState, instruction: Instruction) -> Run:
    """An arrival at one mbarrier, or at the same place of several blocks."""
    words, what = instruction.modifiers, str(instruction)
    is_multicast = "multicast::cluster" in words
    known = {"commit", "cta_group::1", "cta_group::2", "mbarrier::arrive::one", "shared::cluster", "b64"}
    if not set(words) <= known | {"multicast::cluster"} or len(instruction.operands) != 1 + is_multicast:
        raise UnknownInstructionError(what)
    ctas = group_of(instruction)
    address = shared_address(block, instruction.operands[0], space_of(instruction))
    ranks = block.registers.reader(instruction.operands[1] if is_multicast else "0", "u16")

    def act(thread: int) -> None:
        at, mask = int(address()[thread]), int(ranks()[thread])
        if is_multicast and (not mask or mask >> len(block.cluster.blocks)):
            raise TensorMemoryError(f"{what}: blocks {mask:#x} of a cluster of {len(block.cluster.blocks)}")
        low = at & (1 << _PEER) - 1
        places = [rank << _PEER | low for rank in range(16) if mask >> rank & 1] if is_multicast else [at]

        is_local = all(place >> _PEER == block.rank for place in places)

        def arrive() -> None:
            for place in places if block.alive.any() or not is_local else ():
                mbarrier_at(block, place).change(arrivals=1)

        block.tensor.enter(ctas, what)
        block.tensor.commit(thread, f"{what} of block {block.index}", arrive, is_local=is_local)

    return lambda mask: _each(mask, act)


# copies -----------------------------------------------------------------------------------------------------------
def _copy(block: BlockState, instruction: Instruction) -> Run:
    """Rows of shared memory to lanes, each block its own; 32 of them to every quarter."""
    what, ctas = str(instruction), group_of(instruction)
    form = ".".join(word for word in instruction.modifiers[1:] if not word.startswith("cta_group"))
    if form not in _COPIES or len(instruction.operands) != 2:
        raise UnknownInstructionError(what)
    rows, width = _COPIES[form]
    target, source = (
        block.registers.address(instruction.operands[0]),
        block.registers.reader(instruction.operands[1], "b64"),
    )

    def copy(address: int, descriptor: int) -> None:
        lane, first = parted(address & 0x3FFFFFFF, what)
        if lane:
            raise TensorMemoryError(f"{what}: the target begins in lane {lane}, and must begin in lane 0")
        for peer in peers_of(block, ctas, what):
            peer.tensor.check(first, width // 4, what)
            shared = peer.rooms["shared"]
            places = tcgen05_matrix(descriptor).places(rows, width, 1, is_transposed=False)
            data = shared.read(shared.base + places.reshape(-1), what).reshape(rows, width)
            words = np.ascontiguousarray(data).view(np.uint32)
            peer.tensor.words[:, first : first + width // 4] = np.tile(words, (LANES // rows, 1))

    def act(thread: int) -> None:
        address, descriptor = int(target()[thread]), int(source()[thread])
        block.tensor.enter(ctas, what)
        block.tensor.issue(thread, what, lambda: copy(address, descriptor))

    return lambda mask: _each(mask, act)


def _fence(block: BlockState, instruction: Instruction) -> Run:
    """Nothing: what it orders is seen in one order here."""
    if len(instruction.modifiers) != 1 or instruction.operands:
        raise UnknownInstructionError(str(instruction))
    return lambda mask: None


_FORMS: dict[str, Callable[[BlockState, Instruction], Run]] = {
    "mma": _multiply,
    "cp": _copy,
    "commit": _commit,
    "fence::before_thread_sync": _fence,
    "fence::after_thread_sync": _fence,
}

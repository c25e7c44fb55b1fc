"""TMA copies and their tensor maps as inline PTX, a part of pass `lower-mbarrier-and-tma`.

A map is 128 bytes at a generic address. Addresses of shared memory have 32 bits; those of the block itself are also
addresses of its cluster, so that the form for clusters serves loads of both kinds, and of every version of PTX.
"""

from __future__ import annotations

from collections.abc import Sequence

from triptych.ir.handles import Value
from triptych.ir.rewriting import Replacement, Rule
from triptych.ir.types import SHARED_SPACE, memory_space
from triptych.kernel_ir.dialects.tile import (
    CACHE_POLICY,
    TENSOR_MAP_BYTES,
    TENSORMAP_ACQUIRE,
    TENSORMAP_CP_FENCEPROXY,
    TENSORMAP_PREFETCH,
    TENSORMAP_RELEASE,
    TENSORMAP_REPLACE,
    TMA_LOAD,
    TMA_PREFETCH,
    TMA_STORE,
)
from triptych.targets.nvptx.description.emitting import inline_ptx

# copies ---------------------------------------------------------------------------------------------------------------
_LOAD = "cp.async.bulk.tensor.{rank}d.shared::cluster.global.mbarrier::complete_tx::bytes"
_STORE = "cp.async.bulk.tensor.{rank}d.global.shared::cta.bulk_group"
_REDUCE = "cp.reduce.async.bulk.tensor.{rank}d.global.shared::cta.{kind}.bulk_group"
_PREFETCH = "cp.async.bulk.prefetch.tensor.{rank}d.L2.global"


class _Copy:
    """One instruction: its name with what is added to it, and its operands."""

    def __init__(self, op: Replacement, name: str) -> None:
        self._op, self._name = op, name
        self._written: list[str] = []
        self._operands: list[Value] = []
        self._letters: list[str] = []

    def address(self, pointer: Value) -> None:
        """Of shared memory."""
        self._written.append(f"[{self._operand(pointer, 'r')}]")

    def box(self, tensor_map: Value, coordinates: Sequence[Value]) -> None:
        first = self._operand(tensor_map, "l")
        self._written.append(f"[{first}, {{{', '.join(self._operand(each, 'r') for each in coordinates)}}}]")

    def option(self, word: str, value: Value, letter: str) -> None:
        """A further word, and the operand that comes with it."""
        self._name += word
        self._written.append(self._operand(value, letter))

    def write(self) -> list[Value]:
        """With the policy for caches, which is the last operand of all forms."""
        attributes = self._op.operation.attributes
        if CACHE_POLICY in attributes:
            self.option(".L2::cache_hint", self._op.integer("i64", attributes[CACHE_POLICY].value), "l")
        text = f"{self._name} {', '.join(self._written)};"
        inline_ptx(self._op, text, ",".join(self._letters), self._operands)
        return []

    def _operand(self, value: Value, letter: str) -> str:
        self._operands.append(value)
        self._letters.append(letter)
        return f"${len(self._operands) - 1}"


def _load(op: Replacement) -> list[Value]:
    tensor_map, shared, barrier, blocks, *coordinates = op.operands
    copy = _Copy(op, _LOAD.format(rank=len(coordinates)))
    copy.address(shared)
    copy.box(tensor_map, coordinates)
    copy.address(barrier)
    if bool(op.operation.attributes["multicast"].value):
        copy.option(".multicast::cluster", op.value("arith.trunci", (blocks,), "i16"), "h")
    return copy.write()


def _store(op: Replacement) -> list[Value]:
    tensor_map, shared, *coordinates = op.operands
    kind = op.operation.attributes["kind"].value
    copy = _Copy(op, (_STORE if kind == "store" else _REDUCE).format(rank=len(coordinates), kind=kind))
    copy.box(tensor_map, coordinates)
    copy.address(shared)
    return copy.write()


def _prefetch(op: Replacement) -> list[Value]:
    tensor_map, *coordinates = op.operands
    copy = _Copy(op, _PREFETCH.format(rank=len(coordinates)))
    copy.box(tensor_map, coordinates)
    return copy.write()


# maps -----------------------------------------------------------------------------------------------------------------
_PUBLISH = "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned"


def _always(text: str, letters: str = "") -> Rule:
    """One instruction with the operands of the operation."""

    def rule(op: Replacement) -> list[Value]:
        inline_ptx(op, text, letters, op.operands)
        return []

    return rule


def _replace(op: Replacement) -> list[Value]:
    """One instruction for each field. Strides are in bytes for assemblers from CUDA 12.5 on."""
    tensor_map, base, *numbers = op.operands
    rank = (len(numbers) + 1) // 2
    shared = memory_space(tensor_map.type) == SHARED_SPACE
    space, letter = ("shared::cta", "r") if shared else ("global", "l")
    name = "tensormap.replace.tile.{field}." + space + ".b1024"
    inline_ptx(op, f"{name.format(field='global_address')}.b64 [$0], $1;", f"{letter},l", (tensor_map, base))
    for i, extent in enumerate(numbers[:rank]):
        word = op.value("arith.trunci", (extent,), "i32")
        inline_ptx(op, f"{name.format(field='global_dim')}.b32 [$0], {i}, $1;", f"{letter},r", (tensor_map, word))
    for i, stride in enumerate(numbers[rank:]):
        inline_ptx(op, f"{name.format(field='global_stride')}.b64 [$0], {i}, $1;", f"{letter},l", (tensor_map, stride))
    return []


TMA_RULES: dict[str, Rule] = {
    TMA_LOAD: _load,
    TMA_STORE: _store,
    TMA_PREFETCH: _prefetch,
    TENSORMAP_PREFETCH: _always("prefetch.tensormap [$0];", "l"),
    TENSORMAP_REPLACE: _replace,
    TENSORMAP_RELEASE: _always("fence.proxy.tensormap::generic.release.gpu;"),
    TENSORMAP_ACQUIRE: _always(f"fence.proxy.tensormap::generic.acquire.gpu [$0], {TENSOR_MAP_BYTES};", "l"),
    TENSORMAP_CP_FENCEPROXY: _always(f"{_PUBLISH} [$0], [$1], {TENSOR_MAP_BYTES};", "l,r"),
}

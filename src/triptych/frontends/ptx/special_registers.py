"""Inline PTX, special registers: which thread this is, and what time it is."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

from triptych.frontends.ptx.code import Code
from triptych.frontends.ptx.warps import lane
from triptych.ir.handles import Value
from triptych.kernel_ir.dialects.simt import CLOCK, GLOBAL_TIMER

_INDICES = {"%tid": "gpu.thread_id", "%ntid": "gpu.block_dim", "%ctaid": "gpu.block_id", "%nctaid": "gpu.grid_dim"}
_MOMENTS = {"%clock": (CLOCK, "i32"), "%clock64": (CLOCK, "i64"), "%globaltimer": (GLOBAL_TIMER, "i64")}
_WARP = 32


def special_register(code: Code, name: str) -> Value | None:
    """The bits of a special register; None if there is none of that name that has a meaning here."""
    base, _, axis = name.partition(".")
    if base in _INDICES and axis in ("x", "y", "z"):
        attributes = {"dimension": code.trace.builder.attribute(f"#gpu<dim {axis}>")}
        index = code.value(_INDICES[base], (), "index", attributes)
        return code.value("arith.index_cast", (index,), "i32")
    if name in _MOMENTS:
        operation, kind = _MOMENTS[name]
        return code.value(operation, (), kind)
    if name == "WARP_SZ":
        return code.integer(32, _WARP)
    if name in _CLUSTER and code.trace.kernel is not None:
        return _CLUSTER[name](code, code.trace.kernel.cluster)
    return _LANES[name](code) if name in _LANES else None


def _block(code: Code, axis: str) -> Value:
    found = special_register(code, f"%ctaid.{axis}")
    assert found is not None
    return found


def _rank(code: Code, cluster: tuple[int, int, int]) -> Value:
    """The place of the block in its cluster, along x first."""
    rank = code.integer(32, 0)
    for axis, extent in reversed(list(zip("xyz", cluster, strict=True))):
        size = code.integer(32, extent)
        within = code.like("arith.remui", _block(code, axis), size)
        rank = code.like("arith.addi", code.like("arith.muli", rank, size), within)
    return rank


_CLUSTER: dict[str, Callable[[Code, tuple[int, int, int]], Value]] = {
    "%cluster_ctarank": _rank,
    "%cluster_nctarank": lambda code, cluster: code.integer(32, prod(cluster)),
}


def _before(code: Code, past: int) -> Value:
    """A bit for each lane before this one, or before the one `past` it."""
    lanes = code.like("arith.shli", code.integer(64, 1 << past), code.resized(lane(code), 64))
    return code.resized(code.like("arith.subi", lanes, code.integer(64, 1)), 32)


def _not(code: Code, mask: Value) -> Value:
    return code.like("arith.xori", mask, code.integer(32, -1))


_LANES: dict[str, Callable[[Code], Value]] = {
    "%laneid": lane,
    "%lanemask_eq": lambda code: code.like("arith.shli", code.integer(32, 1), lane(code)),
    "%lanemask_lt": lambda code: _before(code, 0),
    "%lanemask_le": lambda code: _before(code, 1),
    "%lanemask_gt": lambda code: _not(code, _before(code, 1)),
    "%lanemask_ge": lambda code: _not(code, _before(code, 0)),
}

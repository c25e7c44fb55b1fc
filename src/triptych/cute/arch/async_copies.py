"""Groups of asynchronous copies (cp.async, TMA): commit, wait for all but the newest, and fences between proxies."""

from __future__ import annotations

from enum import Enum

from triptych.cute.tracing.device import Integer, device_function, device_trace
from triptych.kernel_ir.dialects.simt import ASYNC_COMMIT, ASYNC_FENCE, ASYNC_WAIT, BULK_COMMIT, BULK_WAIT
from triptych.metastage.trace.errors import OperandTypeError
from triptych.metastage.trace.trace import place

__all__ = [
    "ProxyKind",
    "SharedSpace",
    "cp_async_bulk_commit_group",
    "cp_async_bulk_wait_group",
    "cp_async_commit_group",
    "cp_async_wait_group",
    "fence_proxy",
    "fence_view_async_shared",
]


@device_function
def cp_async_commit_group() -> None:
    """The copies that this thread has started since the last commit are a group; there may be none."""
    device_trace().operation(ASYNC_COMMIT)


@device_function
def cp_async_wait_group(n: Integer) -> None:
    """Wait until at most the `n` newest groups of this thread are under way.

    Other threads see what was copied after a barrier.
    """
    if not isinstance(n, int) or n < 0:
        raise OperandTypeError(
            "how many groups may be under way is part of the instruction",
            span=place(),
            found=str(n),
            expected="a number that is known while tracing, 0 or more",
        )
    trace = device_trace()
    trace.operation(ASYNC_WAIT, attributes={"groups": trace.builder.integer("i32", n)})


class ProxyKind(Enum):
    """Who accesses memory by another way than loads and stores, by the word of the instruction set."""

    alias = "alias"
    async_ = "async"
    async_global = "async.global"
    async_shared = "async.shared"
    tensormap = "tensormap"
    generic = "generic"


class SharedSpace(Enum):
    """Whose shared memory is meant: that of the block, or of all blocks of its cluster."""

    shared_cta = "cta"
    shared_cluster = "cluster"


_SPACES = {"async": "all", "async.global": "global", "async.shared": "shared"}
_SHARED_SPACES = (None, "cta", "cluster")


@device_function
def fence_proxy(kind: str | ProxyKind, *, space: str | SharedSpace | None = None) -> None:
    """What this thread wrote before is visible to TMA copies and WGMMA after its next barrier.

    `kind` says in which memory: "async.shared" (of the block with `space="cta"`), "async.global", or "async" for both.
    """
    word = str(getattr(kind, "value", kind))
    where = None if space is None else str(getattr(space, "value", space))
    if word not in _SPACES or where not in _SHARED_SPACES:
        raise OperandTypeError(
            "there is no such fence between proxies",
            span=place(),
            found=f"fence_proxy({word!r}, space={where!r})",
            expected=", ".join(map(repr, _SPACES)),
            instead='`fence_proxy("async.shared", space="cta")`',
        )
    trace = device_trace()
    trace.operation(ASYNC_FENCE, attributes={"space": trace.builder.string(_SPACES[word])})


@device_function
def fence_view_async_shared() -> None:
    """What this thread has written to shared memory is what TMA and MMA instructions read after it."""
    fence_proxy("async.shared", space="cta")


@device_function
def cp_async_bulk_commit_group() -> None:
    """The TMA stores that this thread has started since the last commit are a group; there may be none."""
    device_trace().operation(BULK_COMMIT)


@device_function
def cp_async_bulk_wait_group(group: Integer, *, read: bool | None = None) -> None:
    """Wait until at most the `group` newest groups of this thread are under way; with `read`, until they have read."""
    if not isinstance(group, int) or group < 0:
        raise OperandTypeError(
            "how many groups may be under way is part of the instruction",
            span=place(),
            found=str(group),
            expected="a number that is known while tracing, 0 or more",
        )
    trace, builder = device_trace(), device_trace().builder
    attributes = {"groups": builder.integer("i32", group), "kind": builder.string("read" if read else "all")}
    trace.operation(BULK_WAIT, attributes=attributes)

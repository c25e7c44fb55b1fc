"""Dialect `simt`: what the threads of a kernel do with each other, and with time and memory, on any machine.

Input: what the languages trace. Output: data; each target has its own operations for these. Beside them a kernel has
`tile` for matrices, `gpu` for indices and the barrier of the block, `llvm` for memory, and `arith`, `math`, `vector`
and `scf`. What each of them does to others is in `triptych.simt.traits`.

    lanes     shuffle %members, %value, %offset, %clamp {kind}    vote %members, %predicate {kind}
              reduce %value, %members {kind}    match %members, %value    elect    sync_warp %members
    barriers  barrier %number[, %threads]    barrier_arrive %number, %threads
    copies    async_copy %shared, %global[, %bytes] {size, cache}    async_commit    async_wait {groups}
              prefetch %address
    grids     await_previous_grid    launch_dependents
    time      clock    global_timer    sleep %nanoseconds

`%members` has a bit for each lane that takes part: an i64 where a warp has more than 32. `%clamp` of a shuffle: bits 0
to 4 bound the lane that is read, bits 8 to 12 say which bits of a lane's number divide the warp into segments (5 and 13
for 64 lanes). A reduction of floats may have `abs` and `nan`.
What follows the first `%bytes` of an asynchronous copy becomes zero; with `cache = "global"` only the cache that all
processors share keeps what is read. `async_wait` leaves at most `groups` of the groups that commits have closed.
"""

from __future__ import annotations

from triptych.atoms.operations import TILE
from triptych.ir.dialect import AttributeSpec, Dialect, OperationSpec
from triptych.ir.types import GLOBAL_SPACE, SHARED_SPACE, pointer_to

SHUFFLE = "simt.shuffle"
VOTE = "simt.vote"
REDUCE = "simt.reduce"
MATCH = "simt.match"
ELECT = "simt.elect"
SYNC_WARP = "simt.sync_warp"
BARRIER = "simt.barrier"
BARRIER_ARRIVE = "simt.barrier_arrive"
ASYNC_COPY = "simt.async_copy"
ASYNC_COMMIT = "simt.async_commit"
ASYNC_WAIT = "simt.async_wait"
PREFETCH = "simt.prefetch"
AWAIT_PREVIOUS_GRID = "simt.await_previous_grid"
LAUNCH_DEPENDENTS = "simt.launch_dependents"
CLOCK = "simt.clock"
GLOBAL_TIMER = "simt.global_timer"
SLEEP = "simt.sleep"

_LANES = "i32|i64"
"""A mask of lanes."""
_GLOBAL, _SHARED = pointer_to(GLOBAL_SPACE), pointer_to(SHARED_SPACE)


def _words(name: str, *values: str) -> tuple[AttributeSpec, ...]:
    """An attribute that is one of these words."""
    return (AttributeSpec(name, tuple(f'"{value}"' for value in values)),)


def _operation(
    name: str, *operands: str, result: str = "", attributes: tuple[AttributeSpec, ...] = ()
) -> OperationSpec:
    return OperationSpec(name.partition(".")[2], operands, (result,) if result else (), attributes=attributes)


_REDUCTIONS = ("add", "min", "max", "umin", "umax", "and", "or", "xor", "fmin", "fmax")

SIMT = Dialect(
    "simt",
    (
        _operation(
            SHUFFLE, _LANES, "T", "i32", "i32", result="T", attributes=_words("kind", "idx", "up", "down", "bfly")
        ),
        _operation(VOTE, _LANES, "i1", result="T", attributes=_words("kind", "any", "all", "uni", "ballot")),
        _operation(REDUCE, "T", _LANES, result="T", attributes=_words("kind", *_REDUCTIONS)),
        _operation(MATCH, _LANES, "T", result=_LANES),
        _operation(ELECT, result="i1"),
        _operation(SYNC_WARP, _LANES),
        _operation(BARRIER, "i32", "i32?"),
        _operation(BARRIER_ARRIVE, "i32", "i32"),
        _operation(
            ASYNC_COPY, _SHARED, _GLOBAL, "i32?", attributes=(AttributeSpec("size"), *_words("cache", "all", "global"))
        ),
        _operation(ASYNC_COMMIT),
        _operation(ASYNC_WAIT, attributes=(AttributeSpec("groups"),)),
        _operation(PREFETCH, "T"),
        _operation(AWAIT_PREVIOUS_GRID),
        _operation(LAUNCH_DEPENDENTS),
        _operation(CLOCK, result="T"),
        _operation(GLOBAL_TIMER, result="i64"),
        _operation(SLEEP, "i32"),
    ),
)

KERNEL_DIALECTS = (SIMT, TILE)
"""Those of our own that a kernel may be made of."""

"""SIMT dialect: barriers, shuffles, votes, atomics, mbarriers and clocks of threads, on any machine.

Input: what the languages trace. Output: data; each target has its own operations for these. Beside them a kernel has
`tile` for matrices, `gpu` for indices and the barrier of the block, `llvm` for memory, and `arith`, `math`, `vector`
and `scf`. What each of them does to others is in `triptych.kernel_ir.dialects.traits`.

    lanes     shuffle %members, %value, %offset, %clamp {kind}    vote %members, %predicate {kind}
              reduce %value, %members {kind}    match %members, %value    elect    sync_warp %members
    barriers  barrier %number[, %threads]    barrier_arrive %number, %threads
    copies    async_copy %shared, %global[, %bytes] {size, cache}    async_commit    async_wait {groups}
              prefetch %address
    mbarriers mbarrier_init %barrier, %arrivals    mbarrier_arrive %barrier, %arrivals[, %rank]
              mbarrier_expect %barrier, %bytes[, %rank]    mbarrier_arrive_expect %barrier, %bytes[, %rank]
              mbarrier_complete %barrier, %bytes[, %rank]    async_arrive %barrier
              mbarrier_wait %barrier, %parity    mbarrier_test %barrier, %parity    mbarrier_fence
    boxes     bulk_commit    bulk_wait {groups, kind}    async_fence {space}
    clusters  cluster_arrive {order}    cluster_wait    cluster_address %shared, %rank
              store_async %address, %value, %barrier
    grids     await_previous_grid    launch_dependents
    time      clock    global_timer    sleep %nanoseconds
    registers set_registers {kind, count}
    numbers   divisor %number {the attributes of a check}

`%members` has a bit for each lane that takes part: an i64 where a warp has more than 32. `%clamp` of a shuffle: bits 0
to 4 bound the lane that is read, bits 8 to 12 say which bits of a lane's number divide the warp into segments (5 and 13
for 64 lanes). A reduction of floats may have `abs` and `nan`.
What follows the first `%bytes` of an asynchronous copy becomes zero; with `cache = "global"` only the cache that all
processors share keeps what is read. `async_wait` leaves at most `groups` of the groups that commits have closed.
A `divisor` is the number, which is not zero wherever what is divided by it is used (`divisor_checks`).

An mbarrier is eight bytes of shared memory that count arrivals, and bytes under way, of one phase after the other:
`mbarrier_wait` waits until the phase of a parity is over, `mbarrier_test` asks. Every active thread executes its own.
With a rank it is the mbarrier at the same place of that block of the cluster. `async_arrive` arrives when the
asynchronous copies of the thread have landed. Copies of boxes (`tile`) that store close groups with `bulk_commit`;
`bulk_wait` with the kind `"read"` waits only until shared memory has been read. `async_fence` makes what the thread
wrote visible to copies of boxes and to products of warpgroups.
"""

from __future__ import annotations

from triptych.ir.dialect import AttributeSpec, Dialect, OperationSpec
from triptych.ir.types import CLUSTER_SPACE, GLOBAL_SPACE, SHARED_SPACE, pointer_to
from triptych.kernel_ir.dialects.tile import TILE

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

MBARRIER_INIT = "simt.mbarrier_init"
MBARRIER_ARRIVE = "simt.mbarrier_arrive"
MBARRIER_EXPECT = "simt.mbarrier_expect"
MBARRIER_ARRIVE_EXPECT = "simt.mbarrier_arrive_expect"
MBARRIER_COMPLETE = "simt.mbarrier_complete"
MBARRIER_WAIT = "simt.mbarrier_wait"
MBARRIER_TEST = "simt.mbarrier_test"
MBARRIER_FENCE = "simt.mbarrier_fence"
ASYNC_ARRIVE = "simt.async_arrive"
ASYNC_FENCE = "simt.async_fence"
BULK_COMMIT = "simt.bulk_commit"
BULK_WAIT = "simt.bulk_wait"
CLUSTER_ARRIVE = "simt.cluster_arrive"
CLUSTER_WAIT = "simt.cluster_wait"
CLUSTER_ADDRESS = "simt.cluster_address"
STORE_ASYNC = "simt.store_async"
SET_REGISTERS = "simt.set_registers"
DIVISOR = "simt.divisor"

_LANES = "i32|i64"
"""A mask of lanes."""
_GLOBAL, _SHARED, _CLUSTER = (pointer_to(space) for space in (GLOBAL_SPACE, SHARED_SPACE, CLUSTER_SPACE))


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
        OperationSpec(DIVISOR.partition(".")[2], ("T",), ("T",), pure=True),
        _operation(MBARRIER_INIT, _SHARED, "i32"),
        *(
            _operation(name, _SHARED, "i32", "i32?")
            for name in (MBARRIER_ARRIVE, MBARRIER_EXPECT, MBARRIER_ARRIVE_EXPECT, MBARRIER_COMPLETE)
        ),
        _operation(MBARRIER_WAIT, _SHARED, "i32"),
        _operation(MBARRIER_TEST, _SHARED, "i32", result="i1"),
        _operation(MBARRIER_FENCE),
        _operation(ASYNC_ARRIVE, _SHARED),
        _operation(ASYNC_FENCE, attributes=_words("space", "shared", "global", "all")),
        _operation(BULK_COMMIT),
        _operation(BULK_WAIT, attributes=(AttributeSpec("groups"), *_words("kind", "all", "read"))),
        _operation(CLUSTER_ARRIVE, attributes=_words("order", "release", "relaxed")),
        _operation(CLUSTER_WAIT),
        _operation(CLUSTER_ADDRESS, _SHARED, "i32", result=_CLUSTER),
        _operation(STORE_ASYNC, _CLUSTER, "T", _CLUSTER),
        _operation(SET_REGISTERS, attributes=(*_words("kind", "increase", "decrease"), AttributeSpec("count"))),
    ),
)

KERNEL_DIALECTS = (SIMT, TILE)
"""Those of our own that a kernel may be made of."""

"""Faults written by hand: pipelines of bulk stores, groups that take turns, named barriers, how pipelines are made.

`says` is a part of the sentence that the finding has; `COVERED` has a pair for each name of `triptych.pipeline`.
"""

from __future__ import annotations

import re

from tests.checkers import protocol_pairs
from tests.checkers.pairs import Pair

_HEAD = """
import triptych as tt
from triptych import cute, pipeline
from triptych.cute.nvgpu import cpasync
arch = cute.arch
"""
_RUN = """
@tt.jit
def run(x: cute.Tensor, out: cute.Tensor):
    k(x, out).launch(grid={grid}, block={block})
"""
_STORES = (
    _HEAD
    + """
@tt.kernel
def k(store: cute.CopyAtom, outs: cute.Tensor, x: cute.Tensor):
    t, _, _ = arch.thread_idx()
    s = cute.make_tensor(arch.alloc_smem(tt.Float32, 128, 128), cute.make_layout((64, 2)))
    group = pipeline.CooperativeGroup(pipeline.Agent.Thread, 32)
    tiles = cute.zipped_divide(outs, (64,))
    source, into = cpasync.tma_partition(
        store, 0, cute.make_layout(1), cute.group_modes(s, 0, 1), cute.group_modes(tiles, 0, 1)
    )
{body}

@tt.jit
def run(x: cute.Tensor, out: cute.Tensor):
    store, outs = cpasync.make_tiled_tma_atom(cpasync.CopyBulkTensorTileS2GOp(), out, cute.make_layout(64), (64,))
    k(store, outs, x).launch(grid={grid}, block={block})
"""
)
_STORED = """
pipe = pipeline.PipelineTmaStore.create(num_stages=2, producer_group=group) #create
for i in range(5):
    s[t, i % 2] = x[i * 64 + t] #write
    arch.fence_proxy("async.shared", space="cta") #fence
    arch.sync_threads() #filled
    if t < 32:
        cute.copy(store, source[None, i % 2], into[None, i]) #store
    if t < 32: #closes
        pipe.producer_commit() #commit
    if t < 32: #asks
        pipe.producer_acquire() #acquire
    arch.sync_threads() #meet
if t < 32: #ends
    pipe.producer_tail() #tail
"""
_ORDERED = (
    _HEAD
    + """
@tt.kernel
def k(x: cute.Tensor, out: cute.Tensor):
    t, _, _ = arch.thread_idx()
    s = cute.make_tensor(arch.alloc_smem(tt.Float32, 64, 16), cute.make_layout((32, 2)))
    s[t % 32, t // 32] = 0.0
    total = tt.Float32(0.0)
    bars = arch.alloc_smem(tt.Int64, 6, 8)
    group = pipeline.CooperativeGroup(pipeline.Agent.Thread, 32)
{body}
    out[t] = total
"""
    + _RUN
)
_ORDER = """
number, length = t // 32, 2 #create
order = pipeline.PipelineOrder.create(
    barrier_storage=bars, depth=1, length=length, group_id=number, producer_group=group
)
for i in range(4):
    order.wait() #wait
    total = total * 2 + s[31 - t % 32, 0] #read
    arch.sync_warp()
    s[t % 32, 0] = total + x[t] #write
    order.arrive() #arrive
"""
_SECOND = """    order.wait() #next
    total = total * 2 + s[31 - t % 32, 1]
    arch.sync_warp()
    s[t % 32, 1] = total + x[t]
    order.arrive() #last
"""
_NAMED = (
    _HEAD
    + """
@tt.kernel
def k(x: cute.Tensor, out: cute.Tensor):
    t, _, _ = arch.thread_idx()
    s = cute.make_tensor(arch.alloc_smem(tt.Float32, 32, 16), cute.make_layout(32))
{body}
"""
    + _RUN
)
_MET = """
bar = pipeline.NamedBarrier(barrier_id=1, num_threads=64) #create
if t < 32:
    s[t] = x[t] #write
    bar.arrive() #arrive
else:
    bar.arrive_and_wait() #wait
    out[t] = s[63 - t] #read
"""
_FUNCTIONS = """
if t < 32:
    s[t] = x[t] #write
    pipeline.arrive(1, 64) #arrive
else:
    pipeline.arrive_and_wait(1, 64) #wait
    out[t] = s[63 - t] #read
pipeline.sync() #sync
if t < 32:
    s[t] = x[t + 1] #again
"""


def _pair(kind: str, program: str, body: str, code: str, name: str, says: str, **marks: str) -> Pair:
    """Lines of a body have names: `marks` are those of a pair, and `says` may have the numbers of lines."""
    first = program[: program.index("{body}")].count("\n")
    numbers = {
        found[1]: first + number
        for number, line in enumerate(body.splitlines())
        if (found := re.search(r" #(\w+)$", line))
    }
    assert set(marks) <= set(numbers), marks
    text = re.sub(r" #(\w+)$", lambda found: f" {marks[found[1]]}" if found[1] in marks else "", body, flags=re.M)
    return Pair(f"{kind}: {name}", text, code=code, says=says.format(**numbers), program=program)


def _store(code: str, name: str, says: str, **marks: str) -> Pair:
    lines = {"store": "#<>"} if code == "TT0633" else {"write": "#>", "store": "#<"}
    return _pair("PipelineTmaStore", _STORES, _STORED, code, name, says, **lines | marks)


def _order(code: str, name: str, says: str, **marks: str) -> Pair:
    return _pair("PipelineOrder", _ORDERED, _ORDER, code, name, says, **marks)


def _places(code: str, name: str, says: str, **marks: str) -> Pair:
    body = _ORDER.replace("depth=1", "depth=2") + _SECOND
    return _pair("PipelineOrder of two places", _ORDERED, body, code, name, says, **marks)


def _named(code: str, name: str, says: str, **marks: str) -> Pair:
    return _pair("NamedBarrier", _NAMED, _MET, code, name, says, **marks)


def _function(code: str, name: str, says: str, **marks: str) -> Pair:
    return _pair("barriers by number", _NAMED, _FUNCTIONS, code, name, says, **marks)


_ACQUIRE = "`producer_acquire` behind line {commit}, by the warp that stores"
_COMMIT = "`producer_commit` behind line {store}, before line {acquire}, by the warp that stores"
_OTHER = "#~ if t >= 32:"
STORED = (
    _store("TT0634", "acquire missing", _ACQUIRE, acquire="#!"),
    _store("TT0634", "acquire by another warp", _ACQUIRE, asks=_OTHER),
    _store("TT0634", "commit missing", _COMMIT, commit="#!"),
    _store("TT0634", "commit by another warp", _COMMIT, closes=_OTHER),
    _store(
        "TT0634",
        "commit behind the acquire",
        "`producer_commit` behind line {store}, before line {commit}",
        commit="#~ pipe.producer_acquire()",
        acquire="#~ pipe.producer_commit()",
    ),
    _store("TT0633", "tail missing", "`producer_tail` of the PipelineTmaStore behind the last store", tail="#!"),
    _store("TT0633", "tail by another warp", "by the warp that commits at line {commit}", ends=_OTHER),
    _store(
        "TT0634",
        "more stages than are filled in turn",
        "`num_stages` says how many are filled in turn",
        create="#~ pipe = pipeline.PipelineTmaStore.create(num_stages=3, producer_group=group)",
    ),
    _store(
        "TT0634", "no barrier behind the acquire", "a barrier behind `producer_acquire` at line {acquire}", meet="#!"
    ),
    _store(
        "TT0630", "no barrier before the store", "sync_threads()` between line {write} and line {store}", filled="#!"
    ),
    _store("TT0634", "no fence", "`cute.arch.fence_proxy(", fence="#!", write="#<", store="#>"),
)
_NO_WAIT = "`wait` before line {arrive}"
_NO_ARRIVE = "`arrive` behind line {wait}, before the next `wait`"
ORDERED = (
    _order("TT0630", "wait missing", _NO_WAIT, wait="#!", read="#<", write="#>"),
    _order("TT0622", "arrive missing", _NO_ARRIVE, arrive="#!", wait="#<"),
    _order(
        "TT0622",
        "arrive twice",
        "one `arrive` for each `wait`, not two",
        arrive="#~ order.arrive(); order.arrive()",
        wait="#<",
    ),
    _order(
        "TT0622",
        "arrive before the wait",
        "`wait` before line {wait}",
        wait="#~ order.arrive()",
        arrive="#>~ order.wait()",
    ),
    _order(
        "TT0622",
        "one group does not arrive",
        _NO_ARRIVE,
        wait="#<",
        arrive="#~ if t < 32: order.arrive()",
    ),
    _order("TT0622", "more groups than come", "`length=2` of the", create="#~ number, length = t // 32, 3", wait="#<"),
    _order(
        "TT0626", "fewer groups than come", "a `group_id` below 1", create="#~ number, length = t // 32, 1", wait="#<"
    ),
    _order(
        "TT0622",
        "all are group 0",
        "nobody has come to line {wait} as group 1",
        create="#~ number, length = 0, 2",
        wait="#<",
    ),
    _order(
        "TT0622",
        "all are group 1",
        "nobody has come to line {wait} as group 0",
        create="#~ number, length = 1, 2",
        wait="#<",
    ),
    _order(
        "TT0622",
        "more threads than arrive",
        "as many as arrive, 32 and not 64",
        create="#~ number, length, group = t // 32, 2, pipeline.CooperativeGroup(pipeline.Agent.Thread, 64)",
        wait="#<",
    ),
    _order(
        "TT0626",
        "fewer threads than arrive",
        "the number of all that arrive",
        create="#~ number, length, group = t // 32, 2, pipeline.CooperativeGroup(pipeline.Agent.Thread, 16)",
        arrive="#<",
    ),
    _places("TT0630", "arrive missing", "`arrive` behind line {wait}, before line {next}", arrive="#!"),
    _places("TT0622", "arrive of the last place missing", "`arrive` behind line {next}", last="#!"),
    _places("TT0630", "wait missing", _NO_WAIT, wait="#!", read="#<", write="#>"),
)
_CAME = "the number of threads that do arrive, or the missing `arrive` on the other path"
_BETWEEN = "between line {write} and line {read}"
MET = (
    _named("TT0630", "wait missing", _BETWEEN, wait="#!", write="#<", read="#>"),
    _named("TT0630", "arrive in place of the wait", _BETWEEN, wait="#~ bar.arrive()", write="#<", read="#>"),
    _named("TT0622", "arrive missing", _CAME, arrive="#!", wait="#<"),
    _named("TT0622", "arrive twice", _CAME, arrive="#~ bar.arrive(); bar.arrive()", wait="#<"),
    _named("TT0622", "arrive at another one", _CAME, arrive="#~ pipeline.NamedBarrier(2, 64).arrive()", wait="#<"),
    _named(
        "TT0622", "more threads than come", _CAME, create="#~ bar = pipeline.NamedBarrier(1, num_threads=96)", wait="#<"
    ),
    _named(
        "TT0630",
        "fewer threads than come",
        _BETWEEN,
        create="#~ bar = pipeline.NamedBarrier(1, num_threads=32)",
        write="#<",
        read="#>",
    ),
    _function("TT0630", "wait missing", _BETWEEN, wait="#!", write="#<", read="#>"),
    _function("TT0622", "arrive missing", _CAME, arrive="#!", sync="#<"),
    _function("TT0630", "sync missing", "between line {read} and line {again}", sync="#!", read="#<", again="#>"),
)


def _changed(name: str, code: str, says: str, kind: str, *changes: tuple[str, str]) -> Pair:
    """A pipeline that is made in another way: the program of `protocol_pairs` with other arguments."""
    program, body = protocol_pairs.PROGRAMS[kind]
    for old, new in changes:
        lines = [line for line in (program + body).splitlines() if old in line]
        assert lines, old
        for line in dict.fromkeys(lines):
            marked = f"{line.partition(' #')[0]} #~ {line.partition(' #')[0].strip().replace(old, new)}"
            program, body = program.replace(line, marked), body.replace(line, marked)
    return Pair(f"{kind}: {name}", re.sub(r" #\w+$", "", body, flags=re.M), code=code, says=says, program=program)


_GROUPS = "producer_group=group, consumer_group=group"
_MANY, _FEW = (f"pipeline.CooperativeGroup(pipeline.Agent.Thread, {count})" for count in (64, 16))
_RINGS = "PipelineUserType.{}, STAGES"
_OF_A_SIDE = [
    _changed(f"{text} {side}s than arrive", code, says, "PipelineAsync", (_GROUPS, groups))
    for text, code, says, size in (
        ("more", "TT0622", "as many as arrive, 32 and not 64", _MANY),
        ("fewer", "TT0626", "the number of all that arrive", _FEW),
    )
    for side, groups in (
        ("producer", f"producer_group={size}, consumer_group=group"),
        ("consumer", f"producer_group=group, consumer_group={size}"),
    )
]
MADE = (
    *_OF_A_SIDE,
    *(
        _changed(
            f"a state of {count} stages",
            code,
            f"it has {count} stages, and the PipelineAsync 2",
            "PipelineAsync",
            (_RINGS.format(user), f"PipelineUserType.{user}, {count}"),
        )
        for user, count, code in (("Producer", 3, "TT0626"), ("Consumer", 1, "TT0622"))
    ),
    _changed(
        "a state of the other side",
        "TT0622",
        "a state of `make_pipeline_state(PipelineUserType.Consumer, stages)`",
        "PipelineAsync",
        ("PipelineUserType.Consumer, STAGES", "PipelineUserType.Producer, STAGES"),
    ),
    _changed(
        "more consumers than release",
        "TT0622",
        "as many as arrive, 1 and not 32",
        "PipelineTmaAsync",
        ("consumer_group=one", "consumer_group=pipeline.CooperativeGroup(pipeline.Agent.Thread, 32)"),
    ),
    _changed(
        "fewer bytes than come",
        "TT0622",
        "`tx_count` or `mbarrier_expect_tx` of all bytes",
        "PipelineTmaAsync",
        ("tx_count=128", "tx_count=64"),
    ),
    _changed(
        "more bytes than come", "TT0622", "128 of them never came", "PipelineTmaAsync", ("tx_count=128", "tx_count=256")
    ),
    _changed(
        "the barrier of another stage",
        "TT0622",
        "goes to another barrier",
        "PipelineTmaAsync",
        ("producer_get_barrier(put)", "producer_get_barrier(take)"),
    ),
    _changed(
        "acquire without going on",
        "TT0622",
        "`advance()` of the state behind line 23",
        "participants",
        ("acquire_and_advance()", "acquire()"),
    ),
    _changed(
        "wait without going on",
        "TT0622",
        "`advance()` of the state behind line 28",
        "participants",
        ("wait_and_advance()", "wait()"),
    ),
)
_DEFERRED = protocol_pairs.PROGRAMS["PipelineAsync"][0].replace(
    "alloc_smem(tt.Int64, 4, 8)", "alloc_smem(tt.Int64, 4, 8), defer_sync=True"
)
BEGUN = (
    Pair(
        "defer_sync: nobody waits until the barriers are made",
        "pipeline.pipeline_init_arrive()\npipeline.pipeline_init_wait() #!\n"
        + re.sub(r" #\w+$", "", protocol_pairs.PROGRAMS["PipelineAsync"][1].strip("\n"), flags=re.M),
        says="`cute.arch.sync_threads()` between line 13 and line",
        program=_DEFERRED,
    ),
)
MORE_VIOLATIONS = (*STORED, *ORDERED, *MET, *MADE, *BEGUN)
COVERED = {
    "Agent": "PipelineAsync: fewer consumers than arrive",
    "CooperativeGroup": "PipelineAsync: more producers than arrive",
    "MbarrierArray": "PipelineAsync: fewer consumers than arrive",
    "NamedBarrier": "NamedBarrier: arrive missing",
    "PipelineAsync": "PipelineAsync: commit missing",
    "PipelineConsumer": "participants: release missing",
    "PipelineCpAsync": "PipelineCpAsync of warps: wait missing",
    "PipelineOrder": "PipelineOrder: arrive missing",
    "PipelineProducer": "participants: commit missing",
    "PipelineState": "PipelineAsync: next missing",
    "PipelineTmaAsync": "PipelineTmaAsync: release missing",
    "PipelineTmaStore": "PipelineTmaStore: acquire missing",
    "PipelineUserType": "PipelineAsync: a state of the other side",
    "agent_sync": "defer_sync: nobody waits until the barriers are made",
    "alloc_reserved_mbarrier": "PipelineAsync: fewer consumers than arrive",
    "arrive": "barriers by number: arrive missing",
    "arrive_and_wait": "barriers by number: wait missing",
    "make_pipeline_state": "PipelineAsync: a state of 3 stages",
    "pipeline_init_arrive": "defer_sync: nobody waits until the barriers are made",
    "pipeline_init_wait": "defer_sync: nobody waits until the barriers are made",
    "sync": "barriers by number: sync missing",
}
"""For each name of `triptych.pipeline` one of the pairs that misuse it."""

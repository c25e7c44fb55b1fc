"""Faults written by hand: for each class of pipeline, each call that is missing or is there twice.

The finding must say which call to add or to remove; `says` is a part of that sentence.
"""

from __future__ import annotations

from dataclasses import replace

from tests.checkers.pairs import Pair

_HEAD = """
import triptych as tt
from triptych import cute, pipeline
from triptych.cute.nvgpu import cpasync
arch = cute.arch
STAGES = 2
"""
_STATES = """
    put = pipeline.make_pipeline_state(pipeline.PipelineUserType.Producer, STAGES)
    take = pipeline.make_pipeline_state(pipeline.PipelineUserType.Consumer, STAGES)
    total = tt.Float32(0.0)
{body}
    out[t] = total
"""
_RUN = """
@tt.jit
def run(x: cute.Tensor, out: cute.Tensor):
    k(x, out).launch(grid={grid}, block={block})
"""
_ASYNC = (
    _HEAD
    + """
@tt.kernel
def k(x: cute.Tensor, out: cute.Tensor):
    t, _, _ = arch.thread_idx()
    s = cute.make_tensor(arch.alloc_smem(tt.Float32, 64, 16), cute.make_layout(64))
    group = pipeline.CooperativeGroup(pipeline.Agent.Thread, 32)
    pipe = pipeline.PipelineAsync.create(
        num_stages=2, producer_group=group, consumer_group=group, barrier_storage=arch.alloc_smem(tt.Int64, 4, 8)
    )
"""
    + _STATES
    + _RUN
)
_WARPS = """
if t < 32:
    for i in range(5):
        pipe.producer_acquire(put) #acquire
        s[put.index * 32 + t] = x[t + i] #write
        pipe.producer_commit(put) #commit
        put.advance() #next
else:
    for i in range(5):
        pipe.consumer_wait(take) #wait
        total = total + s[take.index * 32 + 63 - t] #read
        pipe.consumer_release(take) #release
        take.advance() #turn
"""
_HANDLES = """
producer, consumer = pipe.make_participants()
if t < 32:
    for i in range(5):
        filled = producer.acquire_and_advance() #acquire
        s[filled.index * 32 + t] = x[t + i] #write
        filled.commit() #commit
else:
    for i in range(5):
        full = consumer.wait_and_advance() #wait
        total = total + s[full.index * 32 + 63 - t] #read
        full.release() #release
"""
_COPIED = (
    _HEAD
    + """
@tt.kernel
def k(x: cute.Tensor, out: cute.Tensor):
    t, _, _ = arch.thread_idx()
    s = cute.make_tensor(arch.alloc_smem(tt.Float32, {words}, 16), cute.make_layout({words}))
    atom = cute.make_copy_atom(cpasync.CopyG2SOp(), tt.Float32, num_bits_per_copy=32)
    group = pipeline.CooperativeGroup({group})
    pipe = pipeline.PipelineCpAsync.create(num_stages=STAGES, producer_group=group, consumer_group=group)
"""
    + _STATES.replace("{body}", "{{body}}")
    + _RUN.replace("{grid}", "{{grid}}").replace("{block}", "{{block}}")
)
_BLOCK = """
for i in tt.range_constexpr(2):
    pipe.producer_acquire(put)
    cute.copy(atom, cute.local_tile(x, (1,), (t + i,)), cute.local_tile(s, (1,), (put.index * 64 + t,)))
    pipe.producer_commit(put)
    put.advance()
for i in range(8):
    pipe.producer_acquire(put) #acquire
    cute.copy(atom, cute.local_tile(x, (1,), (t + i,)), cute.local_tile(s, (1,), (put.index * 64 + t,))) #write
    pipe.producer_commit(put) #commit
    put.advance() #next
    pipe.consumer_wait(take) #wait
    total = total + s[take.index * 64 + 63 - t] #read
    pipe.consumer_release(take) #release
    take.advance() #turn
pipe.producer_tail(put)
"""
_COPIES = _WARPS.replace(
    "s[put.index * 32 + t] = x[t + i]",
    "cute.copy(atom, cute.local_tile(x, (1,), (t + i,)), cute.local_tile(s, (1,), (put.index * 32 + t,)))",
)
_BOXES = (
    _HEAD
    + """
@tt.kernel
def k(load: cute.CopyAtom, xs: cute.Tensor, out: cute.Tensor):
    t, _, _ = arch.thread_idx()
    s = cute.make_tensor(arch.alloc_smem(tt.Float32, 64, 128), cute.make_layout((32, 2)))
    one = pipeline.CooperativeGroup(pipeline.Agent.Thread, 1)
    pipe = pipeline.PipelineTmaAsync.create(
        num_stages=2, producer_group=one, consumer_group=one, tx_count=128,
        barrier_storage=arch.alloc_smem(tt.Int64, 4, 8)
    )
    tiles = cute.zipped_divide(xs, (32,))
    into, source = cpasync.tma_partition(
        load, 0, cute.make_layout(1), cute.group_modes(s, 0, 1), cute.group_modes(tiles, 0, 1)
    )
"""
    + _STATES
    + """
@tt.jit
def run(x: cute.Tensor, out: cute.Tensor):
    load, xs = cpasync.make_tiled_tma_atom(cpasync.CopyBulkTensorTileG2SOp(), x, cute.make_layout(32), (32,))
    k(load, xs, out).launch(grid={grid}, block={block})
"""
)
_LOADS = """
if t < 32:
    for i in range(5):
        pipe.producer_acquire(put) #acquire
        cute.copy(load, source[None, i], into[None, put.index], tma_bar_ptr=pipe.producer_get_barrier(put)) #write
        pipe.producer_commit(put) #commit
        put.advance() #next
else:
    for i in range(5):
        pipe.consumer_wait(take) #wait
        total = total + s[63 - t, take.index] #read
        arch.sync_warp()
        pipe.consumer_release(take) #release
        take.advance() #turn
"""
_TAKEN = {"acquire": "producer_acquire", "wait": "consumer_wait"}
_CALLS = {**_TAKEN, "commit": "producer_commit", "release": "consumer_release"}
_PARTNERS = {"acquire": "commit", "commit": "acquire", "wait": "release", "release": "wait"}
_STATES_OF = {"next": "acquire", "turn": "wait"}
HARMLESS = frozenset(
    {
        *(f"PipelineAsync: {name} twice" for name in _TAKEN),
        *(f"PipelineTmaAsync: {what}" for what in ("commit missing", "commit twice", "wait twice")),
        *(f"PipelineCpAsync of the block: {name} twice" for name in ("acquire", "commit", "wait")),
        "PipelineCpAsync of the block: release missing",
        *(f"participants: {name} missing" for name in _TAKEN),
    }
)
"""A second wait for the same phase, or a barrier more than is needed; and handles that nobody has made (TT0311)."""
_CODES = {
    "PipelineTmaAsync: acquire twice": "TT0626",
    "PipelineCpAsync of the block: acquire missing": "TT0630",
    "PipelineCpAsync of the block: release twice": "TT0630",
}


def _body(body: str, name: str, mark: str) -> str:
    for other in (*_CALLS, *_STATES_OF, "write", "read"):
        body = body.replace(f" #{other}\n", f" {mark}\n" if other == name else "\n")
    return body


def _lines(body: str) -> dict[str, str]:
    """The statement with each mark."""
    marked = [line.strip().partition(" #") for line in body.splitlines() if " #" in line]
    return {mark: code for code, _, mark in marked}


def _sentence(name: str, twice: bool, has_states: bool) -> tuple[str, str]:
    """What the finding says, and at the line of which call."""
    if name in _STATES_OF:
        text = "one `advance()` of the state for each stage: line" if twice else "`advance()` of the state behind line"
        return text, _STATES_OF[name]
    if twice and has_states:
        return f"one `{_CALLS[name]}` for each ", ""
    missing = _PARTNERS[name] if twice else name
    other = name if twice else _PARTNERS[name]
    return f"`{_CALLS[missing]}` {'behind' if other in _TAKEN else 'before'} line", other


def _pair(kind: str, program: str, body: str, name: str, twice: bool) -> Pair:
    what, lines = f"{kind}: {name} {'twice' if twice else 'missing'}", _lines(body)
    mark = f"#~ {lines[name]}; {lines[name].rpartition(' = ')[2]}" if twice else "#!"
    default = "TT0633" if "block" in kind else "TT0622"
    made = Pair(what, _body(body, name, mark), code=_CODES.get(what, default), program=program)
    says, at = _sentence(name, twice, "turn" in lines or name not in _TAKEN)
    text = made.text(wrong=True)[0].splitlines()
    numbers = [str(number) for number, line in enumerate(text, 1) if at and line.strip() == lines[at]]
    return replace(made, says=" ".join([says, *numbers[-1:]]))


def _violations(kind: str, program: str, body: str) -> list[Pair]:
    """One pair for each call of a body that is missing, or is there twice."""
    names = [name for name in (*_CALLS, *_STATES_OF) if name in _lines(body)]
    return [_pair(kind, program, body, name, twice) for name in names for twice in (False, True)]


_THREADS = "pipeline.Agent.Thread, 32"
_THREE = _COPIED.replace("STAGES = 2", "STAGES = 3").format(words=192, group="pipeline.Agent.ThreadBlock")
PROGRAMS = {
    "PipelineAsync": (_ASYNC, _WARPS),
    "participants": (_ASYNC, _HANDLES),
    "PipelineTmaAsync": (_BOXES, _LOADS),
    "PipelineCpAsync of the block": (_THREE, _BLOCK),
    "PipelineCpAsync of warps": (_COPIED.format(words=64, group=_THREADS), _COPIES),
}
"""The program around the body, and the body with a name at each of its lines."""
ALL = tuple(pair for kind, (program, body) in PROGRAMS.items() for pair in _violations(kind, program, body))
VIOLATIONS = tuple(pair for pair in ALL if pair.name not in HARMLESS)

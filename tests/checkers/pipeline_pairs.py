"""Faults written by hand: pipelines whose stages are not acquired, committed, waited for and released once each."""

from __future__ import annotations

from tests.checkers.pairs import Pair

_PROGRAM = """
import triptych as tt
from triptych import cute, pipeline
arch = cute.arch

@tt.kernel
def k(x: cute.Tensor, out: cute.Tensor):
    t, _, _ = arch.thread_idx()
    s = cute.make_tensor(arch.alloc_smem(tt.Float32, 64, 16), cute.make_layout(64))
    group = pipeline.CooperativeGroup(pipeline.Agent.Thread, 32)
    bars = arch.alloc_smem(tt.Int64, 4, 8)
    pipe = pipeline.PipelineAsync.create(
        num_stages=2, producer_group=group, consumer_group=group, barrier_storage=bars
    )
    put = pipeline.make_pipeline_state(pipeline.PipelineUserType.Producer, 2)
    take = pipeline.make_pipeline_state(pipeline.PipelineUserType.Consumer, 2)
    total = tt.Float32(0.0)
{body}
    out[t] = total

@tt.jit
def run(x: cute.Tensor, out: cute.Tensor):
    k(x, out).launch(grid={grid}, block={block})
"""
_BODY = """
if t < 32:
    for i in range(5):
        pipe.producer_acquire(put) {acquire}
        s[put.index * 32 + t] = x[t + i] {write}
        pipe.producer_commit(put) {commit}
        put.advance()
else:
    for i in range(5):
        pipe.consumer_wait(take) {wait}
        total = total + s[take.index * 32 + 63 - t] {read}
        pipe.consumer_release(take) {release}
        take.advance()
"""
_UNMARKED = dict.fromkeys(("acquire", "write", "commit", "wait", "read", "release"), "")


def _misused(name: str, code: str = "TT0622", **marks: str) -> Pair:
    return Pair(f"pipeline: {name}", _BODY.format(**_UNMARKED | marks), code=code, program=_PROGRAM)


PIPELINES = (
    _misused("filled without being acquired", acquire="#!", wait="#<"),
    _misused("committed twice", acquire="#<", commit="#~ pipe.producer_commit(put); pipe.producer_commit(put)"),
    _misused("never committed", acquire="#<", commit="#!"),
    _misused("released without a wait", acquire="#<", wait="#!"),
    _misused("waits for the phase of the producer", acquire="#<", wait="#~ pipe.consumer_wait(put)"),
    _misused("released twice", acquire="#<", release="#~ pipe.consumer_release(take); pipe.consumer_release(take)"),
    _misused("never released", acquire="#<", release="#!"),
    _misused(
        "read after its release",
        "TT0630",
        write="#>",
        read="#<",
        wait="#~ pipe.consumer_wait(take); pipe.consumer_release(take)",
        release="#!",
    ),
)

"""Faults written by hand: cluster launch control, who asks for clusters, and who reads the answers when."""

from __future__ import annotations

from tests.checkers.pairs import Pair

_PROGRAM = """
import triptych as tt
from triptych import cute, pipeline
from triptych.utils import ClcDynamicPersistentTileScheduler as Scheduler
from triptych.utils import ClcDynamicPersistentTileSchedulerParams as Params
arch = cute.arch

@tt.kernel
def k(x: cute.Tensor, out: cute.Tensor, params: tt.Constexpr, blocks: tt.Constexpr):
    t, _, _ = arch.thread_idx()
    warp, rank = (arch.make_warp_uniform(each) for each in (arch.warp_idx(), arch.block_idx_in_cluster()))
    storage = cute.SmemAllocator()
    response = storage.allocate_array(tt.Int32, 4, 16)
    one, readers = (pipeline.CooperativeGroup(pipeline.Agent.Thread, count) for count in (1, {readers}))
    answers = pipeline.PipelineClcFetchAsync.create(
        num_stages=1, producer_group=one, consumer_group=readers, tx_count=16, cta_layout_vmnk=blocks,
        barrier_storage=storage.allocate_array(tt.Int64, 2),
    )
    tiles = Scheduler.create(params, arch.block_idx(), arch.grid_dim(), response)
    work = tiles.initial_work_tile_info()
    reading = pipeline.make_pipeline_state(pipeline.PipelineUserType.Consumer, 1)
    asking = pipeline.make_pipeline_state(pipeline.PipelineUserType.Producer, 1)
    while work.is_valid_tile: {loop}
        if warp == 1 and rank == 0:
            answers.producer_acquire(asking) {acquire}
            tiles.advance_to_next_work(answers.producer_get_barrier(asking)) {ask}
            asking.advance()
        out[(work.tile_idx[0] & 7) * 64 + t] = x[t]
        answers.consumer_wait(reading) {wait}
        work = tiles.get_current_work() {read}
        {slow}
        answers.consumer_release(reading) {release}
        reading.advance()
    if warp == 1 and rank == 0:
        answers.producer_tail(asking) {tail}
{{body}}

@tt.jit
def run(x: cute.Tensor, out: cute.Tensor):
    params = Params((8, 1, 1), ({cluster}, 1, 1))
    blocks = cute.make_layout((1, {cluster}, 1, 1))
    k(x, out, params, blocks).launch(grid=Scheduler.get_grid_shape(params), block={{block}}, cluster=({cluster}, 1, 1))
"""
_MARKS = ("loop", "acquire", "ask", "wait", "read", "slow", "release", "tail")


def _answers(name: str, code: str, says: str = "", cluster: int = 1, **marks: str) -> Pair:
    given = {**dict.fromkeys(_MARKS, ""), "slow": "arch.sync_warp()", **marks}
    program = _PROGRAM.format(**given, cluster=cluster, readers=64 * cluster)
    return Pair(f"launch control: {name}", "pass", code=code, program=program, block=64, says=says)


_SLOW = "for i in range(8 * rank): arch.sync_threads()"
_EARLY = "#~ answers.consumer_wait(reading); answers.consumer_release(reading)"
LAUNCH_CONTROL = [
    _answers("an answer that is read before it has come", "TT0633", ask="#<", wait="#!", read="#>"),
    _answers("an answer that blocks read before it has come", "TT0633", cluster=2, ask="#<", wait="#!", read="#>"),
    _answers("a question after a refusal", "TT0627", loop="#~ for i in range(9):", ask="#<>", says="is_valid_tile"),
    _answers("an answer that is released before it is read", "TT0630", wait=_EARLY, ask="#>", read="#<", release="#!"),
    _answers("answers that nobody expects", "TT0622", acquire="#!", wait="#<"),
    _answers("answers that nobody releases", "TT0622", release="#!", wait="#<", says="`consumer_release` behind line"),
    _answers("a block ends before the others have read", "TT0627", cluster=2, slow=_SLOW, release="#<", tail="#!"),
]

"""Pipelines whose stages are not taken and given on once each: what is said of it, and at which finding.

What the pass `pipeline_memory` says of an access decides whether a finding is about a pipeline.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.checkers.pairs import Pair, is_found, judged
from tests.checkers.protocol_pairs import ALL, HARMLESS
from tests.checkers.store_order_pairs import COVERED, MORE_VIOLATIONS
from triptych import pipeline


def test_what_nothing_came_of_is_kept_for_hints(tmp_path: Path) -> None:
    pair, *_ = (each for each in ALL if each.name == "PipelineAsync: acquire twice")
    assert pair.name in HARMLESS
    verdict = judged(pair, tmp_path, wrong=True)
    assert not verdict.findings
    assert [each.text for each in verdict.violations] == [
        "one `producer_acquire` for each stage, not two: stage 0 of the PipelineAsync is acquired twice, at line 22"
    ]


@pytest.mark.parametrize("pair", MORE_VIOLATIONS[2::14], ids=lambda pair: pair.name)
def test_what_to_write_is_said(pair: Pair, tmp_path: Path) -> None:
    wrong = judged(pair, tmp_path, wrong=True)
    assert is_found(pair, wrong), "\n\n".join(wrong.texts)


OF_TENSOR_MEMORY = {
    *("PipelineTmaUmma", "PipelineUmmaAsync", "PipelineAsyncUmma", "PipelineTmaMultiConsumersAsync", "PipelineOp"),
    "PipelineClcFetchAsync",
}
"""Have pairs of their own: `tensor_memory_pairs` and `launch_control_pairs`."""


def test_every_name_has_a_pair() -> None:
    names = [pair.name for pair in (*ALL, *MORE_VIOLATIONS)]
    assert len(set(names)) == len(names)
    assert set(COVERED) == set(pipeline.__all__) - OF_TENSOR_MEMORY
    assert set(COVERED.values()) <= set(names)


_TWO = """
import triptych as tt
from triptych import cute, pipeline
arch = cute.arch

@tt.kernel
def k(x: cute.Tensor, out: cute.Tensor):
    t, _, _ = arch.thread_idx()
    s = cute.make_tensor(arch.alloc_smem(tt.Float32, 32, 16), cute.make_layout(32))
    other = cute.make_tensor(arch.alloc_smem(tt.Float32, 64, 16), cute.make_layout(64))
    group = pipeline.CooperativeGroup(pipeline.Agent.Thread, 32)
    once = pipeline.PipelineAsync.create(
        num_stages=1, producer_group=group, consumer_group=group, barrier_storage=arch.alloc_smem(tt.Int64, 2, 8)
    )
    put = pipeline.make_pipeline_state(pipeline.PipelineUserType.Producer, 1)
    take = pipeline.make_pipeline_state(pipeline.PipelineUserType.Consumer, 1)
{body}

@tt.jit
def run(x: cute.Tensor, out: cute.Tensor):
    k(x, out).launch(grid={grid}, block={block})
"""
_ONCE = """
if t < 32:
    once.producer_acquire(put)
    s[put.index * 32 + t] = x[t]
    once.producer_commit(put) #commit
else:
    once.consumer_wait(take) #wait
    out[t] = s[63 - t] #read
other[t] = x[t]
arch.sync_threads() #meet
out[t] = other[63 - t]
"""
_WAITS_TWICE = ("once.consumer_wait(take) #wait", "once.consumer_wait(take); once.consumer_wait(take)")
_NO_BARRIER = ("arch.sync_threads() #meet", "pass")
_BARRIER = "write: `cute.arch.sync_threads()` between"


def _said(tmp_path: Path, *changes: tuple[str, str]) -> str:
    body = _ONCE
    for old, new in changes:
        assert old in body
        body = body.replace(old, new)
    body = "\n".join(line.partition(" #")[0] for line in body.splitlines())
    return "\n".join(judged(Pair("two", body, program=_TWO), tmp_path, wrong=False).texts)


def test_what_may_be_meant_is_no_note_at_other_memory(tmp_path: Path) -> None:
    assert not _said(tmp_path)
    text = _said(tmp_path, _NO_BARRIER)
    assert _BARRIER in text
    assert "pipeline" not in text


def test_it_is_one_at_memory_of_the_pipeline(tmp_path: Path) -> None:
    text = _said(tmp_path, ("once.producer_commit(put) #commit", "once.producer_commit(put); s[put.index + t] = 0.0"))
    assert "TT0630" in text
    assert "about the pipelines of k, unless it is meant: `consumer_release` behind line 22: no stage" in text


def test_what_is_surely_wrong_stands_apart_at_other_memory(tmp_path: Path) -> None:
    text = _said(tmp_path, _NO_BARRIER, _WAITS_TWICE)
    assert _BARRIER in text
    assert "apart from this, about the pipelines of k: one `consumer_wait` for each stage, not two" in text


def test_who_waits_elsewhere_is_reported_so(tmp_path: Path) -> None:
    text = _said(
        tmp_path, ("arch.sync_threads() #meet", "arch.barrier(barrier_id=3, number_of_threads=96)"), _WAITS_TWICE
    )
    assert "TT0622" in text
    assert "write: the number of threads that do arrive" in text
    assert "apart from this, about another pipeline: one `consumer_wait` for each stage, not two" in text

"""`compile_many`: what comes of each job, on workers that die or are interrupted, and on executors of others."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import triptych as tt
from tests.integration.subprograms import ROOT
from triptych import cute
from triptych.cute.runtime import from_dlpack
from triptych.driver.cache_misses import NoStoreError
from triptych.driver.compile_many import CompileJobError
from triptych.driver.compile_workers import CompileWorkers
from triptych.interop.tensor_views import tensor_view
from triptych.ir.errors import WorkerDiedError
from triptych.support.config import override

SCALE = 3


@tt.jit(opt_level=0)
def scaled(n: tt.Int32, by: tt.Constexpr[int]) -> Any:
    return n * by * SCALE


@tt.jit(opt_level=0)
def missing(n: tt.Int32) -> Any:
    return n.nothing  # type: ignore[attr-defined]  # the mistake


@tt.jit(opt_level=0)
def unrepeatable(n: tt.Int32) -> Any:
    return n + tt.at_trace_time(os.getpid)


@pytest.fixture(autouse=True)
def store(tmp_path: Path) -> Iterator[None]:
    with override(cache=True, cache_dir=str(tmp_path / "store")):
        yield


def test_own_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every job has its own outcome, and nothing is left of the workers."""
    monkeypatch.syspath_prepend(str(ROOT))
    jobs = [
        partial(tt.compile, scaled, 1, 2),
        partial(tt.compile, missing, 1),
        partial(tt.compile, unrepeatable, 1),
        partial(tt.compile, lambda n: n, 1),
    ]
    seen: list[tuple[int, int]] = []
    done = tt.compile_many(jobs, workers=1, progress=lambda _, number, total: seen.append((number, total)))
    assert [each.outcome for each in done] == ["compiled", "failed", "traced", "failed"]
    assert "has no attribute 'nothing'" in str(done[1].error)
    assert f"{__file__}:" in str(done[1].error)
    assert done[0].result()(5) == 5 * 2 * SCALE
    with pytest.raises(AttributeError):
        done[1].result()
    assert seen == [(number, 4) for number in range(1, 5)]
    assert [each.outcome for each in tt.compile_many(jobs[:1])] == ["found"]
    assert workers_of(os.getpid()) == []


@tt.jit(opt_level=0)
def fill(x: cute.Tensor, value: tt.Float32) -> None:
    x[0] = value


def test_tensors_from_outside_are_described_to_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Their memory stays here; what is compiled is the same as for `compile` in this process."""
    monkeypatch.syspath_prepend(str(ROOT))
    x = np.zeros(4, np.float32)
    jobs = [
        partial(tt.compile, fill, from_dlpack(x), 1.0),
        partial(tt.compile, fill, from_dlpack(x, assumed_align=4).mark_layout_dynamic(), 1.0),
    ]
    assert pickle.loads(pickle.dumps(jobs[0].args[1].__argument_kind__)) is jobs[0].args[1].__argument_kind__
    done = tt.compile_many(jobs, workers=1)
    assert [each.outcome for each in done] == ["compiled"] * 2, [str(each.error) for each in done]
    done[1].result()(x, 5.0)
    assert x[0] == 5.0


def test_a_job_that_cannot_be_sent_names_its_argument() -> None:
    view = tensor_view(np.zeros(4, np.float32))
    here = partial(tt.compile, fill, view, 1.0)
    local = partial(tt.compile, lambda x: None, 1.0)
    sent, inside = tt.compile_many([here, local], workers=1)
    for done, what in ((sent, "argument 2"), (inside, "the function")):
        assert isinstance(done.error, CompileJobError)
        assert what in done.error.text()
        assert done.error.span is not None
        assert done.error.span.file == __file__


class Unsendable:
    """What pickling it raises is the program's own."""

    def __reduce__(self) -> Any:
        raise RuntimeError("boom while pickling")

    def __cache_key__(self) -> tuple[int]:
        return (1,)


def test_a_job_that_raises_while_it_is_sent_ends_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT))
    jobs = [partial(tt.compile, scaled, 1, Unsendable()), partial(tt.compile, scaled, 1, 7)]
    failed, compiled = tt.compile_many(jobs, workers=1)
    assert (failed.outcome, compiled.outcome) == ("failed", "compiled")
    assert isinstance(failed.error, CompileJobError)
    assert "boom while pickling" in failed.error.text()


@tt.jit(opt_level=0)
def waiting(n: tt.Int32, by: tt.Constexpr[int]) -> Any:
    tt.at_trace_time(BEGAN.set)
    tt.at_trace_time(GO_ON.wait, 60)
    return n * by


BEGAN, GO_ON = threading.Event(), threading.Event()


def test_jobs_of_an_executor_that_is_shut_down() -> None:
    """Its futures are cancelled, and nobody tells; nor does it take another job."""
    threads = ThreadPoolExecutor(1)

    def shut_down() -> None:
        BEGAN.wait(60)
        threads.shutdown(wait=False, cancel_futures=True)
        GO_ON.set()

    stopping = threading.Thread(target=shut_down)
    stopping.start()
    done = tt.compile_many([partial(tt.compile, waiting, 1, by) for by in range(4)], threads)
    stopping.join()
    assert [each.outcome for each in done] == ["traced", "failed", "failed", "failed"]
    assert all("cancelled" in str(each.error) for each in done[1:])
    (after,) = tt.compile_many([partial(tt.compile, scaled, 1, 9)], threads)
    assert "after shutdown" in str(after.error)


def test_a_worker_that_dies_takes_one_job_with_it() -> None:
    workers = CompileWorkers(1)
    try:
        died = workers.submit(os._exit, 7)
        lives = workers.submit(abs, -3)
        with pytest.raises(WorkerDiedError, match="exit status 7"):
            died.result(60)
        assert lives.result(60) == 3
        assert len(workers_of(os.getpid())) == 1
        busy = workers.submit(time.sleep, 600)
        while not busy.running():  # else it would be cancelled
            time.sleep(0.01)
    finally:
        workers.shutdown(cancel_futures=True)
    assert isinstance(busy.exception(), WorkerDiedError)
    assert workers_of(os.getpid()) == []


def workers_of(parent: int) -> list[str]:
    """The command lines of compiling processes that a process has started."""
    listed = subprocess.run(["ps", "-wweo", "ppid=,args="], capture_output=True, text=True, check=True).stdout
    rows = [line.split(None, 1) for line in listed.splitlines()]
    return [row[1] for row in rows if row[0] == str(parent) and "compile_workers" in row[1]]


def test_an_executor_of_threads() -> None:
    with ThreadPoolExecutor(2) as threads:
        done = tt.compile_many([partial(tt.compile, scaled, 1, by) for by in (5, 6)], threads)
        assert [each.outcome for each in done] == ["compiled", "compiled"]
        assert [each.result()(1) for each in done] == [15, 18]
        assert threads.submit(int).result() == 0


def test_an_executor_of_ray(tmp_path: Path) -> None:
    ray = pytest.importorskip("ray", reason="the package ray is not installed")
    adapter = pytest.importorskip("triptych.ray")
    paths = os.pathsep.join(filter(None, sys.path))
    ray.init(num_cpus=1, include_dashboard=False, runtime_env={"env_vars": {"PYTHONPATH": paths}}, log_to_driver=False)
    try:
        executor = adapter.RayExecutor()
        jobs = [partial(tt.compile, scaled, 1, 7), partial(tt.compile, missing, 1)]
        done = tt.compile_many(jobs, executor)
        assert [each.outcome for each in done] == ["compiled", "failed"]
        assert "has no attribute 'nothing'" in str(done[1].error)
        executor.shutdown()
    finally:
        ray.shutdown()


def test_what_is_no_job() -> None:
    with pytest.raises(CompileJobError, match=r"partial\(tt.compile, function, \*args\)"):
        tt.compile_many([scaled])  # type: ignore[list-item]  # the mistake
    with override(cache=False), pytest.raises(NoStoreError):
        tt.compile_many([partial(tt.compile, scaled, 1, 2)])
    (wrong,) = tt.compile_many([partial(tt.compile, scaled, 1, 2, 3)])
    assert wrong.outcome == "failed"


INTERRUPTED = """
import time
from functools import partial
import triptych as tt

@tt.jit
def slow(n: tt.Int32):
    tt.at_trace_time(time.sleep, 600)
    return n

if __name__ == "__main__":
    print("begins", flush=True)
    tt.compile_many([partial(tt.compile, slow, 1), partial(tt.compile, slow, 2.5)], workers=2)
"""


def test_ctrl_c_ends_the_workers(tmp_path: Path) -> None:
    (tmp_path / "slow.py").write_text(INTERRUPTED)
    paths = os.pathsep.join(filter(None, sys.path))
    program = subprocess.Popen(
        [sys.executable, str(tmp_path / "slow.py")],
        env={**os.environ, "PYTHONPATH": paths, "TRIPTYCH_CACHE": "1", "TRIPTYCH_CACHE_DIR": str(tmp_path / "store")},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        deadline = time.monotonic() + 60
        while len(workers_of(program.pid)) < 2 and time.monotonic() < deadline:
            time.sleep(0.1)
        os.killpg(program.pid, signal.SIGINT)
        _, said = program.communicate(timeout=30)
    finally:
        program.kill()
    assert said.rstrip().endswith("KeyboardInterrupt")
    assert workers_of(program.pid) == []

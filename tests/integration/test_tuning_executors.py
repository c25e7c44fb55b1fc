"""Configurations compiled by processes, threads and Ray: the same table, and a worker that dies is one of its rows."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import triptych as tt
from tests.integration.subprograms import ROOT
from triptych.support.config import override
from triptych.workbench.contracts.contract import Contract
from triptych.workbench.devices import device
from triptych.workbench.tuning.candidates import Preparation
from triptych.workbench.tuning.table import Table

CONFIGS: list[dict[str, Any]] = [
    {"by": 2, "unused": 0},
    {"by": 2, "unused": 1},
    {"by": 3, "unused": 0},
    {"by": "wrong", "unused": 0},
    {"by": 0, "unused": 0},
]
KILLED = {"by": 9, "unused": 0}


@tt.jit(opt_level=0)
def scaled(n: tt.Int32, by: tt.Constexpr[Any], unused: tt.Constexpr[int]) -> Any:
    if tt.const_expr(by == 9):
        tt.at_trace_time(os.kill, tt.at_trace_time(os.getpid), signal.SIGKILL)
    return n * by if tt.const_expr(by != "wrong") else n.nothing  # type: ignore[attr-defined]  # the mistake


@pytest.fixture(autouse=True)
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.syspath_prepend(str(ROOT))
    with override(cache=True, cache_dir=str(tmp_path / "store")):
        yield


def table_of(file: Path, executor: Executor | None, configs: list[dict[str, Any]]) -> list[tuple[str, str, Any]]:
    contract = Contract(
        file,
        scaled,
        scaled,
        list,
        configs=configs,
        config_problems=lambda config, device: ["nothing times 0"] if config["by"] == 0 else [],
        job=lambda config, *inputs: partial(tt.compile, scaled, *inputs, config["by"], config["unused"]),
    )
    table = Table(file, "key", configs)
    preparation = Preparation(contract, [1], device("cpu"), table, lambda text: None)
    preparation.executor = executor
    preparation.rules()
    preparation.compile(table.left())
    assert table.left() == []
    assert all(row.reason for row in table.rows.values())
    return [(row.state, row.reason, row.facts.get("digest")) for _, row in sorted(table.rows.items())]


def test_processes_and_threads_give_the_same_table(tmp_path: Path) -> None:
    by_processes = table_of(tmp_path / "processes.jsonl", None, [*CONFIGS, KILLED])
    with override(cache_dir=str(tmp_path / "another")), ThreadPoolExecutor(2) as threads:
        by_threads = table_of(tmp_path / "threads.jsonl", threads, CONFIGS)
    assert by_processes[:-1] == by_threads
    assert [state for state, _, _ in by_processes] == ["compiled", "equal", "compiled", "failed", "pruned", "failed"]
    assert by_processes[-1][1] == "WorkerDiedError: the process that compiled ended (signal SIGKILL)"
    assert "has no attribute 'nothing'" in by_processes[3][1]
    assert by_processes[1][1].startswith("the same code as #0")


def test_ray_gives_the_same_table(tmp_path: Path) -> None:
    ray = pytest.importorskip("ray", reason="the package ray is not installed")
    adapter = pytest.importorskip("triptych.ray")
    paths = os.pathsep.join(filter(None, sys.path))
    ray.init(num_cpus=1, include_dashboard=False, runtime_env={"env_vars": {"PYTHONPATH": paths}}, log_to_driver=False)
    try:
        executor = adapter.RayExecutor()
        by_ray = table_of(tmp_path / "ray.jsonl", executor, [*CONFIGS, KILLED])
        with override(cache_dir=str(tmp_path / "another")), ThreadPoolExecutor(2) as threads:
            by_threads = table_of(tmp_path / "threads.jsonl", threads, CONFIGS)
        assert by_ray[:-1] == by_threads
        assert by_ray[-1][0] == "failed"
        assert "WorkerCrashedError" in by_ray[-1][1]
        told = tmp_path / "pid"
        sleeping = executor.submit(_sleep, str(told))
        pid = int(_soon(lambda: told.read_text(encoding="utf-8") if told.exists() else ""))
        assert sleeping.cancel()
        assert _soon(lambda: "gone" if not Path(f"/proc/{pid}").exists() else ""), "cancelling reaches the worker"
        executor.shutdown()
    finally:
        ray.shutdown()


def _sleep(told: str) -> None:
    Path(told + ".new").write_text(str(os.getpid()), encoding="utf-8")
    os.replace(told + ".new", told)
    time.sleep(600)


def _soon(look: Any) -> str:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if found := look():
            return str(found)
        time.sleep(0.1)
    return ""

"""Worker of `triptych tune`, in the child process: a search compiles, measures, and verifies the winner.

Every step ends in the table's file, so the child may be killed at any time; the next one goes on.
"""

from __future__ import annotations

import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from triptych.artifact_store.leases import FILE_LOCKS
from triptych.cute.tuning.rows import Row, counts
from triptych.cute.tuning.search import search_named
from triptych.driver.compile_workers import CompileWorkers
from triptych.support.config import override
from triptych.support.forking import import_late
from triptych.support.processors import processors
from triptych.workbench.contracts.contract import Contract, parameters_of
from triptych.workbench.contracts.loading import load_contract
from triptych.workbench.devices import HOST, Device, device
from triptych.workbench.errors import PlanError
from triptych.workbench.kernel_files import kept_folder
from triptych.workbench.tuning.candidates import Doing, Measuring, Preparation
from triptych.workbench.tuning.table import Table
from triptych.workbench.tuning.tuned_calls import keep_choice

# What a search tells while it goes on: what it does, how many configurations are done or failed, and the best.

_EVERY = 0.25
"""Seconds between two looks at the whole table: samples are taken in between."""


class Telling:
    """Called with what is done now."""

    def __init__(self, say: Callable[..., None], table: Table, is_whole: bool) -> None:
        self._say, self._table = say, table
        self._is_whole = is_whole
        """Whether every configuration will be looked at: only then it is known how many are left."""
        self._looked = 0.0
        self._facts: dict[str, Any] = {}

    def __call__(self, text: str) -> None:
        now = time.monotonic()
        if now - self._looked >= _EVERY:
            self._looked, self._facts = now, self._look()
        self._say(text, **self._facts)

    def _look(self) -> dict[str, Any]:
        states: Counter[str] = Counter(row.state for row in self._table.rows.values())
        best = min((min(row.seconds) for row in self._table.rows.values() if row.seconds), default=None)
        parts = [f"{states[state]} {state}" for state in ("measured", "pruned", "equal", "failed") if states[state]]
        parts += [f"best {best * 1e3:.4g} ms"] if best is not None else []
        facts: dict[str, Any] = {"note": ", ".join(parts)}
        if self._is_whole:
            waiting = states["compiled"] if states["measured"] else 0
            facts |= {"done": len(self._table.rows) - waiting, "total": len(self._table.configs)}
        return facts


_PATIENCE = 0.2


def worker_main(request: dict[str, Any], doing: Doing) -> dict[str, Any]:
    """The table and the winner, as plain data."""
    file = Path(request["file"])
    doing(f"loading {file}")
    with override(target=request["target"]) if request["target"] else override():
        contract = _contract(file)
        with _alone(
            Path(request["journal"]).with_suffix(".lock"), doing
        ):  # a search that was killed may still be ending
            return _run(contract, request, doing)


def _ray_executor() -> Executor:
    """On the cluster that the environment names, else on one of this machine; tasks import what this process can."""
    try:
        ray: Any = import_late("ray")
    except ImportError as error:
        raise PlanError("Ray is not installed", found=str(error), instead='pip install "triptych[ray]"') from error
    paths = {"env_vars": {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}}
    ray.init(ignore_reinit_error=True, log_to_driver=False, runtime_env=paths)
    made: Executor = import_late("triptych.ray").RayExecutor()
    return made


def _contract(file: Path) -> Contract:
    contract = load_contract(file, file.stem)
    if not contract.configs:
        raise PlanError(
            f"{file.name} has nothing to choose from",
            expected='TUNE = {"tile": [32, 64]}, with kernel_fn(*inputs, tile), or a PLAN with _autotune_configs()',
        )
    return contract


def _run(contract: Contract, request: dict[str, Any], doing: Doing) -> dict[str, Any]:
    started = time.perf_counter()
    target: Device = device(request["target"] or HOST)
    inputs = contract.inputs(0, parameters_of(contract, request["case"]))
    table = Table(Path(request["journal"]), request["key"], contract.configs)
    doing = Telling(doing, table, request["search"] in ("exhaustive", "halving") or target.architecture != HOST)
    preparation = Preparation(contract, inputs, target, table, doing)
    preparation.rules()
    winner: int | None = None
    with _executor(request["executor"], request["workers"]) as preparation.executor:
        if target.architecture == HOST:
            with _alone(kept_folder() / f"device-{HOST}.lock", doing):
                winner = _searched(preparation, request, doing)
        else:
            preparation.compile(number for number in preparation.candidates() if number not in table.rows)
        if request["prove"]:
            preparation.compile(preparation.foreseen_without_proof())
    rows = [table.rows.get(number) or _unasked(number, contract, request) for number in range(len(table.configs))]
    choice = None
    if winner is not None:
        choice = keep_choice(contract, inputs, target, table.rows[winner])
    return {
        "target": request["target"] or HOST,
        "winner": winner,
        "config": dict(table.configs[winner]) if winner is not None else None,
        "seconds": table.rows[winner].best if winner is not None else None,
        "choice": choice,
        "took": time.perf_counter() - started,
        "counts": counts(rows),
        "rows": [{**asdict(row), "kind": row.kind} for row in rows],
    }


def _searched(preparation: Preparation, request: dict[str, Any], doing: Doing) -> int | None:
    """The winner; one that was found before the search was asked again is not looked for again."""
    table = preparation.table
    if table.winner is not None:
        return table.winner
    measuring = Measuring(preparation, request["seconds"], doing)
    configs = {number: table.configs[number] for number in preparation.candidates()}
    search = search_named(request["search"], configs, request["seed"], request["budget"])
    measuring.search(search)
    winner = measuring.final(search.finalists())
    if winner is not None:
        table.decide(winner)
    return winner


def _unasked(number: int, contract: Contract, request: dict[str, Any]) -> Row:
    config = contract.configs[number]
    if request["target"] not in ("", HOST):
        return Row(number, config, "skipped", "not compiled: the file has no compile_job, so nothing is known of it")
    return Row(number, config, "skipped", f"the search ({request['search']}) did not ask for it")


@contextmanager
def _alone(file: Path, doing: Doing) -> Iterator[None]:
    """One measurement at a time on a device, one search at a time on a table. Waiting is told: it is not endless."""
    if FILE_LOCKS is None:
        doing("searching without a lock: two searches at once would disturb each other")
        yield
        return
    with file.open("w") as lock:
        while True:
            try:
                FILE_LOCKS.flock(lock, FILE_LOCKS.LOCK_EX | FILE_LOCKS.LOCK_NB)
                break
            except BlockingIOError:
                doing("waiting for another search")
                time.sleep(_PATIENCE)
        yield


@contextmanager
def _executor(name: str, workers: int | None) -> Iterator[Executor]:
    """Processes of our own, threads, or a cluster of Ray: for the whole search, because a new process imports anew."""
    made: Executor = (
        _ray_executor()
        if name == "ray"
        else (CompileWorkers if name == "processes" else ThreadPoolExecutor)(workers or processors())
    )
    try:
        yield made
    finally:
        made.shutdown(cancel_futures=True)

"""Worker of `triptych bench`, in the child process: one file, two in turns, a file against a record, a record again."""

from __future__ import annotations

import math
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from triptych.support.tracebacks import in_one_line
from triptych.workbench.contracts.contract import Contract
from triptych.workbench.contracts.loading import clash, files_beside, load_contract
from triptych.workbench.errors import ContractError
from triptych.workbench.measurement.benching import BenchOptions, Case, bench, bench_apart, bench_pair, chosen_cases
from triptych.workbench.measurement.isolated_process import PROCESSES, IsolatedCandidate
from triptych.workbench.measurement.records import kernel_facts, new_record, read_record
from triptych.workbench.measurement.sampling import median_interval
from triptych.workbench.units import time_text
from triptych.workbench.verification.worker import tolerance_from

_LEAST = 0.01
"""Less than this is no movement, whatever the samples say."""
_NOISES = 2
_TOO_NOISY = 0.15
"""A figure that may be off by so much neither holds nor moves."""
Facts = Mapping[str, Any]


def moved(stored: Facts, samples: list[float], noise_now: float = 0.0) -> str:
    """How far a kernel is from its record, if by more than the noise of both; empty: it is where it was."""
    if "hot" not in stored:
        return ""
    change, noise = _change(stored, samples, noise_now)
    if abs(change) <= noise:
        return ""
    return f"the baseline itself moved by {100 * math.expm1(change):+.1f} %, more than its noise of {100 * noise:.1f} %"


def held(stored: Facts, found: Facts, before: Facts, now: Facts) -> dict[str, str]:
    """The verdict on a figure that was measured again (`holds`, `faster`, `slower`, `undecided`), and why."""
    change, noise = _change(stored, found["hot"]["samples"], found.get("noise") or 0.0)
    times = f"{time_text(stored['hot']['median'])} then, {time_text(found['hot']['median'])} now"
    size = f"{100 * math.expm1(change):+.1f} %, the noise of both is {100 * noise:.1f} %"
    if noise > _TOO_NOISY:
        return {"verdict": "undecided", "text": f"undecided: {times} ({size}), which hides everything"}
    if abs(change) <= noise:
        return {"verdict": "holds", "text": f"holds: {times} ({size})"}
    reasons = differences(before, now)
    if reasons:
        return {"verdict": "undecided", "text": f"undecided: {times} ({size}), but {'; '.join(reasons)}"}
    verdict = "faster" if change < 0 else "slower"
    return {"verdict": verdict, "text": f"{verdict}: {times} ({size}); the machine and the tools are the same"}


def decided_again(stored: Facts, found: Facts) -> dict[str, str]:
    """Whether two kernels compare as they did."""
    then, now = stored["comparison"], found["comparison"]
    if then["verdict"] == now["verdict"]:
        return {"verdict": "holds", "text": f"holds: {then['verdict']} then and now (then: {then['text']})"}
    return {"verdict": "undecided", "text": f"undecided: {then['verdict']} then ({then['text']}), {now['verdict']} now"}


def differences(before: Facts, now: Facts) -> list[str]:
    """Why figures of two records need not agree."""
    said = []
    for what in ("model", "cores", "affinity", "governor", "python"):
        old, new = before["machine"].get(what), now["machine"].get(what)
        if old != new:
            said.append(f"the {what} was {old}, is {new}")
    for name, old in before["versions"].items():
        new = now["versions"].get(name, "not there")
        if old != new and name != "python":
            said.append(f"{name} was {old}, is {new}")
    loads = [facts["machine"]["load"][0] for facts in (before, now) if facts["machine"]["load"]]
    if loads and max(loads) > now["machine"]["cores"]:
        text = " then, ".join(f"{load:.1f}" for load in loads)
        said.append(f"the machine was busy: load {text} now, on {now['machine']['cores']} cores")
    return said


def _change(stored: Facts, samples: list[float], noise_now: float) -> tuple[float, float]:
    """The logarithm of the ratio of medians, and how much of it is noise."""
    hot, now = stored["hot"], median_interval(np.array(samples))
    widths = [_half_width(hot["low"], hot["high"], hot["median"]), _half_width(now.low, now.high, now.estimate)]
    noise = _NOISES * max(stored.get("noise") or 0.0, noise_now, *widths, _LEAST)
    return math.log(now.estimate / hot["median"]), noise


def _half_width(low: float | None, high: float | None, median: float) -> float:
    if low is None or high is None or not math.isfinite(high - low):
        return 0.0
    return (high - low) / 2 / median


# Two kernel files that are measured in turns: in shared processes if they can be loaded together, else apart.

Doing = Callable[[str], None]


class Pair:
    """Both files, loaded."""

    def __init__(self, files: list[Path], doing: Doing, apart: bool = False) -> None:
        self._files, self._path, self._doing = files, list(sys.path), doing
        doing(f"loading {files[0]}")
        self.first = load_contract(files[0], "triptych_contract_0")
        self.why = "as it was asked for" if apart else clash(self.first, files[1])
        """Why each has a process of its own; empty if they share one."""
        doing(f"loading {files[1]}")
        self._second = None if self.why else self._shared(files[1])
        if self._second is None:
            with IsolatedCandidate(files[1], self._path) as side:
                side.wait()
                self.file, requires, beside = side.kernel, side.requires, side.beside
        else:
            self.file, requires, beside = self._second.file, self._second.requires, files_beside(self._second)
        self.requires = self.first.requires or requires
        self.beside = [files_beside(self.first), beside]

    def measure(self, name: str, case: Case, options: BenchOptions) -> dict[str, Any]:
        """One case."""
        if self._second is not None:
            return bench_pair(self._files, name, case, options, self._doing)
        return bench_apart(self._files, self._path, name, case, options, self._doing)

    def _shared(self, file: Path) -> Contract | None:
        try:
            return load_contract(file, "triptych_contract_1")
        except ContractError:
            raise
        except Exception as error:  # of the user's file: alone it may be loaded, and if not its process says why
            self.why = f"the second cannot be loaded beside the first: {in_one_line(error)}"
            return None


Record = dict[str, Any]


def worker_main(request: Record, doing: Doing) -> Record:
    """A record, as plain data."""
    options = BenchOptions(
        request["seconds"],
        request["seed"],
        request["cold"],
        tolerance_from(request),
        request["with_roofs"],
        request.get("processes", PROCESSES),
        request.get("graph", False),
    )
    if request.get("replay"):
        return _replay(request, options, doing)
    if request.get("against"):
        return _against(request, options, doing)
    files = [Path(file) for file in request["files"]]
    return _one(files[0], request, options, doing) if len(files) == 1 else _two(files, request, options, doing)


def _one(file: Path, request: Record, options: BenchOptions, doing: Doing) -> Record:
    contract = _loaded(file, doing)
    if _needs_another(contract.requires):
        return _skipped(contract.requires)
    cases = []
    for name, case in chosen_cases(contract, request["cases"], request.get("sweep")).items():
        doing(f"measuring {name}")
        cases.append(bench(contract, name, case, options))
    return new_record(contract.file, cases, _settings(options), request["command"], files_beside(contract))


def _two(files: list[Path], request: Record, options: BenchOptions, doing: Doing) -> Record:
    pair = Pair(files, doing, request.get("apart", False))
    if _needs_another(pair.requires):
        return _skipped(pair.requires)
    cases = []
    for name, case in chosen_cases(pair.first, request["cases"], request.get("sweep")).items():
        doing(f"measuring {name}")
        cases.append(pair.measure(name, case, options))
    return _record_of(pair, cases, _settings(options), request)


def _against(request: Record, options: BenchOptions, doing: Doing) -> Record:
    """The file against the source in a record, which is measured again beside it."""
    before = read_record(request["against"])
    with tempfile.TemporaryDirectory() as folder:
        files = [_stored(before, Path(folder)), Path(request["files"][0])]
        pair = Pair(files, doing, request.get("apart", False))
        cases = []
        for stored in before["cases"]:
            doing(f"measuring {stored['case']}")
            found = pair.measure(stored["case"], stored["parameters"], options)
            found["moved"] = moved(stored, found["comparison"]["first"])
            if found["moved"]:
                text = f"undecided: {found['moved']}; beside it: {found['comparison']['text']}"
                found["comparison"] |= {"verdict": "undecided", "text": text}
            cases.append(found)
        record = new_record(pair.file, cases, _settings(options), request["command"], pair.beside[1])
    against = {"digest": before["digest"], "made": before["made"], "file": before["file"]}
    return {**record, "apart": pair.why, "against": against}


def _replay(request: Record, options: BenchOptions, doing: Doing) -> Record:
    """A record done again: the same source, cases and seed, and whether its figures hold."""
    before = read_record(request["replay"])
    options = replace(options, seconds=before["settings"]["seconds"], seed=before["settings"]["seed"])
    with tempfile.TemporaryDirectory() as folder:
        if "second" in before:
            record = _replayed_pair(before, request, options, doing, Path(folder))
        else:
            contract = _loaded(_stored(before, Path(folder)), doing)
            cases = []
            for stored in before["cases"]:
                if "hot" in stored:
                    doing(f"measuring {stored['case']}")
                    cases.append(bench(contract, stored["case"], stored["parameters"], options))
            record = new_record(contract.file, cases, before["settings"], request["command"], files_beside(contract))
    for stored, found in zip(before["cases"], record["cases"], strict=False):
        again = held(stored, found, before, record) if "hot" in stored else decided_again(stored, found)
        found["again"] = again
    return {**record, "file": before["file"], "replay_of": before["made"], "before": before["machine"]}


def _replayed_pair(before: Record, request: Record, options: BenchOptions, doing: Doing, folder: Path) -> Record:
    files = [_stored(before, folder / "first"), _stored(before["second"], folder / "second")]
    pair = Pair(files, doing, bool(before.get("apart")))
    cases = []
    for stored in before["cases"]:
        doing(f"measuring {stored['case']}")
        cases.append(pair.measure(stored["case"], stored["parameters"], options))
    return _record_of(pair, cases, before["settings"], request)


def _record_of(pair: Pair, cases: list[Record], settings: Record, request: Record) -> Record:
    record = new_record(pair.first.file, cases, settings, request["command"], pair.beside[0])
    return {**record, "apart": pair.why, "second": kernel_facts(pair.file, pair.beside[1])}


def _loaded(file: Path, doing: Doing) -> Contract:
    doing(f"loading {file}")
    return load_contract(file, "triptych_contract_0")


def _needs_another(requires: str) -> bool:
    return (requires or "cpu") != "cpu"


def _skipped(requires: str) -> Record:
    return {"skipped": f"needs {requires}, and this machine has cpu"}


def _settings(options: BenchOptions) -> Record:
    return {"seconds": options.seconds, "seed": options.seed, "clock": "host"}


def _stored(before: Record, folder: Path) -> Path:
    """The kernel file of a record with what stood beside it, written again."""
    folder.mkdir(exist_ok=True)
    file = folder / Path(before["file"]).name
    for name, text in {**before.get("beside", {}), file.name: before["source"]}.items():
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
    if "beside" not in before:  # an older record: what it imports is still where it was, if at all
        sys.path.append(str(Path(before["file"]).parent))
    return file

"""`triptych bench` inside the child process: one file, two files in turns, a file against a record, a record again."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from triptych.workbench.contracts.contract import Contract
from triptych.workbench.contracts.loading import load_contract
from triptych.workbench.measurement.benching import BenchOptions, bench, bench_pair, chosen_cases
from triptych.workbench.measurement.records import new_record, read_record
from triptych.workbench.verification.serving import tolerance_from

Doing = Callable[[str], None]


def serve(request: dict[str, Any], doing: Doing) -> dict[str, Any]:
    """A record, as plain data."""
    options = BenchOptions(
        request["seconds"], request["seed"], request["cold"], tolerance_from(request), request["with_roofs"]
    )
    if request.get("replay"):
        return _replay(request, options, doing)
    if request.get("against"):
        return _against(request, options, doing)
    files = [Path(file) for file in request["files"]]
    contracts = [_loaded(file, i, doing) for i, file in enumerate(files)]
    if (contracts[0].requires or "cpu") != "cpu":
        return {"skipped": f"needs {contracts[0].requires}, and this machine has cpu"}
    cases = []
    for name, case in chosen_cases(contracts[0], request["cases"], request.get("sweep")).items():
        doing(f"measuring {name}")
        cases.append(
            bench(contracts[0], name, case, options)
            if len(contracts) == 1
            else bench_pair(contracts[0], contracts[1], name, case, options)
        )
    record = new_record(contracts[0].file, cases, _settings(options), request["command"])
    if len(contracts) == 2:
        record["second"] = {
            key: value
            for key, value in new_record(contracts[1].file, [], {}, []).items()
            if key in ("file", "source", "digest", "commit", "dirty")
        }
    return record


def _loaded(file: Path, number: int, doing: Doing) -> Contract:
    doing(f"loading {file}")
    return load_contract(file, f"triptych_contract_{number}")


def _settings(options: BenchOptions) -> dict[str, Any]:
    return {"seconds": options.seconds, "seed": options.seed, "clock": "host"}


def _against(request: dict[str, Any], options: BenchOptions, doing: Doing) -> dict[str, Any]:
    """The file against the source in a record, which is measured again beside it."""
    before = read_record(request["against"])
    contract = _loaded(Path(request["files"][0]), 0, doing)
    with tempfile.TemporaryDirectory() as folder:
        baseline = _stored(before, Path(folder), doing)
        cases = []
        for stored in before["cases"]:
            doing(f"measuring {stored['case']}")
            found = bench_pair(baseline, contract, stored["case"], stored["parameters"], options)
            found["moved"] = moved(stored, found["comparison"]["first"])
            if found["moved"]:
                found["comparison"]["verdict"] = "undecided"
            cases.append(found)
    record = new_record(contract.file, cases, _settings(options), request["command"])
    record["against"] = {"digest": before["digest"], "made": before["made"], "file": before["file"]}
    return record


def _replay(request: dict[str, Any], options: BenchOptions, doing: Doing) -> dict[str, Any]:
    """A record done again: the same source, cases and seed, and whether its figures hold."""
    before = read_record(request["replay"])
    again = BenchOptions(before["settings"]["seconds"], before["settings"]["seed"], options.cold, options.tolerance)
    with tempfile.TemporaryDirectory() as folder:
        contract = _stored(before, Path(folder), doing)
        cases = []
        for stored in before["cases"]:
            if "hot" not in stored:
                continue
            doing(f"measuring {stored['case']}")
            found = bench(contract, stored["case"], stored["parameters"], again)
            found["moved"] = moved(stored, found["hot"]["samples"])
            cases.append(found)
        record = new_record(contract.file, cases, before["settings"], request["command"])
    return {**record, "file": before["file"], "replay_of": before["made"], "before": before["machine"]}


def moved(stored: Mapping[str, Any], samples: list[float]) -> str:
    """How far a baseline is from its record, if by more than the noise of both; empty: it is where it was."""
    if "hot" not in stored:
        return ""
    hot, ordered = stored["hot"], sorted(samples)
    now = ordered[len(ordered) // 2]
    change = math.log(now / hot["median"])
    noise = 2 * max(stored.get("noise") or 0.0, _half_width(hot), 0.01)
    if abs(change) <= noise:
        return ""
    return f"the baseline itself moved by {100 * math.expm1(change):+.1f} %, more than its noise of {100 * noise:.1f} %"


def _half_width(hot: Mapping[str, Any]) -> float:
    width = (hot["high"] - hot["low"]) / 2 / hot["median"]
    return float(width) if math.isfinite(width) else 0.0


def _stored(before: dict[str, Any], folder: Path, doing: Doing) -> Contract:
    """The contract in a record; what stands beside its file is still found there."""
    file = folder / Path(before["file"]).name
    file.write_text(before["source"], encoding="utf-8")
    return _loaded(file, 1, doing)

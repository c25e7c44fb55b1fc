"""How good and how quick `triptych tune` is, and whether it survives being killed. Minutes, on a machine that is quiet.

    python -m benchmarks.tuning quarter              the search against the exhaustive one, both with empty stores
    python -m benchmarks.tuning kills --times 10     killed with SIGKILL and started again, until it is done

The kernel is `tuned_gemm.py`: 432 configurations, of which rules leave 212. `tuning_tables.py` simulates searches.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from triptych.workbench.contracts.loading import load_contract
from triptych.workbench.measurement.candidate import Hot
from triptych.workbench.measurement.clocks import HostClock
from triptych.workbench.measurement.sampling import in_turns, warm_up

_LOOK = 0.01
_COMPARING = 2.0
"""Seconds."""
_FILE = Path(__file__).with_name("tuned_gemm.py")


def quarter(_: argparse.Namespace) -> None:
    """Time and choice of both."""
    found = {}
    for search in ("exhaustive", "auto"):
        with tempfile.TemporaryDirectory() as store:
            started = time.perf_counter()
            asked = _command("--search", search, "--json")
            done = subprocess.run(asked, env=_environment(store), stdout=subprocess.PIPE, check=True)
            found[search] = json.loads(done.stdout), time.perf_counter() - started
    (whole, long), (chosen, short) = found["exhaustive"], found["auto"]
    print(f"exhaustive: {long:.1f} s, {_chosen(whole)}")
    print(f"auto: {short:.1f} s ({short / long:.2f} of it), {_chosen(chosen)}")
    print(f"its choice in turns with the exhaustive one's: {_in_turns(whole['config'], chosen['config'])}")
    print(f"load {os.getloadavg()[0]:.1f}")


def _chosen(found: dict[str, Any]) -> str:
    return f"#{found['winner']} {found['config']}, {1e3 * _median(found['rows'][found['winner']]):.4g} ms"


def _in_turns(first: dict[str, Any], second: dict[str, Any]) -> str:
    """Both ran minutes apart, when the machine was another: what was measured then is no comparison."""
    contract = load_contract(_FILE, _FILE.stem)
    configured, inputs = contract.configured, contract.inputs(0, {})
    assert configured is not None
    sides = tuple(Hot(contract, configured(config), inputs) for config in (first, second))
    for side in sides:
        warm_up(side)
    return in_turns(sides[0], sides[1], HostClock(), _COMPARING).text()


def kills(arguments: argparse.Namespace) -> None:
    """No configuration twice, none missing, each with a reason."""
    draw = random.Random(arguments.seed)
    with tempfile.TemporaryDirectory() as store:
        asked = _command("--json", "--search", arguments.search, file=arguments.file)
        for number in range(arguments.times):
            program = subprocess.Popen(asked, env=_environment(store), stdout=subprocess.DEVNULL)
            enough = len(_lines(store)) + draw.randint(*arguments.between)
            while len(_lines(store)) < enough and program.poll() is None:
                time.sleep(_LOOK)
            program.send_signal(signal.SIGKILL)  # its children find out by themselves, while the next one starts
            program.wait()
            print(f"killed {number + 1}: {_written(store)}", flush=True)
        done = subprocess.run(asked, env=_environment(store), stdout=subprocess.PIPE, check=True)
        found, lines = json.loads(done.stdout), _lines(store)
    compiled = Counter(line["row"]["number"] for line in lines if line.get("row", {}).get("state") == "compiled")
    wanted = {row["number"]: len(row["seconds"]) for row in found["rows"] if row["seconds"]}
    sampled = Counter(line["samples"][0] for line in lines if "samples" in line)
    print(f"{len(found['rows'])} configurations: {found['counts']}")
    print(f"compiled twice: {sum(count > 1 for count in compiled.values())} of {len(compiled)}")
    odd = [n for n, count in wanted.items() if sampled[n] != count or (count > 4 and count & (count - 1))]
    print(f"other samples than the search asked for: {len(odd)} of {len(wanted)} measured")
    print(f"missing: {len(found['rows']) - len({row['number'] for row in found['rows']})}", end=", ")
    print(f"without a reason: {sum(not row['reason'] for row in found['rows'])}", end=", ")
    print(f"best #{found['winner']} {found['config']}")


def _command(*options: str, file: Path = _FILE) -> list[str]:
    return [sys.executable, "-m", "triptych", "tune", str(file), *options]


def _environment(store: str) -> dict[str, str]:
    return {**os.environ, "TRIPTYCH_CACHE": "1", "TRIPTYCH_CACHE_DIR": store}


def _lines(store: str) -> list[dict[str, Any]]:
    files = list(Path(store).glob("workbench/tuned/*.jsonl"))
    texts = files[0].read_text(encoding="utf-8").splitlines() if files else []
    return [json.loads(text) for text in texts if text.startswith("{") and text.endswith("}")]


def _written(store: str) -> str:
    lines = _lines(store)
    states = Counter(line["row"]["state"] for line in lines if "row" in line)
    return f"{dict(states)}, {sum('samples' in line for line in lines)} samples"


def _median(row: dict[str, Any]) -> float:
    return float(np.median(row["seconds"]))


def main() -> None:
    parser = argparse.ArgumentParser()
    what = parser.add_subparsers(required=True)
    what.add_parser("quarter").set_defaults(run=quarter)
    killing = what.add_parser("kills")
    killing.add_argument("--times", type=int, default=10)
    killing.add_argument("--between", type=int, nargs=2, default=(5, 60), metavar="N", help="lines until a kill")
    killing.add_argument("--file", type=Path, default=_FILE)
    killing.add_argument("--search", default="auto")
    killing.add_argument("--seed", type=int, default=0)
    killing.set_defaults(run=kills)
    chosen = parser.parse_args()
    chosen.run(chosen)


if __name__ == "__main__":
    main()

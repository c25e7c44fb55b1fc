"""Calls with effects under a run-time branch and loop, and what becomes of each."""

from __future__ import annotations

import argparse
import importlib.util
import json
import tempfile
from collections import Counter
from dataclasses import asdict
from pathlib import Path

from tests.support.side_effect_calls import CALLS, TORCH_CALLS
from tests.support.side_effects import Outcome, judge


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="print every outcome as JSON")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        outcomes = list(judge(Path(folder), CALLS))
        if importlib.util.find_spec("torch") is not None:
            outcomes += judge(Path(folder), TORCH_CALLS, "import torch\n\n\n")
    if arguments.json:
        print(json.dumps([asdict(outcome) for outcome in outcomes]))
        return
    for outcome in outcomes:
        print(f"{outcome.verdict:8} {outcome.construct:6} {outcome.call:70} {outcome.detail}")
    print(_summary(outcomes))


def _summary(outcomes: list[Outcome]) -> str:
    counts = Counter(outcome.verdict for outcome in outcomes)
    calls = len({outcome.call for outcome in outcomes})
    return f"{calls} calls, {len(outcomes)} programs: " + ", ".join(f"{n} {verdict}" for verdict, n in counts.items())


if __name__ == "__main__":
    main()

"""Programs as new users write them, each in a process of its own: is every mistake found, and are the words of help?

    python -m benchmarks.mistakes corpus.json                  every script, then the figures
    python -m benchmarks.mistakes corpus.json --only launch    scripts whose names have this text
    python -m benchmarks.mistakes corpus.json --show silent    with the output of the scripts that are judged so
    python -m benchmarks.mistakes corpus.json --json           every script with its judgement, as JSON

A corpus is a list of scripts with `name`, `source`, `wanted` (what Python would print, `or error` where a refusal is as
good) and `seen` (what happened once; `outcome` "works" marks the legitimate ones, whose output is compared).
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.rows import Row, table

SOURCE = Path(__file__).parents[1] / "src"
RESULT = re.compile(r"^RESULT ?(.*)", re.MULTILINE | re.DOTALL)
OURS = re.compile(r"^(?:\w+\.)*\w+: \[TT\d{4}\] ", re.MULTILINE)
FRAME = re.compile(r'^ *File "(.*)", line \d+', re.MULTILINE)
ADVICE = re.compile(r"^ *= write: |[Dd]id you mean", re.MULTILINE)
INTERNAL = ("KeyError", "AssertionError", "RecursionError", "SystemError", "MLIRError", "UnboundLocalError")
"""What Python raises of a program that is itself wrong: from a program of the corpus it means ours."""

UNDEFINED = {
    "29_oob_release": "an out-of-bounds access",
    "29c_oob_small": "an out-of-bounds access",
    "A37_smem_oob": "an out-of-bounds access",
    "58_race_missing_barrier": "a data race",
    "A25_two_outputs_alias": "a data race",
    "A26_global_counter_no_atomic": "a data race",
    "81_shuffle_in_branch": "a shuffle from lanes that are not there",
    "59_uninit_smem": "shared memory that is read before it is written",
    "A36_shared_between_blocks": "shared memory that is read before it is written",
}
"""Scripts whose meaning is undefined, as the guide of kernels says: a release build does not look for it."""

UNREPEATABLE = ("71_random_at_trace",)
"""Legitimate scripts whose output is another one every time."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """What one script did. `verdict` is right, detected, warned, undefined, silent, internal, crash or hang."""

    name: str
    mistake: bool
    verdict: str
    coded: bool
    place: bool
    """Whether the error names line and column of the script."""
    advice: bool
    """Whether it says what to write."""
    framework: bool
    """Whether a frame of the framework is in the traceback."""
    output: str
    error: str


def judge(script: dict[str, Any], folder: Path, timeout: float) -> Judgement:
    """Run one script and say what its output means."""
    file = folder / f"{script['name']}.py"
    file.write_text(script["source"], encoding="utf-8")
    mistake = script["seen"]["outcome"] != "works"
    place = folder / script["name"]
    (place / "mistakes").mkdir(parents=True)  # some scripts make folders in it
    environment = {name: value for name, value in os.environ.items() if not name.startswith("TRIPTYCH_")}
    environment |= {"PYTHONPATH": str(SOURCE), "NO_COLOR": "1"}
    try:
        finished = subprocess.run(
            [sys.executable, str(file)], cwd=place, env=environment, capture_output=True, text=True, timeout=timeout
        )
    except subprocess.TimeoutExpired as late:
        shown = late.stderr.decode(errors="replace") if isinstance(late.stderr, bytes) else ""
        # Python hangs on it too, or it says that it takes long: then only the patience of this runner has ended.
        return Judgement(
            script["name"], mistake, "warned" if "Warning" in shown else "hang", False, False, False, False, "", shown
        )
    output, error = finished.stdout, finished.stderr
    return Judgement(
        name=script["name"],
        mistake=mistake,
        verdict=_verdict(script, finished.returncode, output, error),
        coded=OURS.search(error) is not None,
        place=_has_place(error, file),
        advice=ADVICE.search(error) is not None,
        framework=any(str(SOURCE) in frame for frame in FRAME.findall(error)),
        output=output,
        error=error,
    )


def _verdict(script: dict[str, Any], code: int, output: str, error: str) -> str:
    works = script["seen"]["outcome"] == "works"
    if code == 0:
        expected = [_result(script["seen"]["out"])] if works else _values(script)
        if _result(output) in expected or script["name"] in UNREPEATABLE:
            return "right"
        if re.search(r"Warning: ", error):
            return "warned"
        return "undefined" if script["name"] in UNDEFINED else "silent"
    if code < 0:
        return "undefined" if script["name"] in UNDEFINED and "TRIPTYCH_DEBUG" in error else "crash"
    last = _last_error(error)
    if last is None:
        return "silent"  # it ended by itself, and nothing says why
    internal = last.rpartition(".")[2] in INTERNAL and OURS.search(error) is None
    return "internal" if internal else "detected"


def _last_error(error: str) -> str | None:
    """The class of the exception that ended the script."""
    found: list[str] = re.findall(r"^((?:\w+\.)*\w+(?:Error|Exception|Interrupt|Exit))\b", error, re.MULTILINE)
    return found[-1] if found else None


def _result(output: str) -> str:
    found = RESULT.search(output)
    text = re.sub(r"(\d)\.(?!\d)", r"\1", found[1] if found else output)  # NumPy writes 2.0 as `2.`
    return "".join(text.split())


def _values(script: dict[str, Any]) -> list[str]:
    """The values that the script may print, as far as `wanted` names them."""
    return ["".join(value.split()) for value in script["wanted"].split(" or ") if value != "error"]


def _has_place(error: str, file: Path) -> bool:
    """Our own arrow, or the carets that Python puts under its innermost frame when that is the script's."""
    if re.search(rf"^ *--> {re.escape(str(file))}:\d+:\d+", error, re.MULTILINE):
        return True
    frames = list(FRAME.finditer(error))
    innermost = error[frames[-1].start() :] if frames else ""
    return str(file) in innermost and re.search(r"^ +[~^]+$", innermost, re.MULTILINE) is not None


def judge_all(scripts: Sequence[dict[str, Any]], jobs: int, timeout: float) -> Iterator[Judgement]:
    """Every script, in order."""
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(jobs) as pool:
        yield from pool.map(lambda script: judge(script, Path(folder), timeout), scripts)


def figures(judgements: Iterable[Judgement]) -> list[Row]:
    """The numbers that are promised; a share is shown as what is missing from it."""
    every = list(judgements)
    mistakes = [one for one in every if one.mistake]
    verdicts = Counter(one.verdict for one in mistakes)
    told = [one for one in mistakes if one.verdict in ("detected", "internal")]
    wrong = [one for one in every if not one.mistake and one.verdict != "right"]
    rows = [Row(f"mistakes: {verdict}", count, "scripts") for verdict, count in sorted(verdicts.items())]
    rows += [Row(f"mistakes: {bad}", verdicts[bad], "scripts", 0) for bad in ("silent", "internal", "crash", "hang")]
    rows += [
        Row("errors without line and column", _share(told, "place"), "%", 5),
        Row("errors without what to write", _share(told, "advice"), "%", 15),
        Row("errors without a code", _share(told, "coded"), "%"),
        Row("scripts that show frames of the framework", sum(one.framework for one in every), "scripts", 0),
        Row("legitimate scripts that are not right", len(wrong), "scripts", 0),
    ]
    return rows


def _share(told: Sequence[Judgement], what: str) -> float:
    return 100 * sum(not getattr(one, what) for one in told) / max(1, len(told))


def _is_fine(one: Judgement) -> bool:
    told = one.verdict != "detected" or (one.place and one.advice)
    return one.verdict in ("right", "detected", "undefined", "warned") and told and not one.framework


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--only", default="", help="scripts whose names match this expression")
    parser.add_argument("--show", default="", help="print what scripts with this verdict wrote; 'poor': any that lack")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--timeout", type=float, default=60.0, help="seconds for one script")
    parser.add_argument("--json", action="store_true", help="print every judgement as JSON")
    chosen = parser.parse_args()
    scripts = [one for one in json.loads(chosen.corpus.read_text()) if re.search(chosen.only, one["name"])]
    judgements: list[Judgement] = []
    for number, one in enumerate(judge_all(scripts, chosen.jobs, chosen.timeout), start=1):
        judgements.append(one)
        lacks = [what for what in ("coded", "place", "advice") if one.verdict == "detected" and not getattr(one, what)]
        lacks = [f"not {what}" for what in lacks] + (["shows the framework"] if one.framework else [])
        line = f"{number:4}/{len(scripts)}  {one.verdict:10} {one.name:44} {', '.join(lacks)}"
        print(line, file=sys.stderr, flush=True)
        if one.verdict == chosen.show or (chosen.show == "poor" and not _is_fine(one)):
            print(scripts[number - 1]["source"], one.output, one.error, sep="\n---\n", file=sys.stderr)
    rows = figures(judgements)
    print(json.dumps([asdict(one) for one in judgements], indent=2) if chosen.json else table(rows))
    return int(any(row.verdict == "over" for row in rows))


if __name__ == "__main__":
    sys.exit(main())

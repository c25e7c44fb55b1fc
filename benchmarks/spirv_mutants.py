"""Not speed: does the OpenCL judge notice when a lowering rule that the CPU and NVIDIA targets share is wrong?

    python -m benchmarks.spirv_mutants [--count 20] [--seed 1] [--only mma] [--map lines.json] [--json]

First every case of the kernel suite and every plain example that is right on OpenCL runs on the CPU, and coverage says
which lines of the rules it needs. Then changes are drawn from those lines that do not run at import. With each, the
cases that need the changed line run on the CPU, up to `MOST` of them, and on OpenCL when their code is another than
before. It is seen when one no longer computes what its reference does on OpenCL, or does there and not on the CPU. A
change after which the first `CASES` have the same code is no change of a rule, and one with which a case does not
compile needs no judge: another is drawn. `--map` keeps what the first step found, which takes minutes.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from functools import cache
from hashlib import sha256
from itertools import islice
from pathlib import Path

from benchmarks.mutants import PACKAGE, ROOT, Mutant, changed_tree, mutants
from benchmarks.spirv_judge import MATRICES, items, stored

RULES = (
    *("kernel_ir/dialects/matrix_copies.py", "kernel_ir/dialects/mma.py", "kernel_ir/transforms/wide_conversions.py"),
    "kernel_ir/transforms/narrow_floats/*",
    *("metastage/values/arithmetic.py", "metastage/values/conversion.py"),
)
"""What both targets lower by: what matrix instructions hold in which thread, conversions, and what Python's operators
mean. Where checks stand is not among them: it changes code and no number."""
CASES = 4
MOST = 12
"""So many cases are asked, and this many when the code of one has changed."""
SECONDS = 200
TOO_SLOW = "does not end"
"""Nothing is known of a case that the runtime is too slow for."""
WRONG = "AssertionError"
"""What a case ends with whose numbers are not those of its reference."""

Lines = dict[str, dict[str, list[int]]]
"""The lines of each file that a case needs."""


NOTHING = "import"
"""A case by which lines are known that run for all: when modules are imported, and tables made."""


def child(target: str, case: str) -> list[str]:
    """The arguments of Python that run one case, whose part and name a space separates."""
    own = ["--help"] if case == NOTHING else ["--target", target, "--child", *case.split(" ", 1)]
    return ["-m", "benchmarks.spirv_judge", *own]


def needed(case: str) -> dict[str, list[int]]:
    """The lines of the rules that one case runs on the CPU; none when OpenCL refuses it."""
    judge = subprocess.run([sys.executable, *child("spirv", case)], cwd=ROOT, capture_output=True, timeout=SECONDS)
    if judge.returncode:
        return {}
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        data = f"--data-file={folder}/data"
        rules = ",".join(f"*/{rule}" for rule in RULES)
        own = f"--rcfile={os.devnull}"
        recorded = (sys.executable, "-m", "coverage", "run", own, data, f"--include={rules}", *child("cpu", case))
        subprocess.run(recorded, cwd=ROOT, capture_output=True, check=True, timeout=SECONDS)
        told = (sys.executable, "-m", "coverage", "json", own, data, "-o", str(report))
        subprocess.run(told, cwd=ROOT, capture_output=True, check=True)
        files = json.loads(report.read_text())["files"]
    return {
        Path(file).resolve().relative_to(PACKAGE).as_posix(): facts["executed_lines"] for file, facts in files.items()
    }


def run(target: str, case: str, environment: dict[str, str]) -> tuple[str, frozenset[str]]:
    """What one case ends with, nothing when it is right, and the digests of its code."""
    with tempfile.TemporaryDirectory() as store:
        own = {**environment, "TRIPTYCH_CACHE": "1", "TRIPTYCH_CACHE_DIR": store}
        try:
            ended = subprocess.run(
                [sys.executable, *child(target, case)], cwd=ROOT, env=own, capture_output=True, timeout=SECONDS
            )
        except subprocess.TimeoutExpired:
            return TOO_SLOW, frozenset()
        code = {sha256(part).hexdigest() for entry in stored(store) for part in entry.artifacts.values()}
    said = [line for line in ended.stderr.decode().splitlines() if re.match(r"[ |]*[\w.]*Error\b", line)]
    words = said[-1].lstrip(" |") if said else f"status {ended.returncode}"
    return words[:100] if ended.returncode else "", frozenset(code)


@cache
def unchanged(case: str) -> frozenset[str]:
    return run("cpu", case, dict(os.environ))[1]


def seen_by(mutant: Mutant, cases: list[str]) -> str | None:
    """The first case that shows the change, and how; nothing if all are right.

    None if their code is the same, or if one ends with an error: that needs no judge.
    """
    is_rule = False
    with changed_tree(mutant) as environment:
        for number, case in enumerate(cases):
            if number >= (MOST if is_rule else CASES):
                break
            ours, code = run("cpu", case, environment)
            if ours and not ours.startswith(WRONG):
                return None
            if not ours and code == unchanged(case):
                continue
            is_rule = True
            theirs, _ = run("spirv", case, environment)
            if theirs == TOO_SLOW:
                continue
            if theirs:
                return f"{case} on OpenCL: {theirs}"
            if ours:
                return f"{case} is right on OpenCL and not on the CPU: {ours}"
    return "" if is_rule else None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="files whose path has this text")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--map", type=Path, help="file that keeps the lines which each case needs")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    draw = random.Random(options.seed)
    with ThreadPoolExecutor(options.jobs) as pool:
        if options.map and options.map.exists():
            lines: Lines = json.loads(options.map.read_text())
        else:
            named = [(part, name) for part in ("suite", "examples") for name in items(part, 0) if name not in MATRICES]
            every = [NOTHING, *(" ".join(each) for each in named)]
            lines = dict(zip(every, pool.map(needed, every), strict=True))
            if options.map:
                options.map.write_text(json.dumps(lines))
        possible: list[tuple[Mutant, list[str]]] = []
        for file in sorted({file for files in lines.values() for file in files if options.only in file}):
            needing: dict[int, list[str]] = {}
            for case, files in lines.items():
                for line in files.get(file, ()):
                    needing.setdefault(line, []).append(case)
            found = ((mutant, needing.get(mutant.line, [])) for mutant in mutants(PACKAGE / file))
            possible += [(mutant, cases) for mutant, cases in found if cases and NOTHING not in cases]
        draw.shuffle(possible)
        judged = ((mutant, draw.sample(cases, len(cases))) for mutant, cases in possible)
        verdicts: list[dict[str, object]] = []
        none = 0
        while len(verdicts) < options.count and (batch := list(islice(judged, options.jobs))):
            for (mutant, _), by in zip(batch, pool.map(lambda each: seen_by(*each), batch), strict=True):
                if by is None:
                    none += 1
                    continue
                verdicts.append({**asdict(mutant), "seen": by})
                change = f"{mutant.file}:{mutant.line}  {mutant.before} -> {mutant.after}"
                print(f"{len(verdicts)}/{options.count} {change}: {by or 'NOT SEEN'}", file=sys.stderr, flush=True)
    seen = sum(bool(each["seen"]) for each in verdicts)
    if options.json:
        print(json.dumps(verdicts))
    else:
        print(f"{seen} of {len(verdicts)} seen, drawn from {len(possible)} changes")
        print(f"{none} more changed no code, or a case did not compile with them")
    return 0 if seen == len(verdicts) else 1


if __name__ == "__main__":
    sys.exit(main())

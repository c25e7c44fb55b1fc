"""`triptych tune FILE`: which parameters. A search that was killed goes on; every configuration has a reason."""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import sys
from pathlib import Path
from typing import Any

import triptych
from triptych.tools.bench import time_text
from triptych.tools.verify import report_failure
from triptych.workbench.errors import ContractError
from triptych.workbench.kept_files import kept_folder
from triptych.workbench.processes import ask
from triptych.workbench.tuning.table import append_crash

SCHEMA = "triptych.tuned/1"
EXECUTORS = ("processes", "threads", "ray")
_ASKED = ("file", "target", "case", "search", "seconds", "executor", "workers")


def add_tune(command: argparse.ArgumentParser) -> None:
    """Its arguments."""
    command.add_argument("file", metavar="FILE", help="with TUNE, or a PLAN")
    command.add_argument("--target", default="", metavar="NAME", help="as 'nvptx:sm_80': what is known without a GPU")
    command.add_argument("--case", default="", help="the problem, one of CASES (default: get_inputs as it is)")
    command.add_argument("--search", choices=("halving", "exhaustive"), default="halving")
    command.add_argument("--seconds", type=float, default=0.2, help="for two finalists (default: %(default)s)")
    command.add_argument("--executor", choices=EXECUTORS, default=EXECUTORS[0], help="what compiles")
    command.add_argument("-j", dest="workers", type=int, metavar="N", help="compilations at once")
    command.add_argument("--limit", type=float, default=60.0, metavar="S", help="seconds for one configuration")
    command.add_argument("--again", action="store_true", help="forget what an earlier search has found")
    command.add_argument("--strict", action="store_true", help="fail if a configuration fails that no rule foresaw")
    command.add_argument("--table", action="store_true", help="print every configuration")
    command.add_argument("--export", type=Path, metavar="FILE", help="write the choice to a file of the source tree")


def tune_command(arguments: argparse.Namespace) -> int:
    """Search, print, and return the exit code."""
    file = Path(arguments.file)
    if not file.is_file():
        raise ContractError(f"there is no kernel file {file}", expected="a Python file with TUNE, or with a PLAN")
    key = _key(file, arguments)
    journal = kept_folder("tuned") / f"{key}.jsonl"
    if arguments.again:
        journal.unlink(missing_ok=True)
    request = {name: getattr(arguments, name) for name in _ASKED}
    while True:
        answer = ask("tune", {**request, "key": key, "journal": str(journal)}, arguments.limit, each=True)
        crashed = re.fullmatch(r"measuring #(\d+)", answer.doing)
        if answer.result is not None or not answer.ended or crashed is None:
            break
        append_crash(journal, int(crashed[1]), answer.ended)  # one failed configuration; the others go on
    if answer.result is None:
        return report_failure("tune", answer)
    found = answer.result
    if arguments.export and found["config"] is not None:
        facts = {"schema": SCHEMA, "key": key, "case": arguments.case, "target": found["target"]}
        arguments.export.write_text(json.dumps({**facts, "config": found["config"]}, indent=2) + "\n", encoding="utf-8")
    print(json.dumps(found, indent=2) if arguments.json else _text(found, arguments.table))
    unforeseen = [row for row in found["rows"] if row["state"] == "failed"]
    return 1 if arguments.strict and unforeseen else 0


def _text(found: dict[str, Any], with_table: bool) -> str:
    lines = [f"{count:5}  {kind}" for kind, count in found["counts"].items()]
    for row in found["rows"] if with_table else ():
        named = ", ".join(f"{name}={value}" for name, value in row["config"].items())
        middle = sorted(row["seconds"])[len(row["seconds"]) // 2] if row["seconds"] else None
        lines.append(f"#{row['number']:<4} {named}: {row['state']}, {time_text(middle) if middle else row['reason']}")
    seconds = sum(row["cpu_seconds"] for row in found["rows"])
    number, took = len(found["rows"]), f"{found['took']:.1f} s, {seconds:.1f} s of compiling"
    lines.append(f"{number} configurations for {found['target']} in {took}")
    if found["config"] is None:
        lines.append("nothing was measured: no device for this target is here, so no choice is made")
    else:
        named = ", ".join(f"{name}={value}" for name, value in found["config"].items())
        lines.append(f"best: #{found['winner']} {named}: {time_text(found['seconds'])}, verified")
    return "\n".join(lines)


def _key(file: Path, arguments: argparse.Namespace) -> str:
    """The kernel, the problem, the device, how it was searched, and the tool."""
    parts = (file.read_text(encoding="utf-8"), arguments.case, arguments.target, arguments.search, triptych.__version__)
    return hashlib.sha256("\0".join((*parts, sys.version)).encode()).hexdigest()[:24]

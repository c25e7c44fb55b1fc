"""`triptych tune FILE`: which parameters. A search that was killed goes on; every configuration has a reason."""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import triptych
from triptych.workbench.commands.command_line import count, seconds
from triptych.workbench.commands.verify import report_failure
from triptych.workbench.errors import ContractError
from triptych.workbench.kernel_files import kept_folder, kernel_file
from triptych.workbench.processes import ask
from triptych.workbench.progress import progress
from triptych.workbench.tuning.table import append_crash, facts_text
from triptych.workbench.tuning.tuning_cache import Choice, Problem, choices_text, merged, read_choices, write_choices
from triptych.workbench.units import time_text

# What `triptych tune` prints: how many of each reason, every configuration if asked, failures, and the choice.

_SHOWN = 3
"""Configurations that are named of each reason to fail."""


def search_text(found: dict[str, Any], with_table: bool) -> str:
    """The whole answer."""
    lines = [f"{count:5}  {kind}" for kind, count in found["counts"].items()]
    lines += _table(found) if with_table else ()
    lines += _failures(found["rows"])
    compiled = [row["cpu_seconds"] for row in found["rows"] if row["cpu_seconds"]]
    each = f", {sum(compiled):.1f} CPU seconds of compiling {len(compiled)}" if compiled else ""
    each += f" ({min(compiled):.2f} to {max(compiled):.2f} each)" if compiled else ""
    lines.append(f"{len(found['rows'])} configurations for {found['target']} in {found['took']:.1f} s{each}")
    if found["config"] is None:
        lines.append("no choice is made: " + _why_none(found))
    else:
        lines.append(f"best: #{found['winner']} {named(found['config'])}: {time_text(found['seconds'])}, verified")
    return "\n".join(lines)


def named(config: dict[str, Any]) -> str:
    """Parameters as a call has them."""
    return ", ".join(f"{name}={value}" for name, value in config.items())


def _table(found: dict[str, Any]) -> Iterator[str]:
    """Every configuration: its state and reason, the assembler's numbers, CPU seconds."""
    for row in found["rows"]:
        middle = sorted(row["seconds"])[len(row["seconds"]) // 2] if row["seconds"] else None
        what = time_text(middle) if middle else row["reason"]
        facts = row["facts"].get("proof") or facts_text({**row["facts"], "digest": ""})
        proof = f" [{facts}]" if facts and facts not in what else ""
        cost = f", {row['cpu_seconds']:.2f} CPU s" if row["cpu_seconds"] else ""
        yield f"#{row['number']:<4} {named(row['config'])}: {row['state']}, {what}{proof}{cost}"


def _failures(rows: list[dict[str, Any]]) -> Iterator[str]:
    """What failed without being foreseen, by reason."""
    groups: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        if row["state"] == "failed":
            groups.setdefault(row["kind"], []).append(row)
    for same in sorted(groups.values(), key=len, reverse=True):
        yield f"failed, {len(same)} like this: {same[0]['reason']}"
        yield from (f"      #{row['number']} {named(row['config'])}" for row in same[:_SHOWN])
        if len(same) > _SHOWN:
            yield f"      and {len(same) - _SHOWN} more (--table prints them)"


def _why_none(found: dict[str, Any]) -> str:
    if found["target"] != "cpu":
        return "no device for this target is here, and nothing in the table says which is fastest"
    return "none of them could be measured"


EXECUTORS = ("processes", "threads", "ray")
SEARCHES = ("auto", "exhaustive", "random", "coordinate", "model", "halving")
_EXPECTED = "a Python file with TUNE, or with a PLAN"
_ASKED = ("file", "target", "case", "search", "seconds", "executor", "workers", "seed", "budget", "prove")


def add_tune(command: argparse.ArgumentParser) -> None:
    """Its arguments."""
    command.add_argument("file", nargs="?", metavar="FILE", help="with TUNE, or a PLAN")
    command.add_argument("--target", default="", metavar="NAME", help="as 'nvptx:sm_80': what is known without a GPU")
    command.add_argument("--case", default="", help="the problem, one of CASES (default: get_inputs as it is)")
    command.add_argument("--search", choices=SEARCHES, default=SEARCHES[0], help="auto: halving if few, else model")
    command.add_argument("--budget", type=count, metavar="N", help="configurations that random, coordinate, model try")
    command.add_argument("--seed", type=int, default=0, help="seed of what a search draws (default: %(default)s)")
    command.add_argument("--seconds", type=seconds, default=0.2, help="time for two finalists (default: %(default)s)")
    command.add_argument(
        "--executor",
        choices=EXECUTORS,
        default=EXECUTORS[0],
        help="where configurations are compiled (default: %(default)s)",
    )
    command.add_argument("-j", dest="workers", type=count, metavar="N", help="compilations at once")
    command.add_argument("--limit", type=seconds, default=60.0, metavar="S", help="seconds for one configuration")
    command.add_argument("--again", action="store_true", help="forget what an earlier search has found")
    command.add_argument("--prove", action="store_true", help="assemble also what rules leave out, to test the rules")
    command.add_argument("--strict", action="store_true", help="fail if a configuration fails that no rule foresaw")
    command.add_argument("--table", action="store_true", help="print every configuration")
    command.add_argument("--export", type=Path, metavar="FILE", help="add the choice to a file of the source tree")
    command.add_argument("--merge", nargs="+", type=Path, metavar="FILE", help="one file of choices from several")


def tune_command(arguments: argparse.Namespace) -> int:
    """Search, print, and return the exit code."""
    if arguments.merge:
        return _merge(arguments)
    if not arguments.file:
        raise ContractError("tune needs a kernel file", expected=_EXPECTED)
    file = kernel_file(arguments.file, _EXPECTED)
    key = _key(file, arguments)
    journal = kept_folder("tuned") / f"{key}.jsonl"
    if arguments.again:
        journal.unlink(missing_ok=True)
    request = {**{name: getattr(arguments, name) for name in _ASKED}, "key": key, "journal": str(journal)}
    with progress("tune") as bar:
        while True:
            answer = ask("tune", request, arguments.limit, each=True, bar=bar)
            crashed = re.fullmatch(r"measuring #(\d+)", answer.doing)
            if answer.result is not None or not answer.ended or crashed is None:
                break
            append_crash(journal, int(crashed[1]), answer.ended)  # one failed configuration; the others go on
    if answer.result is None:
        code = report_failure("tune", answer)
        if answer.ended:
            print("  what is done is kept: the same command goes on; --limit is for one configuration", file=sys.stderr)
        return code
    found = answer.result
    if arguments.export and found["choice"] is not None:
        _export(arguments.export, _choice(found["choice"]))
    print(json.dumps(found, indent=2) if arguments.json else search_text(found, arguments.table))
    unforeseen = [row for row in found["rows"] if row["state"] == "failed"]
    is_hopeless = len(unforeseen) == len(found["rows"])
    return 1 if unforeseen and (arguments.strict or is_hopeless) else 0


def _merge(arguments: argparse.Namespace) -> int:
    """Several files of choices as one, to a file or to stdout."""
    choices = merged(arguments.merge).values()
    if arguments.export is None:
        print(choices_text(choices), end="")
    else:
        write_choices(arguments.export, choices)
        print(f"{len(choices)} choices of {len(arguments.merge)} files in {arguments.export}")
    return 0


def _export(file: Path, choice: Choice) -> None:
    """Beside the choices that the file has for other problems."""
    known = read_choices(file) if file.is_file() else {}
    write_choices(file, {**known, choice.key.digest: choice}.values())


def _choice(facts: dict[str, Any]) -> Choice:
    return Choice(facts["name"], Problem(**facts["key"]), facts["config"], facts["seconds"])


def _key(file: Path, arguments: argparse.Namespace) -> str:
    """Of the search: the kernel, the problem, the device, how it is searched, and the tool."""
    how = arguments.search, str(arguments.seed), str(arguments.budget)
    parts = (file.read_text(encoding="utf-8"), arguments.case, arguments.target, *how, triptych.__version__)
    return hashlib.sha256("\0".join((*parts, sys.version)).encode()).hexdigest()[:24]

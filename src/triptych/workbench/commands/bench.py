"""`triptych bench`: how fast a kernel is, two kernels in turns, a kernel against a record, a record once more."""

from __future__ import annotations

import argparse
import csv
import io
import json
import math
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from triptych.workbench.commands.command_line import bound, count, seconds
from triptych.workbench.commands.verify import report_failure
from triptych.workbench.errors import ContractError
from triptych.workbench.measurement.records import schema
from triptych.workbench.pictures import check_picture, roofline, sweep, write_picture
from triptych.workbench.processes import ask
from triptych.workbench.progress import progress
from triptych.workbench.units import time_text

HEADS = ("case", "median", "95 % interval", "minimum", "quartiles", "samples", "cold", "rate", "of roof", "noise")


_WANTED = "against replay cases seconds seed cold with_roofs rtol atol apart graph processes"
"""What the child is told of the command line, by name."""


def add_bench(command: argparse.ArgumentParser) -> None:
    """Its arguments."""
    command.add_argument("files", nargs="*", metavar="FILE", help="one kernel file, or two to compare")
    command.add_argument("--against", metavar="RECORD", help="compare with the kernel in a record, measured again")
    command.add_argument("--replay", metavar="RECORD", help="do again what a record says")
    command.add_argument("--case", dest="cases", action="append", default=[], help="only this one of CASES")
    command.add_argument(
        "--sweep", metavar="N=A:B:*2", help="a parameter of get_inputs from A to B, as 'n=1024:16384:*2'"
    )
    command.add_argument("--seconds", type=seconds, default=2.0, help="time for each case (default: %(default)s)")
    command.add_argument("--seed", type=int, default=0, help="seed of the inputs (default: %(default)s)")
    command.add_argument("--no-cold", dest="cold", action="store_false", help="only hot: caches keep the arguments")
    command.add_argument("--no-roofs", dest="with_roofs", action="store_false", help="measure no roofs of the machine")
    command.add_argument("--rtol", type=bound, metavar="R", help="of the check after timing, as for `verify`")
    command.add_argument("--atol", type=bound, metavar="A", help="the same, as a number and not as a share")
    command.add_argument(
        "--processes", type=count, default=10, metavar="N", help="that compare two files (default: %(default)s)"
    )
    command.add_argument(
        "--apart", action="store_true", help="two files: each in a process of its own, still interleaved"
    )
    command.add_argument("--graph", action="store_true", help="on a GPU: replay captured calls, without their launches")
    command.add_argument("--schema", action="store_true", help="print the JSON Schema of records")
    command.add_argument("--csv", action="store_true", help="print comma-separated values")
    command.add_argument("--markdown", action="store_true", help="print a table for a page")
    command.add_argument("--record", type=Path, metavar="FILE", help="write the record: everything, all samples")
    command.add_argument(
        "--plot", type=Path, metavar="FILE", help="a picture, .svg or .png: roofline, or time over a sweep"
    )
    command.add_argument(
        "--timeout", type=seconds, default=1800.0, metavar="S", help="give up after S seconds (default: %(default)s)"
    )


def bench_command(arguments: argparse.Namespace) -> int:
    """Measure, print, and return the exit code."""
    if arguments.schema:
        print(json.dumps(schema(), indent=2))
        return 0
    request = {name: getattr(arguments, name) for name in _WANTED.split()}
    _check_files(len(arguments.files), arguments)
    if arguments.plot:
        check_picture(arguments.plot)
    request |= {"files": arguments.files, "command": sys.argv, "sweep": sweep_of(arguments.sweep)}
    with progress("bench") as bar:
        answer = ask("bench", request, arguments.timeout, bar=bar)
    if answer.result is None:
        return report_failure("bench", answer)
    record = answer.result
    if "skipped" in record:
        print(f"SKIPPED: {record['skipped']}")
        return 0
    if arguments.record:
        arguments.record.write_text(json.dumps(record, allow_nan=False), encoding="utf-8")
    print(printed(record, arguments))
    if arguments.plot:
        swept = arguments.sweep.partition("=")[0] if arguments.sweep else ""
        write_picture(arguments.plot, sweep(record, swept) if swept else roofline(record))
    return 1 if any(case.get("verified") for case in record["cases"]) else 0


def _check_files(count: int, arguments: argparse.Namespace) -> None:
    """What else is asked for says how many kernel files there are."""
    allowed = {0} if arguments.replay else {1} if arguments.against else {1, 2}
    if count not in allowed or (arguments.replay and arguments.against):
        given = "".join(f" and --{name}" for name in ("replay", "against") if getattr(arguments, name))
        raise ContractError(
            "bench takes one kernel file, two, one --against RECORD, or --replay RECORD alone",
            found=f"{count} files{given}",
        )


def sweep_of(text: str | None) -> dict[str, list[int]] | None:
    """`n=1024:16384:*2` is n = 1024, 2048 ... 16384; `n=1:9:+2` steps; `n=3,5,7` lists."""
    if text is None:
        return None
    name, _, values = text.partition("=")
    parts = values.split(":")
    try:
        if len(parts) == 1:
            return {name: [int(value) for value in values.split(",")]}
        low, high = int(parts[0]), int(parts[1])
        step = parts[2] if len(parts) > 2 else "*2"
        return {name: list(_stepped(low, high, step[0], int(step.lstrip("*+"))))}
    except ValueError:
        raise ContractError(
            f"--sweep {text} cannot be read", expected="as n=1024:16384:*2, n=16:256:+16 or n=3,5,7"
        ) from None


def _stepped(low: int, high: int, how: str, step: int) -> Iterator[int]:
    if step < (2 if how == "*" else 1) or low < 1:
        raise ValueError("a step that leads nowhere")
    while low <= high:
        yield low
        low = low * step if how == "*" else low + step


def printed(record: dict[str, Any], arguments: argparse.Namespace) -> str:
    """In the form that is asked for."""
    if arguments.json:
        return json.dumps(record, indent=2, allow_nan=False)
    rows = [HEADS, *(_row(case) for case in record["cases"] if "hot" in case)]
    if arguments.csv:
        out = io.StringIO()
        csv.writer(out, lineterminator="\n").writerows(rows)
        return out.getvalue().rstrip()
    if arguments.markdown:
        lines = ["| " + " | ".join(row) + " |" for row in rows]
        return "\n".join([lines[0], "|" + "---|" * len(HEADS), *lines[1:], *_sentences(record)])
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    table = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows] if len(rows) > 1 else []
    return "\n".join([*table, *_sentences(record), _beside(record)])


def _row(case: dict[str, Any]) -> tuple[str, ...]:
    hot, cold, work = case["hot"], case.get("cold"), case.get("work") or {}
    rate = ""
    if work:
        rate = f"{work['gflops']:.3g} GFLOP/s" if work["flops"] > work["bytes"] else f"{work['gbytes']:.3g} GB/s"
    interval = f"{time_text(hot['low'])} to {time_text(hot['high'])}" if hot["low"] is not None else "too few samples"
    return (
        case["case"],
        time_text(hot["median"]),
        interval,
        time_text(hot["minimum"]),
        " to ".join(map(time_text, hot["quartiles"])),
        f"{len(hot['samples'])} x {hot['batch']}",
        time_text(cold["median"]) if cold else "",
        rate,
        f"{100 * work['of_roof']:.0f} %" if "of_roof" in work else "",
        f"{100 * case['noise']:.2f} %" if case.get("noise") is not None else "",
    )


def _sentences(record: dict[str, Any]) -> Iterator[str]:
    if record.get("apart"):
        yield f"each in a process of its own: {record['apart']}"
    for case in record["cases"]:
        if "comparison" in case:
            yield f"{case['case']}: the second is {case['comparison']['text']}"
        if "baseline" in case:
            yield f"{case['case']}: against the baseline {case['baseline']['text']}"
        if "note" in case:
            yield f"{case['case']}: measured by {case['clock']}: {case['note']}"
        if "again" in case:
            yield f"{case['case']}: the record of {record['replay_of']} {case['again']['text']}"
        for text in case.get("verified", ()):
            yield f"{case['case']}: WRONG AFTER TIMING: {text}"


def _beside(record: dict[str, Any]) -> str:
    facts = record["machine"]
    load = facts["load"][0] if facts["load"] else math.nan
    cores = f"{len(facts['affinity']) or facts['cores']} of {facts['cores']} cores"
    return f"{facts['model']}, {cores}, load {load:.1f}, governor {facts['governor']}, target {record['target']}"

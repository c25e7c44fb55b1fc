"""`triptych profile FILE`: where the time of a kernel file goes, and which instructions its lines became."""

from __future__ import annotations

import argparse
import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from triptych.support.config import process_environment
from triptych.workbench.commands.command_line import count, seconds
from triptych.workbench.commands.verify import report_failure
from triptych.workbench.kernel_files import kernel_file
from triptych.workbench.processes import ask
from triptych.workbench.profiling.gpu_tools import TOOLS, command, is_here, shown
from triptych.workbench.profiling.line_report import counts_table
from triptych.workbench.progress import progress
from triptych.workbench.units import time_text

_GPU = "nvptx"


def add_profile(command: argparse.ArgumentParser) -> None:
    """Its arguments."""
    command.add_argument("file", type=Path, metavar="FILE", help="with kernel_fn, reference_fn and get_inputs")
    command.add_argument("--target", default="", metavar="NAME", help="as 'nvptx:sm_80': instructions without a GPU")
    command.add_argument("--case", default="", help="the problem, one of CASES (default: the first to measure)")
    command.add_argument("--calls", type=count, default=10, metavar="N", help="after the first (default: %(default)s)")
    command.add_argument("--out", type=Path, metavar="FOLDER", help="for trace and listing (default: NAME.profile)")
    command.add_argument("--tool", choices=TOOLS, help="run NVIDIA's profiler on it, or print its command")
    command.add_argument(
        "--timeout", type=seconds, default=600.0, metavar="S", help="give up after S seconds (default: %(default)s)"
    )


def profile_command(arguments: argparse.Namespace) -> int:
    """Profile, print, and return the exit code."""
    file = arguments.file
    if not file.is_dir():  # a folder may be a problem of GPU MODE: who loads it knows
        kernel_file(file)
    if arguments.tool:
        return _gpu_profile(arguments)
    folder = arguments.out or Path(f"{file.stem}.profile")
    request = {name: getattr(arguments, name) for name in ("target", "case", "calls")}
    request |= {"file": str(file), "folder": str(folder)}
    settings = {"TRIPTYCH_TARGET": arguments.target, "TRIPTYCH_LINE_INFO": "1"} if arguments.target else None
    with progress("profile") as bar:
        answer = ask("profile", request, arguments.timeout, environment=settings, bar=bar)
    if answer.result is None:
        return report_failure("profile", answer)
    if "skipped" in answer.result:
        print(f"SKIPPED: {answer.result['skipped']}")
        return 0
    print(json.dumps(answer.result, indent=2) if arguments.json else "\n".join(_text(answer.result, arguments)))
    return 0


def _gpu_profile(arguments: argparse.Namespace) -> int:
    words = command(arguments.tool, arguments.file, arguments.case, arguments.calls)
    if not is_here(arguments.tool):
        print(f"{arguments.tool} is not on the PATH; where it is:\n  {shown(words)}")
        return 0
    print(shown(words), flush=True)
    return subprocess.run(words, check=False, env={**process_environment(), "TRIPTYCH_LINE_INFO": "1"}).returncode


def _text(found: dict[str, Any], arguments: argparse.Namespace) -> Iterator[str]:
    for compilation in found["compilations"]:
        stages = ", ".join(f"{name} {time_text(seconds)}" for name, seconds in compilation["stages"].items())
        yield f"compiled {compilation['name']} in {time_text(compilation['seconds'])}: {stages}"
    if found["calls"]:
        yield from _run_text(found)
    for program in found["programs"]:
        yield ""
        yield from counts_table(program["lines"], program["without_place"])
        for kernel, used in program["resources"].items():
            facts = {
                name.replace("_", " "): "known at launch" if value is None else value for name, value in used.items()
            }
            yield f"{kernel}: " + ", ".join(f"{name} {value}" for name, value in facts.items())
        yield from program["notes"]
    yield ""
    if found["ended_by"]:
        yield f"no kernel ran; then the file ended with {found['ended_by']}"
    if not found["programs"]:
        yield "nothing was compiled: kernel_fn calls no compiled function"
    phases = ", ".join(f"{name} {time_text(seconds)}" for name, seconds in found["phases"].items())
    yield f"all of it {time_text(found['measured'])}: {phases}"
    yield f"trace: {found['trace']}, for ui.perfetto.dev; every instruction: {found['listing']}"
    if found["target"].startswith(_GPU):
        for tool in TOOLS:
            yield f"on a GPU: {shown(command(tool, arguments.file, arguments.case, arguments.calls))}"


def _run_text(found: dict[str, Any]) -> Iterator[str]:
    share = f"{100 * found['in_launches']:.0f} % of it in launches"
    yield f"{found['calls']} calls, median {time_text(found['median'])}, {share}"
    for kernel in found["kernels"]:
        each = time_text(kernel["seconds"] / kernel["launches"])
        blocks, chunks = (kernel[name] // kernel["launches"] for name in ("blocks", "chunks"))
        yield f"  {kernel['kernel']}: {kernel['launches']} launches of {each}, {blocks} blocks in {chunks} chunks"
    for thread in found["threads"]:
        busy = f"{100 * thread['share']:.0f} % of the launches' time"
        yield f"  {thread['name']}: busy {busy}, {thread['blocks']} blocks in {thread['chunks']} chunks"
    if found["lost"]:
        yield f"  {found['lost']} chunks are not in the trace: there was no room for them"

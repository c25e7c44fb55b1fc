"""From an empty folder to a second version and its devlog: every command of the workbench, timed.

    python -m benchmarks.workbench_transcript [--template gemm] [--short]

Each command is a process of its own, as a user starts it; its exit code is checked, and so is what it left behind. The
trace of `profile` must nest, and its phases must sum to the measured time within 5 %. Bytecode is written before, as
that of an installed package is. `--short` measures less.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

_SUM = 0.05
NAME = "fused"


@dataclass(frozen=True, slots=True)
class Step:
    """A command, what it must leave behind, and the exit code that it must end with."""

    words: tuple[str, ...]
    leaves: str = ""
    code: int = 0


def steps(template: str, short: bool) -> list[Step]:
    """The commands in order."""
    first, second = (f"{NAME}/{version}/{version}.py" for version in (NAME, f"{NAME}_v2"))
    seconds = ("--seconds", "0.3") if short else ()
    less = (*seconds, "--no-cold", "--no-roofs") if short else ()
    compared = ("--before", "first.json", "--comparison", "both.json", "--target", "nvptx:sm_80")
    return [
        Step(("new", NAME, "--template", template), first),
        Step(("verify", first)),
        Step(("bench", first, "--record", "first.json", *less), "first.json"),
        Step(("tune", first, "--export", "tuned.json"), "tuned.json"),
        Step(("profile", first), f"{NAME}.profile/trace.json"),
        Step(("new", NAME, "--from", NAME), second),
        Step(("bench", first, second, "--record", "both.json", *seconds), "both.json"),
        Step(("bench", second, "--record", "second.json", *less), "second.json"),
        Step(("devlog", "add", f"{NAME}/{NAME}_v2", "second.json", *compared), f"{NAME}/DEVLOG.md"),
        Step(("verify", "nowhere.py"), code=2),
    ]


def run(step: Step, folder: Path) -> tuple[float, str]:
    """Run one; seconds, and what is wrong with it, if anything."""
    print(f"$ triptych {' '.join(step.words)}", flush=True)
    began = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-m", "triptych", *step.words],
        cwd=folder,
        check=False,
        capture_output=True,
        text=True,
        env=_environment(folder),
    )
    seconds = time.monotonic() - began
    for line in (done.stdout + (done.stderr if done.returncode else "")).rstrip().splitlines():
        print(f"    {line}")
    print(f"  [exit code {done.returncode}, {seconds:.1f} s]", flush=True)
    if done.returncode != step.code:
        return seconds, f"exit code {done.returncode} instead of {step.code}: {done.stderr[-500:]}"
    if step.leaves and not (folder / step.leaves).is_file():
        return seconds, f"{step.leaves} is not there"
    return seconds, ""


def _environment(folder: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**kept, "PYTHONPYCACHEPREFIX": str(folder / "bytecode")}


def judge_trace(file: Path) -> str:
    """What is wrong with a trace, if anything."""
    trace = json.loads(file.read_text(encoding="utf-8"))
    bars = [event for event in trace["traceEvents"] if event["ph"] == "X"]
    crossing = 0
    for thread in {bar["tid"] for bar in bars}:
        stack: list[float] = []
        for bar in sorted((b for b in bars if b["tid"] == thread), key=lambda b: (b["ts"], -b["dur"])):
            end = bar["ts"] + bar["dur"]
            while stack and stack[-1] <= bar["ts"] + 1e-3:
                stack.pop()
            crossing += bool(stack) and end > stack[-1] + 2e-3  # times are rounded to nanoseconds
            stack.append(end)
    measured = trace["otherData"]["measured"]
    phases = sum(bar["dur"] for bar in bars if bar["cat"] == "phase") / 1e6
    print(
        f"  trace: {len(bars)} bars, {crossing} cross; phases {phases:.3f} s of {measured:.3f} s measured", flush=True
    )
    if crossing:
        return f"{crossing} bars of the trace do not nest"
    return "" if abs(phases / measured - 1) <= _SUM else f"phases sum to {phases:.3f} s of {measured:.3f} s"


def main() -> int:
    """Run all; 1 if any was not as it should be."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--template", default="elementwise")
    parser.add_argument("--short", action="store_true")
    chosen = parser.parse_args()
    load = f"load {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else ""
    print(f"Python {platform.python_version()}, {os.cpu_count()} cores, {load}")
    wrong, took = [], 0.0
    with tempfile.TemporaryDirectory(prefix="triptych-transcript-") as name:
        words = [sys.executable, "-m", "triptych", "--help"]
        subprocess.run(words, cwd=name, check=True, capture_output=True, env=_environment(Path(name)))
        for step in steps(chosen.template, chosen.short):
            seconds, problem = run(step, Path(name))
            took += seconds
            wrong += [f"{step.words[0]}: {problem}"] if problem else []
            if step.words[0] == "profile" and not problem:
                wrong += [text] if (text := judge_trace(Path(name) / step.leaves)) else []
            if step.words[0] == "devlog":
                print("".join(f"    | {line}\n" for line in (Path(name) / step.leaves).read_text().splitlines()))
    print(f"{took:.1f} s in all; {'; '.join(wrong) or 'every exit code as it should be'}")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())

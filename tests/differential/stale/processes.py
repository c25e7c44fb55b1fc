"""Stale programs across processes: a file is edited between two starts that share a store."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.differential.choices import RandomChoices
from tests.differential.stale.generator import ELSEWHERE, generate_for_processes
from tests.differential.stale.kinds import LIBRARY

RUN = """
import importlib, sys

def outcome(call):
    try: return call()
    except Exception as error: return type(error).__name__

def judge(number):
    sys.modules.pop("elsewhere", None)  # each has its own
    made = vars(importlib.import_module(f"program_{number}"))
    expected = outcome(made["plain"])
    if type(expected) is not int: return "means nothing"
    found = outcome(made["compiled"])
    return "right" if found == expected else f"WRONG {found} instead of {expected}"

if __name__ == "__main__":
    for number in range(int(sys.argv[1])):
        print(number, judge(number))
"""


def judge(folder: Path, seed: int, count: int) -> tuple[int, list[str]]:
    """How many starts of programs said something, and what was not as in Python."""
    programs = [generate_for_processes(RandomChoices(seed + n), f"changed.V{n}") for n in range(count)]
    files = {"kinds.py": LIBRARY, "elsewhere.py": ELSEWHERE, "run.py": RUN}
    files |= {f"program_{number}.py": program.source for number, program in enumerate(programs)}
    folder.mkdir(parents=True, exist_ok=True)
    said, wrong = 0, []
    for edited in (3, 14):
        values = "".join(f"V{n} = {edited + n % 7}\n" for n in range(count))
        for name, text in {**files, "changed.py": values}.items():
            (folder / name).write_text(text, encoding="utf-8")
        for line in _run(folder, count):
            number, _, outcome = line.partition(" ")
            said += outcome != "means nothing"
            if outcome.startswith("WRONG"):
                wrong.append(f"with {edited}: {outcome}\n{programs[int(number)].source}")
    return said, wrong


def _run(folder: Path, count: int) -> list[str]:
    settings = {"TRIPTYCH_CACHE": "1", "TRIPTYCH_CACHE_DIR": str(folder / "store"), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "run.py", str(count)]
    ended = subprocess.run(
        command, cwd=folder, env={**os.environ, **settings}, capture_output=True, text=True, check=False
    )
    if ended.returncode:
        raise AssertionError(ended.stdout[-2000:] + ended.stderr[-4000:])
    return ended.stdout.splitlines()

"""Commands of the workbench x kernel files x folders that they are started from x installations: which go wrong.

`python benchmarks/workbench_matrix.py --python one/bin/python --python other/bin/python` runs every command with each
interpreter, from the folder of the file and from another one. What came out is told by exit code and by what must stand
in the output; a figure is not judged here.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

FILES = Path(__file__).parents[1] / "tests" / "support" / "contract_files"
TEMPLATES = ("elementwise", "gemm", "reduction", "attention")
SCRIPTS = ("mission_script",)
TUNABLE = {"mission_plan", "numpy_plan", "tuned_scale", *TEMPLATES}
FOLDERS = ("other", "own")

COMMANDS: dict[str, list[str]] = {
    "verify": ["verify", "{file}"],
    "verify --check": ["verify", "--check", "--seeds", "1", "{file}"],
    "bench": ["bench", "{file}", "--seconds", "0.2", "--record", "{record}"],
    "bench a b": ["bench", "{file}", "{copy}", "--seconds", "0.2", "--processes", "2"],
    "tune": ["tune", "{file}"],
    "profile": ["profile", "{file}"],
    "check": ["check", "{file}"],
    "devlog": ["devlog", "add", "{folder}", "{record}"],
}
EXPECTED = {"verify": "PASS", "verify --check": "PASS", "bench": "median", "devlog": "added"}


class Trial:
    """A kernel file in a folder of its own, with a copy in another."""

    def __init__(self, python: str, name: str, root: Path) -> None:
        self.python, self.name = python, name
        self.folder = root / name
        (root / "other").mkdir(parents=True, exist_ok=True)
        self.other = root / "other"
        if name in TEMPLATES:
            self.run(["new", name, "--template", name, "--root", str(root)], root)
            self.file = next(root.rglob(f"{name}.py"))
            self.folder = self.file.parent
        else:
            self.folder.mkdir(parents=True)
            self.file = self.folder / f"{name}.py"
            shutil.copy(FILES / f"{name}.txt", self.file)
        self.copy = root / f"copy_of_{name}" / self.file.name
        self.copy.parent.mkdir()
        shutil.copy(self.file, self.copy)

    def run(self, arguments: list[str], folder: Path) -> tuple[int, str]:
        command = [self.python, "-m", "triptych", *arguments]
        outer = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        ran = subprocess.run(command, cwd=folder, env=outer, capture_output=True, text=True, check=False, timeout=900)
        return ran.returncode, ran.stdout + ran.stderr

    def problem(self, command: str, started_from: str) -> str:
        """What went wrong; nothing if it is right."""
        folder = self.folder if started_from == "own" else self.other
        file = Path(self.file.name) if started_from == "own" else self.file
        record = self.folder / f"{started_from}.json"
        words = {"file": file, "copy": self.copy, "record": record, "folder": self.folder}
        code, text = self.run([part.format(**words) for part in COMMANDS[command]], folder)
        if code or EXPECTED.get(command, "") not in text:
            return f"exit code {code}: {text.strip()[-600:]}"
        if command == "bench" and json.loads(record.read_text())["machine"] is None:
            return "a record without its machine"
        return ""


def applies(command: str, name: str) -> bool:
    """Whether a file has what a command needs."""
    if name in SCRIPTS:
        return command == "check"
    return command != "tune" or name in TUNABLE


def main() -> int:
    """Run all of it, print what is wrong and the counts; 1 if anything is."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--python", action="append", default=[], help="an interpreter (default: this one)")
    parser.add_argument("--only", nargs="*", default=[], metavar="NAME", help="of files")
    parser.add_argument("--commands", nargs="*", default=list(COMMANDS), metavar="NAME")
    parser.add_argument("--folders", nargs="*", default=list(FOLDERS), choices=FOLDERS, help="to start from")
    chosen = parser.parse_args()
    names = chosen.only or [*TEMPLATES, *sorted(path.stem for path in FILES.glob("*.txt"))]
    right, wrong, begun = 0, 0, time.monotonic()
    for python in chosen.python or [sys.executable]:
        with tempfile.TemporaryDirectory() as folder:
            trials = [Trial(python, name, Path(folder, name)) for name in names]
            for started_from, trial in itertools.product(chosen.folders, trials):
                for command in chosen.commands:
                    if applies(command, trial.name):
                        problem = trial.problem(command, started_from)
                        right, wrong = right + (not problem), wrong + bool(problem)
                        if problem:
                            place = f"{trial.name} {command!r} from its {started_from} folder"
                            print(f"WRONG {python} {place}: {problem}\n", flush=True)
                spent = f"{time.monotonic() - begun:.0f} s"
                print(f"{trial.name} from its {started_from} folder: {right} right, {wrong} wrong, {spent}", flush=True)
    print(f"{right + wrong} runs: {right} right, {wrong} wrong")
    return int(wrong > 0)


if __name__ == "__main__":
    raise SystemExit(main())

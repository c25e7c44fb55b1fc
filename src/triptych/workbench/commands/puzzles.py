"""`triptych puzzles`: copies files with holes, checks what stands there now, and gives one hint at a time.

Exit codes of `check`: 0 solved, 1 not yet, 2 a request that cannot be met. How many hints were given is kept beside
the files.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from triptych.support.forking import import_late
from triptych.workbench.commands.command_line import count
from triptych.workbench.errors import FolderError
from triptych.workbench.processes import ask
from triptych.workbench.progress import progress

_FOLDER = Path("puzzles")
_GIVEN = ".hints.json"
_PATIENCE = 60.0
"""Seconds after which a kernel is said to hang."""


def add_puzzles(command: argparse.ArgumentParser) -> None:
    """Its arguments."""
    command.add_argument("what", nargs="?", choices=("copy", "check", "hint"), default="copy", help="(default: copy)")
    command.add_argument("number", nargs="?", type=count, metavar="N", help="of the puzzle, as 7")
    command.add_argument(
        "--folder", type=Path, metavar="DIR", help=f"of the files (default: here if they are here, else {_FOLDER})"
    )


def puzzles_command(arguments: argparse.Namespace) -> int:
    """Copy, check or help; the exit code."""
    puzzles: Any = import_late("triptych.workbench.puzzles.all_puzzles").PUZZLES  # NumPy, only where it is needed
    names = {number: f"{number:02}_{puzzle.name}.py" for number, puzzle in enumerate(puzzles, start=1)}
    here = arguments.folder is None and any(Path(name).is_file() for name in names.values())
    folder = Path() if here else arguments.folder or _FOLDER
    if arguments.what == "copy":
        _copy({folder / names[number]: puzzles[number - 1].with_hole for number in names}, folder)
        return 0
    if arguments.number not in (None, *names) or (arguments.what == "hint" and arguments.number is None):
        raise FolderError(
            "which puzzle?", found=str(arguments.number or "no number"), expected=f"a number from 1 to {len(names)}"
        )
    if arguments.what == "hint":
        print(_next_hint(arguments.number, puzzles[arguments.number - 1].all_hints, folder))
        return 0
    for number in [arguments.number] if arguments.number else names:
        if not _check(number, folder / names[number]):
            return 1
    return 0


def _copy(texts: dict[Path, str], folder: Path) -> None:
    """What is there already is a user's work, and stays."""
    folder.mkdir(parents=True, exist_ok=True)
    new = {file: text for file, text in texts.items() if not file.exists()}
    for file, text in new.items():
        file.write_text(text, encoding="utf-8")
    print(f"{len(new)} files written to {folder}, {len(texts) - len(new)} were there and stay as they are")
    print(f"next: fill the hole in {next(iter(texts))}, then `triptych puzzles check 1`")


def _next_hint(number: int, hints: list[str], folder: Path) -> str:
    """One more than was given before, kept in the folder; the last one again where there are no more."""
    file = folder / _GIVEN
    given = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
    turn = given[str(number)] = min(given.get(str(number), 0) + 1, len(hints))
    folder.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(given), encoding="utf-8")
    return f"hint {turn} of {len(hints)}: {hints[turn - 1]}"


def _check(number: int, file: Path) -> bool:
    """Judge the file in a process of its own, and print what came of it."""
    if not file.is_file():
        raise FolderError(f"there is no file {file}", instead="`triptych puzzles` to have the files")
    with progress("puzzles") as bar:
        answer = ask("puzzle", {"number": number, "file": str(file)}, _PATIENCE, bar=bar)
    mistake = "hang" if answer.ended.startswith("it took") else "error"
    verdict = answer.result or {"mistake": mistake, "message": answer.error or answer.ended}
    print("\n".join(_lines(number, file, verdict)))
    return not verdict["mistake"]


def _lines(number: int, file: Path, verdict: dict[str, Any]) -> Iterator[str]:
    if not verdict["mistake"]:
        yield f"puzzle {number}, {file.name}: solved"
        return
    yield f"puzzle {number}, {file.name}: {verdict['mistake']}: {verdict['message']}"
    for part in ("details", "picture"):
        if verdict.get(part):
            yield f"\n{verdict[part]}"
    yield from (f"\npicture: {path}" for path in verdict.get("files", ()))
    yield f"\nstuck? `triptych puzzles hint {number}`"

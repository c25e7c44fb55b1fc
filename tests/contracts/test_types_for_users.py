"""What mypy, with its own settings, says about a program of a user: the types that are there, the mistakes it finds."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.contracts.tree import PACKAGE

PROGRAM = Path(__file__).with_name("typed") / "user_program.py"
EXPECTED = re.compile(r"(?P<reveal>reveal_type\(.*)?  # (?P<said>.*)$")


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> dict[int, str]:
    """What is said about each line; mypy runs once, on the program as a file somewhere else."""
    folder = tmp_path_factory.mktemp("types")
    program = folder / "program.py"
    program.write_text(PROGRAM.read_text(encoding="utf-8"), encoding="utf-8")
    (folder / "mypy.ini").write_text(
        f"[mypy]\nmypy_path = {PACKAGE.parent}\nfollow_imports = silent\n", encoding="utf-8"
    )
    command = [sys.executable, "-m", "mypy", "--config-file", "mypy.ini", "--no-error-summary", "program.py"]
    output = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False).stdout
    said: dict[int, str] = {}
    for number, kind, text in re.findall(r"program\.py:(\d+): (error|note): (.*)", output):
        if kind == "error" or text.startswith("Revealed"):
            said[int(number)] = said.get(int(number), "") + text
    return said


def expected() -> dict[int, tuple[str, bool]]:
    """What comments ask for: the type that is revealed, or the code of an error."""
    lines: dict[int, tuple[str, bool]] = {}
    for number, line in enumerate(PROGRAM.read_text(encoding="utf-8").splitlines(), start=1):
        found = EXPECTED.search(line)
        if found is not None and found["reveal"]:
            lines[number] = found["said"], False
        elif found is not None and found["said"].startswith("error: "):
            lines[number] = found["said"].removeprefix("error: "), True
    return lines


def test_types_and_mistakes_are_seen(report: dict[int, str]) -> None:
    wrong = {}
    for number, (said, is_error) in expected().items():
        text = report.get(number, "nothing")
        right = f"[{said}]" in text if is_error else _plain(text) == said
        if not right:
            wrong[number] = f"expected {said}, mypy says: {text}"
    assert not wrong, "\n".join(f"{number}: {text}" for number, text in wrong.items())


def test_nothing_else_is_wrong(report: dict[int, str]) -> None:
    assert {number: text for number, text in report.items() if number not in expected()} == {}


def _plain(text: str) -> str:
    """A revealed type without the modules that its names are in."""
    revealed = re.fullmatch(r'Revealed type is "(.*)"', text)
    return re.sub(r"\b(?:\w+\.)+(?=\w)", "", revealed[1]) if revealed else text

"""The programs of the catalogue do what it says: the failing one raises its error, the fixed one runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.errors.test_mistakes import NOT_BY_A_PROGRAM
from triptych.support.errors import TriptychError
from triptych.workbench.commands.errors_page import errors

SHOWN = [error for error in errors() if error.code not in NOT_BY_A_PROGRAM]
each_error = pytest.mark.parametrize("error", SHOWN, ids=lambda error: error.__name__)


def run(program: str, folder: Path) -> None:
    """Run from a real file, because the compiler reads source; the page promises `import triptych as tt`."""
    file = folder / "program.py"
    file.write_text(f"import triptych as tt\n{program}", encoding="utf-8")
    exec(compile(file.read_text(encoding="utf-8"), file, "exec"), {"__name__": "__main__"})


@each_error
def test_failing_program_raises_its_error(error: type[TriptychError], tmp_path: Path) -> None:
    with pytest.raises(error) as raised:
        run(error.failing, tmp_path)
    assert type(raised.value) is error


@each_error
def test_fixed_program_runs(error: type[TriptychError], tmp_path: Path) -> None:
    run(error.fixed, tmp_path)

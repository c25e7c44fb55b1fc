"""The programs of the catalogue do what it says: the failing one raises its error, the fixed one runs.

A copy is run, because lines of the package itself are no lines of a user, in a folder where it may write.
"""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

import triptych
from tests.unit.targets.nvptx.tools import HAS_ASSEMBLER
from triptych.support.errors import TriptychError
from triptych.workbench.commands.cli import main
from triptych.workbench.commands.errors_page import PROGRAMS, errors, program

NOT_HERE = {
    "TT0510/failing": "needs a machine without an assembler: tests/unit/targets/nvptx/toolchain",
    "TT0514/failing": "needs a GPU: tests/unit/targets/nvptx/runtime",
    "TT0514/fixed": "needs a GPU",
    "TT0516/failing": "needs Windows: tests/unit/targets/cpu/abi/test_system.py",
    "TT0632/failing": "takes 2**32 barriers: tests/unit/sanitizer/test_findings.py",
    "TT0632/fixed": "takes 2**32 barriers",
    "TT0656/failing": "raised by XLA, with our text: tests/frameworks/test_jax_exports.py",
}
"""Programs that no test can run, and which tests meet their error otherwise."""
NEEDED = {
    **dict.fromkeys(("TT0649", "TT0654", "TT0655", "TT0657"), "torch"),
    **dict.fromkeys(("TT0651", "TT0656"), "jax"),
}
"""Libraries that not every machine has."""
ASSEMBLED = {"TT0510", "TT0512", "TT0513"}
APART = {"TT0103/failing", "TT0103/fixed", "TT0506/failing", "TT0740/failing"}
"""Programs that change what a process has imported, or is."""
CHECKED: dict[str, tuple[str, ...]] = {"TT0636": (), "TT0638": ("--schedules", "8")}
"""Findings of `triptych check` alone, with its options."""
VARIABLES = {"TT0614/fixed": {"PYTHONBREAKPOINT": "0"}}

ERRORS = {error.code: error for error in errors()}
RUN = [f"{code}/{which}" for code in ERRORS for which in PROGRAMS if f"{code}/{which}" not in NOT_HERE]


@pytest.mark.parametrize("name", RUN)
def test_program(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code, _, which = name.partition("/")
    if code in NEEDED and find_spec(NEEDED[code]) is None:
        pytest.skip(f"needs {NEEDED[code]}")
    if code in ASSEMBLED and not HAS_ASSEMBLER:
        pytest.skip("needs an assembler of PTX")
    file = tmp_path / "program.py"
    file.write_bytes(program(ERRORS[code], which).read_bytes())
    monkeypatch.chdir(tmp_path)
    for variable, value in VARIABLES.get(name, {}).items():
        monkeypatch.setenv(variable, value)
    fails = which == "failing"
    if code in CHECKED:
        main(["check", str(file), *CHECKED[code]])
        said = capsys.readouterr().out
        assert f"[{code}]" in said if fails else said == "0 findings\n"
    elif name in APART:
        check_apart(file, code if fails else "")
    elif fails:
        check_raises(file, ERRORS[code])
    else:
        run(file)


def run(file: Path) -> None:
    exec(compile(file.read_text(encoding="utf-8"), file, "exec"), {"__name__": "__main__"})


def check_raises(file: Path, error: type[TriptychError]) -> None:
    with pytest.raises(error) as raised:
        run(file)
    assert type(raised.value) is error


def check_apart(file: Path, code: str) -> None:
    """In a process of its own, which keeps nothing; with a code it ends by that error."""
    variables = {**os.environ, "PYTHONPATH": str(Path(triptych.__file__).parents[1]), "TRIPTYCH_CACHE": "0"}
    ran = subprocess.run([sys.executable, file], env=variables, capture_output=True, text=True, check=False)
    assert ran.returncode == (1 if code else 0), ran.stderr
    assert f"[{code}]" in ran.stderr or not code
    assert code or not ran.stderr


def test_programs_that_are_not_run_are_programs() -> None:
    assert {name.partition("/")[0] for name in NOT_HERE} <= ERRORS.keys()

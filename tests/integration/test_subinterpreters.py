"""Triptych in a sub-interpreter: an error in words, and the main interpreter goes on as before."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.integration.subprograms import run

MAIN = """
import sys

import {module} as interpreters
import triptych as tt

TEXT = '''
import sys
sys.path[:] = {path!r}
try:
    {use}
except RuntimeError as error:
    print(type(error).__name__, str(error).splitlines()[0])
'''


@tt.jit
def double(n: tt.Int32):
    return n + n


{before}
one = interpreters.create()
run = interpreters.run_string if hasattr(interpreters, "run_string") else interpreters.exec
print(run(one, TEXT), flush=True)
print(double(4))
"""


def module() -> str:
    for name in ("_interpreters", "_xxsubinterpreters"):
        try:
            found: Any = importlib.import_module(name)
        except ImportError:
            continue
        return str(found.__name__)
    pytest.skip("this Python has no sub-interpreters")


@pytest.mark.parametrize(
    ("use", "before"),
    [("import triptych as tt; tt.jit", ""), ("from triptych import cute; cute.Tensor", "print(double(3))")],
)
def test_subinterpreter_is_refused_in_words(use: str, before: str, tmp_path: Path) -> None:
    text = MAIN.format(module=module(), path=[folder for folder in sys.path if folder], use=use, before=before)
    (tmp_path / "program.py").write_text(text)
    done = run(str(tmp_path / "program.py"))
    refused = "SubinterpreterError [TT0736] Triptych works in the main interpreter of a process only"
    assert done.stdout.splitlines() == [*(["6"] if before else []), refused, "None", "8"], done.stderr

"""Every typical mistake: its error, the line and column it points at, its text, and a traceback of the user's frames.

The texts are golden files beside the programs; `pytest tests/errors --update-golden` writes them anew.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import traceback
from pathlib import Path

import pytest

import triptych
from tests.errors.mistake import Mistake, mistakes
from tests.golden import Golden
from triptych.support.errors import TriptychError
from triptych.workbench.commands.errors_page import errors

MISTAKES = mistakes()
NOT_BY_A_PROGRAM = {
    "TT0737",  # ranks are several processes: tests/unit/ranks
    "TT0103",  # a file that is edited after it was imported
    "TT0104",  # takes a very long program: tests/integration/test_long_programs.py
    "TT0502",  # the code generator refuses what the compiler emits only by a bug of the compiler
    "TT0503",  # as above, when LLVM aborts
    "TT0506",  # a broken installation
    "TT0508",  # one of versions that do not go together: tests/unit/ir/llvm/test_bridge.py
    "TT0510",  # code for NVIDIA GPUs: needs tools that not every machine has, and has tests of its own
    "TT0511",
    "TT0512",
    "TT0513",
    "TT0514",
    "TT0515",
    "TT0516",  # a system without a port: tests/unit/targets/cpu/abi/test_system.py
    "TT0636",  # of `triptych check` of a kernel file: tests/unit/workbench/commands/test_check_outputs.py
    "TT0638",  # of `triptych check --schedules`: tests/unit/workbench/commands/test_check_command.py
    "TT0614",  # a process without a terminal: tests/unit/targets/cpu/debugger/test_breakpoints.py
    "TT0632",  # takes 2**32 barriers: tests/unit/sanitizer/test_findings.py
    "TT0649",  # needs torch: tests/integration/test_torch_tracers.py
    "TT0654",  # needs torch: tests/frameworks/test_torch_operators.py
    "TT0655",  # needs torch: the same
    "TT0656",  # needs JAX: tests/frameworks/test_jax_exports.py
    "TT0657",  # needs torch: the same
    "TT0651",  # needs JAX: tests/unit/cute/runtime/test_arguments_foreign.py
    "TT0701",  # plug-ins: their own tests
    "TT0702",
    "TT0703",  # settings, command line: their own tests
    "TT0704",
    "TT0705",
    "TT0708",
    "TT0709",
    "TT0714",
    "TT0717",  # manifests and sealed processes: tests/integration/test_sealed.py
    "TT0718",
    "TT0720",  # the workbench: tests/unit/workbench
    "TT0721",
    "TT0722",
    "TT0723",
    "TT0724",
    "TT0725",
    "TT0729",
    "TT0734",  # whose compiled code is run: tests/unit/artifact_store/test_trust.py
    "TT0735",  # a file that is no archive: tests/unit/artifact_store/test_archives.py
    "TT0736",  # a sub-interpreter: tests/integration/test_subinterpreters.py
    "TT0740",  # a frozen program: tests/integration/test_packaged_kernels.py
    "TT0710",  # the other package: tests/integration/test_compat_imports.py
}

each_mistake = pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.file.stem)


def raised_by(mistake: Mistake) -> TriptychError:
    """Run the program as a script would run, and hand over what it raises."""
    code = compile(mistake.file.read_text(encoding="utf-8"), mistake.file, "exec")
    with pytest.raises(TriptychError) as raised:
        exec(code, {"__name__": "__main__"})
    return raised.value


@each_mistake
def test_error_is_the_promised_one(mistake: Mistake) -> None:
    error = raised_by(mistake)
    assert error.code == mistake.code
    assert f"[{mistake.code}] " in str(error)


@each_mistake
def test_caret_is_where_the_mistake_is(mistake: Mistake) -> None:
    lines = str(raised_by(mistake)).splitlines()
    where, caret = lines[1].split(" in ")[0], lines[4]
    assert where.endswith(f"--> {mistake.file}:{mistake.line}:{mistake.column}")
    shown = caret.partition("| ")[2]
    assert shown.index("^") == mistake.column - 1


@each_mistake
def test_text_is_the_golden_one(mistake: Mistake, golden: Golden) -> None:
    golden.check(mistake.golden, mistake.readable(raised_by(mistake)))


@each_mistake
def test_error_is_an_object_with_its_facts_apart(mistake: Mistake) -> None:
    error = raised_by(mistake)
    assert len(error.title.splitlines()) == 1
    assert "-->" not in error.title
    assert error.span is not None
    assert (error.span.line, error.span.column) == (mistake.line, mistake.column - 1)
    facts = json.loads(json.dumps(error.as_dict()))
    assert facts["code"] == mistake.code
    assert facts["span"]["line"] == mistake.line
    assert f"[{mistake.code}] {facts['title']}\n" in str(error)


@each_mistake
def test_traceback_has_only_frames_of_the_program(mistake: Mistake) -> None:
    error = raised_by(mistake)
    frames = traceback.extract_tb(error.__traceback__)
    assert {frame.filename for frame in frames if frame.filename != __file__} == {str(mistake.file)}
    assert error.__cause__ is None
    assert error.__context__ is None or error.__suppress_context__


SAMPLE = ("mistake_in_a_helper", "division_by_zero_in_a_helper", "compiled_with_text", "unknown_target", "no_source")


@pytest.mark.parametrize("name", SAMPLE)
def test_script_shows_nothing_of_the_framework(name: str) -> None:
    mistake = next(mistake for mistake in MISTAKES if mistake.file.stem == name)
    source = str(Path(triptych.__file__).parents[1])
    finished = subprocess.run(
        [sys.executable, str(mistake.file)],
        env={**os.environ, "PYTHONPATH": source},
        capture_output=True,
        text=True,
        check=False,
    )
    assert finished.returncode == 1
    files = re.findall(r'^ *File "(.*)", line', finished.stderr, re.MULTILINE)
    assert set(files) == {str(mistake.file)}
    assert f"[{mistake.code}] " in finished.stderr
    assert finished.stdout == ""


def test_every_error_of_a_program_has_a_mistake() -> None:
    shown = {mistake.code for mistake in MISTAKES}
    assert sorted({error.code for error in errors()} - shown - NOT_BY_A_PROGRAM) == []


def test_there_are_many_mistakes_and_each_has_its_text() -> None:
    assert len(MISTAKES) >= 34
    texts = list(MISTAKES[0].file.parent.glob("*.txt"))
    assert {mistake.golden for mistake in MISTAKES} <= set(texts)
    assert {text.name.split(".")[0] for text in texts} == {mistake.file.stem for mistake in MISTAKES}

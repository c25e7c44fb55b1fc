"""The command line as a user types it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import triptych
from tests.support.json_schema import mistakes
from triptych.workbench.commands.cli import main
from triptych.workbench.commands.errors_page import errors, page


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["--version"])
    assert stop.value.code == 0
    assert capsys.readouterr().out == f"triptych {triptych.__version__}\n"


def test_module_is_the_command() -> None:
    result = subprocess.run([sys.executable, "-m", "triptych", "--version"], capture_output=True, text=True, check=True)
    assert triptych.__version__ in result.stdout


@pytest.mark.parametrize("arguments", [["shout"], ["show"], ["show", "a.py:f", "--stage", "ptx"]])
def test_wrong_usage_is_exit_code_2(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    assert stop.value.code == 2
    assert "usage: triptych" in capsys.readouterr().err


def test_env_lists_every_setting(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["env"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert any(line.startswith("TRIPTYCH_OPT_LEVEL=") for line in lines)
    assert all("default" in line or "TRIPTYCH" in line for line in lines)


def test_env_as_json_names_the_same_settings_as_the_text(capsys: pytest.CaptureFixture[str]) -> None:
    main(["env"])
    text = capsys.readouterr().out
    main(["env", "--json"])
    records = json.loads(capsys.readouterr().out)
    assert [line.split("=")[0] for line in text.splitlines()] == [record["variable"] for record in records]


def test_errors_lists_every_code(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["errors"]) == 0
    assert [line[:6] for line in capsys.readouterr().out.splitlines()] == [error.code for error in errors()]


def test_errors_explains_one_code_in_any_case(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["errors", "tt0703"]) == 0
    assert capsys.readouterr().out.startswith("## TT0703 SettingError")


def test_errors_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    main(["errors", "TT0701", "--json"])
    (record,) = json.loads(capsys.readouterr().out)
    assert (record["name"], record["builtin"]) == ("UnknownPluginError", "LookupError")


def test_errors_as_json_follow_the_published_schema(capsys: pytest.CaptureFixture[str]) -> None:
    main(["errors", "--schema"])
    schema = json.loads(capsys.readouterr().out)
    main(["errors", "--json"])
    records = json.loads(capsys.readouterr().out)
    assert len(records) == len(errors())
    assert list(mistakes(records, schema)) == []
    first = {**records[0], "code": "TT1", "more": ""}
    del first["fixed"]
    assert len(list(mistakes([first], schema))) == 3


def test_a_wrong_request_ends_with_the_page_of_its_error(capsys: pytest.CaptureFixture[str]) -> None:
    main(["errors", "TT07044"])
    assert capsys.readouterr().err.endswith("  = more: triptych errors TT0705\n")


def test_unknown_code_is_a_wrong_request_with_a_guess(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["errors", "TT07044"]) == 2
    assert "did you mean 'TT0704'" in capsys.readouterr().err


def test_page_is_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "errors.md"
    assert main(["errors", "--page", str(target)]) == 0
    assert target.read_text(encoding="utf-8") == page()
    assert str(target) in capsys.readouterr().out


PROGRAM = """
import sys
import triptych as tt

print("the file speaks")

@tt.jit
def double(x: tt.Int32):
    print("while it is traced")
    return x + x

@tt.jit
def mistaken(x: tt.Int32):
    return x << 0.5

def plain():
    return {}["key"]

@tt.jit
def raises(x: tt.Int32):
    return x + plain()
"""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    file = tmp_path / "program.py"
    file.write_text(PROGRAM, encoding="utf-8")
    return file


def triptych_command(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """The command in a process of its own."""
    environment = {**os.environ, "PYTHONPATH": str(Path(triptych.__file__).parents[1]), **variables}
    command = [sys.executable, "-m", "triptych", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["show", "no_such_file.py:f"], "there is no file no_such_file.py"),
        (["show", "{program}:duoble"], "did you mean 'double'?"),
        (["show", "{program}:double", "--args", "1, 2"], "too many positional arguments"),
        (["show", "{program}:double", "--args", "1", "--target", "cpo"], "there is no target 'cpo'"),
        (["errors", "TT07044"], "did you mean 'TT0704'?"),
        (["layout", "(8,8:(8,1)"], "not in the layout notation"),
        (["layout", "(4,8):(8,1)", "--divide", "3"], "[TT08"),
    ],
)
def test_wrong_request_is_exit_code_2_and_points_nowhere(arguments: list[str], message: str, program: Path) -> None:
    finished = triptych_command(*(argument.format(program=program) for argument in arguments))
    assert finished.returncode == 2
    assert f"triptych {arguments[0]}: error: [TT0" in finished.stderr
    assert message in finished.stderr
    assert "-->" not in finished.stderr
    assert "Traceback" not in finished.stderr
    assert finished.stdout == ""


def test_wrong_setting_is_a_wrong_request() -> None:
    finished = triptych_command("env", TRIPTYCH_DEBUG="bound")
    assert (finished.returncode, finished.stdout) == (2, "")
    assert "triptych env: error: [TT0703] TRIPTYCH_DEBUG has no usable value" in finished.stderr
    assert "did you mean 'bounds'?" in finished.stderr


def test_error_of_the_program_is_exit_code_1_at_its_line(program: Path) -> None:
    finished = triptych_command("show", f"{program}:mistaken", "--args", "1")
    assert finished.returncode == 1
    assert f"--> {program}:14:12 in mistaken" in finished.stderr
    assert "Traceback" not in finished.stderr


def test_exception_of_the_program_keeps_its_frames_only(program: Path) -> None:
    finished = triptych_command("show", f"{program}:raises", "--args", "1")
    assert finished.returncode == 1
    files = set(re.findall(r'^ *File "(.*)", line', finished.stderr, re.MULTILINE))
    assert files == {str(program)}
    assert finished.stderr.endswith("KeyError: 'key'\n")


def test_what_the_file_prints_is_no_part_of_the_answer(program: Path) -> None:
    finished = triptych_command("show", f"{program}:double", "--args", "1", "--json")
    assert finished.returncode == 0
    assert set(json.loads(finished.stdout)["stages"]) >= {"source", "asm"}
    assert finished.stderr == "the file speaks\nwhile it is traced\n"


def test_file_that_ends_the_program_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "ends.py"
    file.write_text("import sys\nsys.exit(3)\n", encoding="utf-8")
    finished = triptych_command("show", f"{file}:f")
    assert finished.returncode == 2
    assert "ends the program when it is imported" in finished.stderr

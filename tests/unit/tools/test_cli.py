"""The command line as a user types it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import triptych
from triptych.tools.cli import main
from triptych.tools.errors_page import errors, page


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["--version"])
    assert stop.value.code == 0
    assert capsys.readouterr().out == f"triptych {triptych.__version__}\n"


def test_module_is_the_command() -> None:
    result = subprocess.run([sys.executable, "-m", "triptych", "--version"], capture_output=True, text=True, check=True)
    assert triptych.__version__ in result.stdout


@pytest.mark.parametrize("arguments", [[], ["shout"], ["show"], ["show", "a.py:f", "--stage", "ptx"]])
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


def test_unknown_code_is_exit_code_1_with_a_guess(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["errors", "TT07011"]) == 1
    assert "did you mean 'TT0701'" in capsys.readouterr().err


def test_page_is_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "errors.md"
    assert main(["errors", "--page", str(target)]) == 0
    assert target.read_text(encoding="utf-8") == page()
    assert str(target) in capsys.readouterr().out


def test_failed_request_is_exit_code_1(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", "no_such_file.py:f"]) == 1
    assert "there is no file no_such_file.py" in capsys.readouterr().err

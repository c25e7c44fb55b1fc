"""`triptych check --sarif`: the rules of SARIF 2.1.0 that readers depend on, and what is in the results."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.json_schema import mistakes
from triptych.support.config import override
from triptych.workbench.commands.cli import main

_TEXT = {"type": "object", "required": ["text"], "properties": {"text": {"type": "string", "minLength": 1}}}
_NUMBER = {"type": "integer", "minimum": 1}
_PLACE = {
    "type": "object",
    "required": ["artifactLocation", "region"],
    "properties": {
        "artifactLocation": {
            "type": "object",
            "required": ["uri"],
            "additionalProperties": False,
            "properties": {"uri": {"type": "string", "pattern": r"^[^\s\\]+$"}, "uriBaseId": {"const": "%SRCROOT%"}},
        },
        "region": {
            "type": "object",
            "required": ["startLine"],
            "additionalProperties": False,
            "properties": {"startLine": _NUMBER, "startColumn": _NUMBER, "endColumn": _NUMBER},
        },
    },
}
_SUPPRESSION = {"required": ["kind"], "properties": {"kind": {"const": "inSource"}}}
_RESULT = {
    "type": "object",
    "required": ["ruleId", "ruleIndex", "level", "message", "locations"],
    "additionalProperties": False,
    "properties": {
        "ruleId": {"type": "string", "pattern": "^TT[0-9]{4}$"},
        "ruleIndex": {"type": "integer", "minimum": 0},
        "level": {"enum": ["none", "note", "warning", "error"]},
        "message": _TEXT,
        "locations": {"type": "array", "minItems": 1, "items": {"properties": {"physicalLocation": _PLACE}}},
        "relatedLocations": {
            "type": "array",
            "items": {
                "required": ["id", "message", "physicalLocation"],
                "properties": {"id": _NUMBER, "message": _TEXT, "physicalLocation": _PLACE},
            },
        },
        "suppressions": {
            "type": "array",
            "items": {"required": ["kind"], "properties": {"kind": {"const": "inSource"}}},
        },
    },
}
_RULE = {
    "type": "object",
    "required": ["id", "name", "shortDescription", "help"],
    "additionalProperties": False,
    "properties": {
        "id": {"type": "string"},
        "name": {"type": "string"},
        "shortDescription": _TEXT,
        "help": _TEXT,
        "helpUri": {"type": "string", "pattern": "^https?://"},
    },
}
_RUN = {
    "type": "object",
    "required": ["tool", "results"],
    "properties": {
        "tool": {
            "required": ["driver"],
            "properties": {
                "driver": {"required": ["name"], "properties": {"rules": {"type": "array", "items": _RULE}}}
            },
        },
        "results": {"type": "array", "items": _RESULT},
    },
}
RULES = {
    "type": "object",
    "required": ["version", "runs"],
    "properties": {"version": {"const": "2.1.0"}, "runs": {"type": "array", "minItems": 1, "items": _RUN}},
}
PROGRAM = """\
import numpy as np
import triptych as tt
from triptych import cute

@tt.kernel
def reverse(größe: cute.Tensor, y: cute.Tensor):
    tile = cute.make_tensor(cute.arch.alloc_smem(tt.Float32, 64), cute.make_layout(64))
    i, _, _ = cute.arch.thread_idx()
    tile[i] = größe[i]
    größe[i], y[i] = größe[i], tile[63 - i]{comment}

@tt.jit
def launch(x: cute.Tensor, y: cute.Tensor):
    reverse(x, y).launch(grid=1, block=64)

launch(np.ones(64, np.float32), np.ones(64, np.float32))
{ending}"""


@pytest.fixture
def checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.chdir(tmp_path)

    def check(comment: str = "", ending: str = "", status: int = 1) -> dict[str, Any]:
        (tmp_path / "a kernel.py").write_text(PROGRAM.format(comment=comment, ending=ending), encoding="utf-8")
        assert main(["check", "a kernel.py", "--only", "races", "--sarif", "found.sarif"]) == status
        log = json.loads((tmp_path / "found.sarif").read_text(encoding="utf-8"))
        assert list(mistakes(log, RULES)) == []
        (run,) = log["runs"]
        return dict(run)

    return check


def test_a_race_is_a_result_with_both_lines(checked: Any) -> None:
    with override(error_help="https://host/docs"):
        run = checked()
    (rule,) = run["tool"]["driver"]["rules"]
    assert (rule["id"], rule["helpUri"]) == ("TT0630", "https://host/docs/errors/TT0630.html")
    assert "Fails:" in rule["help"]["markdown"]
    (result,) = run["results"]
    assert (result["level"], result["ruleIndex"]) == ("error", 0)
    place = result["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "a%20kernel.py"
    line = PROGRAM.splitlines()[9]
    column = line.index("tile[") + 1
    assert place["region"] == {"startLine": 10, "startColumn": column, "endColumn": column + len("tile[63 - i]")}
    earlier = result["relatedLocations"][0]
    assert earlier["physicalLocation"]["region"]["startLine"] == 9
    assert f"[{earlier['message']['text']}]({earlier['id']})" in result["message"]["text"]
    assert "sync_threads" in result["message"]["text"]


def test_an_allowed_finding_is_suppressed(checked: Any) -> None:
    run = checked("  # triptych: allow TT0630 benign: a test", status=0)
    (result,) = run["results"]
    assert result["suppressions"] == [{"kind": "inSource", "justification": "benign: a test"}]


def test_an_exception_of_the_program_is_a_notification(checked: Any) -> None:
    run = checked(ending="raise KeyError('mine')")
    assert len(run["results"]) == 1, "what was found before is told"
    (invocation,) = run["invocations"]
    assert not invocation["executionSuccessful"]
    assert invocation["toolExecutionNotifications"][0]["message"]["text"] == "KeyError: 'mine'"


def test_an_error_that_ends_the_program_is_a_result(checked: Any) -> None:
    run = checked("  # triptych: allow TT0630 benign: a test", "tt.jit(lambda: undefined)()")
    assert [result["level"] for result in run["results"]] == ["note", "error"]
    assert run["invocations"][0]["executionSuccessful"]

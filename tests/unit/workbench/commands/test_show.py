"""Finding the function, reading the arguments, laying out its stages."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from triptych.workbench.commands.cli import main
from triptych.workbench.commands.show import STAGES, ShowError, example_arguments, find, layout, show

PROGRAM = """
import triptych as tt
from beside_it import LIMIT

@tt.jit
def clamp_sum(n: tt.Int32, limit: tt.Int32):
    total = 0
    for i in range(n):
        if total > limit:
            break
        total += i
    return total

class Box:
    @staticmethod
    def inner():
        return LIMIT

if __name__ == "__main__":
    raise SystemExit("the main block ran")
"""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    (tmp_path / "beside_it.py").write_text("LIMIT = 50\n")
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    return path


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ([], {})),
        ("100, -2.5", ([100, -2.5], {})),
        ("(1, 2), n=3, name='x,y'", ([(1, 2)], {"n": 3, "name": "x,y"})),
    ],
)
def test_example_arguments(text: str, expected: tuple[list[object], dict[str, object]]) -> None:
    assert example_arguments(text) == expected


@pytest.mark.parametrize("text", ["n", "1,,2", "open('x')", "1) + f(2", "**{'a': 1}", "*[1]"])
def test_anything_but_literals_is_refused(text: str) -> None:
    with pytest.raises(ShowError, match="not literals"):
        example_arguments(text)


def test_find_runs_the_file_but_not_its_main_block(program: Path) -> None:
    path_before = list(sys.path)
    assert find(f"{program}:Box.inner")() == 50
    assert sys.path == path_before


@pytest.mark.parametrize(
    ("place", "message"),
    [("{}", "names no function"), ("{}:", "names no function"), ("{}:clmap_sum", "did you mean 'clamp_sum'")],
)
def test_unfindable_function(program: Path, place: str, message: str) -> None:
    with pytest.raises(ShowError, match=message):
        find(place.format(program.name if place == "{}" else program))


def test_file_that_is_not_python(tmp_path: Path) -> None:
    (tmp_path / "notes.md").write_text("hello")
    with pytest.raises(ShowError, match="not a Python file"):
        find(f"{tmp_path / 'notes.md'}:f")


def test_layout_pairs_neighbouring_stages() -> None:
    texts = {name: f"<{name}>" for name in STAGES}
    rows = layout(texts, "all", 120).splitlines()
    for left, right in (("source", "rewritten"), ("mlir", "lowered"), ("llvm", "asm")):
        assert any(f"<{left}>" in row and f"<{right}>" in row for row in rows)


def test_layout_sets_one_stage_beside_the_source() -> None:
    (row,) = [row for row in layout({"source": "S", "llvm": "L"}, "llvm", 120).splitlines() if row.startswith("S ")]
    assert row.endswith("L")


def test_layout_of_the_source_alone() -> None:
    assert layout({"source": "S"}, "source", 120).splitlines()[1:] == ["S"]


def test_show_prints_a_stage(program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", f"{program}:clamp_sum", "--stage", "mlir", "--args", "100, 50", "--width", "160"]) == 0
    shown = capsys.readouterr().out
    assert "def clamp_sum" in shown
    assert "func.func" in shown
    assert max(map(len, shown.splitlines())) <= 160


def test_show_as_json_has_every_stage(program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", f"{program}:clamp_sum", "--args", "100, limit=50", "--json"]) == 0
    stages = json.loads(capsys.readouterr().out)["stages"]
    assert tuple(stages) == STAGES
    assert all(stages.values())


@pytest.mark.parametrize(("name", "guess"), [("clamp_sums", "did you mean 'clamp_sum'?"), ("nothing", "")])
def test_a_name_that_is_not_there(program: Path, name: str, guess: str) -> None:
    with pytest.raises(ShowError) as raised:
        find(f"{program}:{name}")
    assert raised.value.expected == "one of 'clamp_sum', 'Box'"
    assert raised.value.instead == guess


@pytest.mark.parametrize(
    ("arguments", "found"), [("", "no --args"), ("1", "--args '1'"), ("1, 2, 3", "--args '1, 2, 3'")]
)
def test_arguments_that_do_not_fit_are_those_of_the_option(program: Path, arguments: str, found: str) -> None:
    with pytest.raises(ShowError) as raised:
        show(f"{program}:clamp_sum", arguments=arguments)
    assert raised.value.found == found
    assert raised.value.expected.endswith("clamp_sum(n, limit)")
    assert raised.value.instead.startswith("--args ")

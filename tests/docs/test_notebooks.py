"""Notebooks of the site: what their pages promise is compared with what cells show, names exist, the path is whole."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from docs.site import names, notebooks
from docs.site.names import unknown_names, unknown_names_of
from docs.site.notebook_checks import problems
from triptych.ir.errors import MissingPackageError

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "docs" / notebooks.FOLDER
LISTED = re.findall(r"^learn/(\S+)$", (ROOT / "docs/index.md").read_text(encoding="utf-8"), re.MULTILINE)


def executed(prose: str, code: str = "x = 2\nprint(x + 2)", output: str = "4\n") -> dict[str, Any]:
    stream = {"output_type": "stream", "name": "stdout", "text": [output]}
    return {
        "cells": [
            {"cell_type": "markdown", "source": [prose]},
            {"cell_type": "code", "source": [code], "outputs": [stream]},
        ]
    }


@pytest.mark.parametrize(
    ("prose", "code", "found"),
    [
        ("Two and 2 are 4.", "x = 2\nprint(x + 2)", []),
        ("They are 5.", "x = 2\nprint(x + 2)", ["no cell shows the number 5"]),
        ("1,024 bytes, `17` spans, [a](b17.md), sm_80", "1024", ["no cell shows the number 1,024"]),
        ("# 3. A title\n\nNo number.", "pass", []),
        ("Text.", "print(2 + 2)  # 4", []),
        ("Text.", "print(2 + 2)  # 5", ["no line of the output is '5', as a comment says"]),
    ],
)
def test_what_no_cell_shows_is_found(prose: str, code: str, found: list[str]) -> None:
    assert list(problems(executed(prose, code))) == found


def test_names_that_do_not_exist_are_found(tmp_path: Path) -> None:
    text = "`cute.arch.thread_idx()`, `tt.no_such`, `triptych.layout.no_such(1)`, `tt.Int32`\n\n```\n`tt.code`\n```\n"
    assert unknown_names(text) == ["tt.no_such", "triptych.layout.no_such"]
    for folder in ("guides", "decisions"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "a.md").write_text(text)
    assert [each.partition(":")[0] for each in unknown_names_of(tmp_path)] == ["guides/a.md"] * 2


def test_each_notebook_is_listed_and_leads_to_the_next() -> None:
    assert sorted(LISTED) == sorted(page.stem for page in FOLDER.glob("*.md"))
    for number, (name, following) in enumerate(zip(LISTED, [*LISTED[1:], None], strict=True), start=1):
        text = (FOLDER / f"{name}.md").read_text(encoding="utf-8")
        assert f"\n# {number}. " in text
        end = text.partition("\n## Exercise\n")[2]
        assert end, f"{name} ends with an exercise"
        assert following is None or f"({following}.md)" in end


def test_a_notebook_to_load_down_stands_alone(tmp_path: Path) -> None:
    text = notebooks.with_download("---\nx: y\n---\n\n# Title\n\nA [link](../a.md#b), <https://llvm.org>.\n", "name")
    assert 'href="name.ipynb"' in text
    loaded = notebooks.to_load_down(executed(text.partition("---\n\n")[2]))
    prose, code = loaded["cells"]
    assert prose["source"] == "# Title\n\nA link, <https://llvm.org>.\n"
    assert code["outputs"] == []
    json.dumps(loaded)


def test_another_package_has_another_cache(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1\n")
    before = notebooks.cache_key(tmp_path)
    assert notebooks.cache_key(tmp_path) == before
    (tmp_path / "a.py").write_text("x = 2\n")
    assert notebooks.cache_key(tmp_path) != before


def test_a_module_that_needs_a_missing_package_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> object:
        raise MissingPackageError(f"{name} needs a package")

    module = ModuleType("lacking")
    module.__getattr__ = missing  # type: ignore[method-assign]  # as packages that load their names late have one
    monkeypatch.setitem(sys.modules, "lacking", module)
    monkeypatch.setitem(names._SHORT, "lacking", "lacking")
    assert names.exists("lacking.torch.f")

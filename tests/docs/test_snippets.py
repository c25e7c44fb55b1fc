"""The Python blocks of the README and the docs run, and print what they say they print.

The blocks of one page share a namespace, top to bottom. A comment after a `print(...)` is its expected output; a `text`
block right after a Python block is the whole output (`pytest --update-golden` writes it).
`docs/errors.md` is left out: half of its programs fail on purpose, and the catalogue contract reads them.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
ADDRESS = re.compile(r"\b0x[0-9a-f]{16}\b")  # no two runs have the same
BLOCK = re.compile(r"^```python\n(?P<code>.*?)^```\n(?:\n```text\n(?P<output>.*?)^```$)?", re.MULTILINE | re.DOTALL)
PROMISE = re.compile(r"print\(.*\)\s+# (.+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Block:
    """A piece of code, the line of the page it starts on, and its whole output if the page shows it."""

    code: str
    line: int
    output: str | None


def blocks(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    return [
        Block(match["code"], text.count("\n", 0, match.start("code")) + 1, match["output"])
        for match in BLOCK.finditer(text)
    ]


def run(block: Block, file: Path, namespace: dict[str, object]) -> None:
    """Run a block from a real file, because the compiler reads source; the padding keeps the page's line numbers."""
    text = "\n" * (block.line - 1) + block.code
    file.write_text(text, encoding="utf-8")
    exec(compile(text, file, "exec"), namespace)


def rewrite(page: Path, block: Block, printed: str) -> None:
    text = page.read_text(encoding="utf-8")
    before, after = (f"{block.code}```\n\n```text\n{output}```" for output in (block.output, printed))
    page.write_text(text.replace(before, after), encoding="utf-8")


RUNNABLE = [page for page in PAGES if page.name != "errors.md" and blocks(page)]


@pytest.mark.parametrize("page", RUNNABLE, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_page_runs_and_keeps_its_promises(
    page: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    pytestconfig: pytest.Config,
) -> None:
    for library in ("jax", "torch"):
        if any(f"import {library}\n" in block.code for block in blocks(page)):
            pytest.importorskip(library)
    module = ModuleType(page.stem if page.parent.name != "examples" else f"examples-{page.stem}")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    for block in blocks(page):
        file = tmp_path / str(block.line) / f"{page.stem}.py"
        file.parent.mkdir()
        run(block, file, vars(module))
        printed = ADDRESS.sub("0x…", capsys.readouterr().out.replace(f"{file.parent}/", ""))
        promised = [comment.strip() for comment in PROMISE.findall(block.code)]
        absent = [line for line in promised if line not in printed.splitlines()]
        assert not absent, f"the block at line {block.line} printed {printed}"
        if block.output is not None and pytestconfig.getoption("--update-golden"):
            rewrite(page, block, printed)
        elif block.output is not None:
            assert printed == block.output, f"block at line {block.line}"


def test_readme_has_something_to_run() -> None:
    assert ROOT / "README.md" in RUNNABLE


def test_no_page_is_called_like_a_module_of_python() -> None:
    """Saved under the page's name, its program would be imported in place of that module."""
    assert [page.name for page in RUNNABLE if page.stem in sys.stdlib_module_names] == []

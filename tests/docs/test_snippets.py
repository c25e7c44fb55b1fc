"""The Python blocks of the README and the docs run, and print what they say they print.

The blocks of one page share a namespace, top to bottom. A comment after a `print(...)` is its expected output.
`docs/errors.md` is left out: half of its programs fail on purpose, and the catalogue contract reads them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PROMISE = re.compile(r"print\(.*\)\s+# (.+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Block:
    """A piece of code and the line of the page it starts on."""

    code: str
    line: int


def blocks(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    return [Block(match[1], text.count("\n", 0, match.start(1)) + 1) for match in BLOCK.finditer(text)]


def run(block: Block, name: str, folder: Path, namespace: dict[str, object]) -> None:
    """Run a block from a real file, because the compiler reads source; the padding keeps the page's line numbers."""
    file = folder / f"{name}_{block.line}.py"
    text = "\n" * (block.line - 1) + block.code
    file.write_text(text, encoding="utf-8")
    exec(compile(text, file, "exec"), namespace)


RUNNABLE = [page for page in PAGES if page.name != "errors.md" and blocks(page)]


@pytest.mark.parametrize("page", RUNNABLE, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_page_runs_and_keeps_its_promises(page: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    namespace: dict[str, object] = {"__name__": page.stem}
    for block in blocks(page):
        run(block, page.stem, tmp_path, namespace)
        printed = capsys.readouterr().out.splitlines()
        promised = [comment.strip() for comment in PROMISE.findall(block.code)]
        assert [line for line in promised if line not in printed] == [], f"block at line {block.line} printed {printed}"


def test_readme_has_something_to_run() -> None:
    assert ROOT / "README.md" in RUNNABLE

"""Every file that CONTRIBUTING.md and ARCHITECTURE.md name in backticks, or link, exists."""

from __future__ import annotations

import re

import pytest

from tests.contracts.tree import PACKAGE, ROOT

PAGES = ("CONTRIBUTING.md", "ARCHITECTURE.md")
TOP = ("src", "tests", "docs", "examples", "benchmarks", ".ci")
NAMED = re.compile(r"`([\w./-]+/[\w./-]*)`|\]\((?!https?:)([\w./-]+)(?:#[\w-]*)?\)")
PATTERNS = {"src/triptych/a/b.py", "tests/unit/a"}
"""Names that stand for any."""


def paths(page: str) -> list[str]:
    found = NAMED.findall((ROOT / page).read_text(encoding="utf-8"))
    return sorted({quoted or linked for quoted, linked in found} - PATTERNS)


@pytest.mark.parametrize("page", PAGES)
def test_pages_name_files(page: str) -> None:
    assert len(paths(page)) > 10


@pytest.mark.parametrize(("page", "path"), [(page, path) for page in PAGES for path in paths(page)])
def test_named_file_exists(page: str, path: str) -> None:
    """A path begins at the root of the repository, or below the package."""
    root = ROOT if path.split("/")[0] in (*TOP, path) else PACKAGE
    assert (root / path).exists(), f"{page} names {path}"

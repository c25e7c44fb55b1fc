"""Planted defects: a site of one notebook and one page, which is right, and five ways in which it is not.

Input: what renders a folder of sources and says what is wrong. A defect that nobody finds means that a check of the
build has stopped to look.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import redirect_stderr
from pathlib import Path

from docs.site.assemble import repository_pages, write

_NOTEBOOK = """\
---
jupytext:
  text_representation:
    extension: .md
    format_name: myst
kernelspec:
  name: python3
  display_name: Python 3
---

# A notebook

Two and two are 4, see [a guide](../guides/guide.md) and `cute.arch.thread_idx`.

```{code-cell} ipython3
print(2 + 2)  # 4
```
"""
_SITE = {
    "docs/index.md": "# Site\n\n```{toctree}\n:caption: Learn\n\nlearn/notebook\nguides/guide\n```\n",
    "docs/guides/guide.md": "# A guide\n\nIt says something.\n",
    **dict.fromkeys(
        ("ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "docs/decisions/README.md", "docs/knowledge/README.md"),
        "---\norphan: true\n---\n\n# A page\n\nIt says something.\n",
    ),
    "docs/errors/index.md": "---\norphan: true\n---\n\n# Errors\n\nThere are none.\n",
}
FAILED = "Sphinx has failed"
DEFECTS = {
    "none": ("", "", ""),
    "block": ("print(2 + 2)", "print(2 / 0)", FAILED),
    "output": ("# 4\n", "# 5\n", "no line of the output is '5'"),
    "link": ("guide.md", "no-such-guide.md", "no-such-guide.md, which is not there"),
    "name": ("thread_idx", "no_such_name", "there is no cute.arch.no_such_name"),
    "number": ("two are 4", "two are 5", "no cell shows the number 5"),
}
"""Each by what is replaced in the notebook, by what, and what the build says then."""


def is_found(defect: str, said: list[str]) -> bool:
    """Whether the build said what it should, and nothing else."""
    expected = DEFECTS[defect][2]
    return len(said) == bool(expected) and expected in "".join(said)


def found(defect: str, scratch: Path, render: Callable[[Path], list[str]]) -> list[str]:
    """What a build says of the site with one defect, or with none."""
    before, after, _ = DEFECTS[defect]
    root = scratch / defect
    write(_SITE | {"docs/learn/notebook.md": _NOTEBOOK.replace(before, after)}, root)
    try:
        write(repository_pages(root, root / "site/sources"), root / "site/sources")
    except FileNotFoundError as error:
        return [str(error)]
    with open(os.devnull, "w", encoding="utf-8") as nowhere, redirect_stderr(nowhere):
        return render(root / "site")

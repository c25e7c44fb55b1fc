"""Checks of an executed notebook: each number of its prose is shown by a cell, comments promise what cells print.

A cell shows a number if it stands in its code or in its output. Numbers in code spans, in links and in the titles' own
numbering are not looked at. `print(...)  # 3.5` promises a line of output, as in the guides.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

_QUIET = re.compile(r"`[^`]*`|\]\([^)]*\)|<[^>]*>|^#+ \d+\.", re.MULTILINE)
_NUMBER = re.compile(r"(?<![\w.,-])\d+(?:[.,]\d+)*(?![\w])")
_PROMISE = re.compile(r"print\(.*\)\s+# (.+)$", re.MULTILINE)


def problems(notebook: Mapping[str, Any]) -> Iterator[str]:
    """What a page says and no cell shows."""
    cells = notebook["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    prose = "\n\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")
    shown = set(_NUMBER.findall("\n".join(f"{''.join(cell['source'])}\n{printed(cell)}" for cell in code)))
    for number in dict.fromkeys(_NUMBER.findall(_QUIET.sub(" ", prose))):
        if number not in shown:
            yield f"no cell shows the number {number}"
    for cell in code:
        lines = printed(cell).splitlines()
        for promise in _PROMISE.findall("".join(cell["source"])):
            if promise.strip() not in lines:
                yield f"no line of the output is {promise.strip()!r}, as a comment says"


def printed(cell: Mapping[str, Any]) -> str:
    """The output of a cell, as text."""
    parts = []
    for output in cell.get("outputs", ()):
        data = output.get("data", {})
        parts += ["".join(output.get("text", "")), *("".join(data.get(kind, "")) for kind in _TEXTS)]
    return "\n".join(parts)


_TEXTS = ("text/plain", "text/html", "text/markdown", "image/svg+xml")

"""Notebooks of the site: the key of their cache, what each took, and copies of them to load down.

MyST-NB executes them while Sphinx reads the pages, and leaves the executed notebooks beside the site. This extension
of Sphinx writes how long each took; what pages promise is compared with what cells printed (`notebook_checks`).
"""

from __future__ import annotations

import hashlib
import json
import logging
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from docs.site.notebook_checks import problems

FOLDER = "learn"
_TIMES = "notebooks.json"
_LINK = re.compile(r"\[(?P<text>[^]]+)\]\([^)\s:]+\)")
_DOWNLOAD = re.compile(r"^<a class=\"download\".*</a>\n+", re.MULTILINE)


def cache_key(package: Path) -> str:
    """A digest of the package: what another version of it printed is not shown."""
    digest = hashlib.sha256()
    for path in sorted(package.rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            digest.update(path.relative_to(package).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:16]


def with_download(text: str, name: str) -> str:
    """A page with a link to its notebook below its title."""
    title = re.search(r"^# .*\n", text, re.MULTILINE)
    assert title is not None, f"{name} has no title"
    line = f'\n<a class="download" href="{name}.ipynb" download>Download this notebook</a>\n'
    return text[: title.end()] + line + text[title.end() :]


def setup(app: Any) -> dict[str, Any]:
    """Called by Sphinx."""
    app.connect("build-finished", _write_times)
    logging.getLogger("traitlets").setLevel(logging.WARNING)  # each notebook that begins would be a line
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _write_times(app: Any, error: Exception | None) -> None:
    if error is None:
        executed = {name: data.get("exec_data") for name, data in app.env.nb_metadata.items()}
        times = {name: data["runtime"] for name, data in sorted(executed.items()) if data}
        (Path(app.outdir).parent / _TIMES).write_text(json.dumps(times), encoding="utf-8")


def times(folder: Path) -> dict[str, float]:
    """Seconds of each notebook of the site, by the clock."""
    found: dict[str, float] = json.loads((folder / _TIMES).read_text(encoding="utf-8"))
    return found


def finish(folder: Path, cache: Path) -> Iterator[str]:
    """Write the notebooks to load down, and say what is wrong in the pages."""
    for name in times(folder):
        notebook = _executed(folder / "jupyter_execute" / f"{name}.ipynb", cache)
        yield from (f"{name}.md: {problem}" for problem in problems(notebook))
        target = folder / "html" / f"{name}.ipynb"
        target.write_text(json.dumps(to_load_down(notebook), indent=1), encoding="utf-8")


def _executed(path: Path, cache: Path) -> Any:
    """A notebook with its outputs. Of one that is taken from the cache MyST-NB writes the cells alone."""
    import nbformat
    from jupyter_cache import get_cache

    notebook = nbformat.read(path, as_version=4)
    if any(cell.get("outputs") for cell in notebook.cells):
        return notebook
    return get_cache(cache).merge_match_into_notebook(notebook)[1]


def to_load_down(notebook: dict[str, Any]) -> dict[str, Any]:
    """The notebook without what running it has left, and without links that only the site has."""
    cells = []
    for cell in notebook["cells"]:
        text = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            text = _LINK.sub(r"\g<text>", _DOWNLOAD.sub("", text))
        else:
            cell = cell | {"outputs": [], "execution_count": None}
        cells.append(cell | {"source": text})
    return notebook | {"cells": cells}

"""Gallery of the example kernels: a page for each with what it shows, how to run it, and its source."""

from __future__ import annotations

from pathlib import Path

from triptych.workbench.commands.documents import docstring, purpose


def examples(root: Path) -> list[Path]:
    """The files of the gallery: kernels first, then programs that show the base."""
    return [*sorted((root / "examples/kernels").glob("*.py")), *sorted((root / "examples").glob("*.py"))]


def places(root: Path) -> dict[str, str]:
    """The page of each file on the site."""
    return {path.relative_to(root).as_posix(): f"gallery/{path.stem}.md" for path in examples(root)}


def pages(root: Path) -> dict[str, str]:
    """The index, and a page for each example."""
    found = examples(root)
    cards = "\n".join(map(_card, found))
    listing = "\n".join(path.stem for path in found)
    index = (
        "# Gallery\n\nEvery example runs on a CPU as it is, and the tests run all of them.\n\n"
        f"::::{{grid}} 1 2 2 3\n:gutter: 2\n\n{cards}\n::::\n\n```{{toctree}}\n:hidden:\n\n{listing}\n```\n"
    )
    return {"gallery/index.md": index} | {f"gallery/{path.stem}.md": _page(path) for path in found}


def _card(path: Path) -> str:
    options = f":link: {path.stem}\n:link-type: doc\n"
    return f":::{{grid-item-card}} {_title(path)}\n{options}\n{purpose(path)}\n:::"


def _title(path: Path) -> str:
    return path.stem.replace("_", " ")


def _page(path: Path) -> str:
    text = path.read_text(encoding="utf-8")
    return f"# {_title(path)}\n\n{docstring(path)}\n\n```python\n{text}```\n"

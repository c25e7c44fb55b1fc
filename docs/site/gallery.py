"""Gallery of the example kernels: a page for each with a picture, counted figures, its stages and its source."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from docs.site.gallery_figures import Figures, figures
from docs.site.gallery_pictures import picture
from triptych.workbench.commands.documents import docstring, purpose

_NO_KERNEL_FILE = {"hello_world"}
"""Kernels that print, and compute nothing that could be compared."""


def examples(root: Path) -> list[Path]:
    """The files of the gallery: kernels first, then programs that show the base."""
    return [*kernels(root), *sorted((root / "examples").glob("*.py"))]


def kernels(root: Path) -> list[Path]:
    """The files with kernels."""
    return sorted((root / "examples/kernels").glob("*.py"))


def places(root: Path) -> dict[str, str]:
    """The page of each file on the site."""
    return {path.relative_to(root).as_posix(): f"gallery/{path.stem}.md" for path in examples(root)}


def pages(root: Path) -> dict[str, str]:
    """The index, and a page for each example."""
    found = examples(root)
    cards = "\n".join(_card(path, has_picture=path in kernels(root)) for path in found)
    listing = "\n".join(path.stem for path in found)
    index = (
        "# Gallery\n\nEvery example runs on a CPU as it is, and the tests run all of them. The build makes figures and "
        "pictures: a\nblock of each kernel runs on the PTX simulator, which counts.\n\n"
        f"::::{{grid}} 1 2 2 3\n:gutter: 2\n\n{cards}\n::::\n\n```{{toctree}}\n:hidden:\n\n{listing}\n```\n"
    )
    return {"gallery/index.md": index} | {f"gallery/{path.stem}.md": _page(path, root) for path in found}


def pictures(root: Path) -> dict[str, str]:
    """The thumbnail of each kernel, by its place on the site."""
    return {f"gallery/thumbnails/{path.stem}.svg": picture(path.stem, _figures(path)) for path in kernels(root)}


@cache
def _figures(path: Path) -> Figures | str:
    return "it prints and computes nothing" if path.stem in _NO_KERNEL_FILE else figures(path)


def _card(path: Path, *, has_picture: bool) -> str:
    top = f":img-top: thumbnails/{path.stem}.svg\n:img-alt: {_title(path)}\n" if has_picture else ""
    return f":::{{grid-item-card}} {_title(path)}\n:link: {path.stem}\n:link-type: doc\n{top}\n{purpose(path)}\n:::"


def _title(path: Path) -> str:
    return path.stem.replace("_", " ")


def _page(path: Path, root: Path) -> str:
    text = path.read_text(encoding="utf-8")
    if path not in kernels(root):
        return f"# {_title(path)}\n\n{docstring(path)}\n\n```python\n{text}```\n"
    found = _figures(path)
    counted = _counted(found) if isinstance(found, Figures) else f"No figures here: {found}.\n"
    tabs = [_tab("Python", "python", text)]
    if isinstance(found, Figures):
        tabs += [_tab("MLIR, as traced", "text", found.mlir), _tab("PTX", "text", found.ptx)]
    shown = f"![{_title(path)}](thumbnails/{path.stem}.svg)"
    stages = "::::{tab-set}\n" + "\n".join(tabs) + "\n::::\n"
    return f"# {_title(path)}\n\n{shown}\n\n{docstring(path)}\n\n## Counted\n\n{counted}\n## Stages\n\n{stages}"


def _tab(title: str, language: str, text: str) -> str:
    return f":::{{tab-item}} {title}\n```{language}\n{text.rstrip()}\n```\n:::"


def _counted(found: Figures) -> str:
    """A table of what one block does, without what it has none of."""
    rows = [f"| {name} | {count:,} |" for name, count in found.counts.items() if count]
    kinds = ", ".join(f"{name} {count:,}" for name, count in found.kinds.items())
    shape = " x ".join(str(each) for each in found.block if each > 1) or "1"
    grid = " x ".join(str(each) for each in found.grid if each > 1) or "1"
    head = (
        f"The first block of `{found.kernel}` for `{found.architecture}`, with the usual inputs of the file: a grid of "
        f"{grid}, blocks of\n{shape} threads. `triptych check --costs` counts the same, line by line.\n\n"
    )
    table = "| counted | of a block |\n|---|---|\n" + "\n".join(rows)
    return f"{head}{table}\n\nInstructions by kind: {kinds}.\n"

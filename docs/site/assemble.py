"""Source tree of the site: pages of the repository with their links moved, and pages written from the package."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

from docs.site import api, cards, gallery, notebooks, reference

FOLDERS = {"examples/kernels": "gallery/index.md", "docs/decisions": "decisions/README.md"}
"""Folders that pages link to, and the pages that list what is in them."""
OUTSIDE = {"ARCHITECTURE.md": "architecture.md", "CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changes.md"}
"""Pages of the repository that are not below `docs`, and their places on the site."""
_REPLACED = {"README.md": "index.md", "docs/errors.md": "errors/index.md"}
"""Pages in whose place the site has others."""
_NO_PAGES = (api.EXAMPLES.name, "skill")
"""Folders below `docs` whose files are parts of other pages, or of what `triptych skill` installs."""
_CODE = re.compile(r"^(```+|:::+).*?^\1\s*$|`[^`\n]+`", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"(?<=\]\()(?P<path>[^)\s#:]+)(?P<fragment>#[^)\s]+)?(?=\))")


def assemble(root: Path, target: Path) -> int:
    """Write the sources of the site below `target`; how many pages there are."""
    written = repository_pages(root, target)
    for generator in (api.pages, gallery.pages, reference.pages):
        written |= generator(root)
    write(written | cards.pictures() | gallery.pictures(root), target)
    return len(written)


def repository_pages(root: Path, target: Path) -> dict[str, str]:
    """The pages that somebody wrote, by their places, links moved; what else they link to is copied."""
    places = {page.relative_to(root).as_posix(): page.relative_to(root / "docs").as_posix() for page in _pages(root)}
    places |= OUTSIDE | FOLDERS | gallery.places(root) | _REPLACED
    written: dict[str, str] = {}
    for source, place in places.items():
        if source.endswith(".md") and source not in _REPLACED:
            text = (root / source).read_text(encoding="utf-8")
            moved = moved_links(text, root, source, places, target)
            is_notebook = place.startswith(f"{notebooks.FOLDER}/")
            written[place] = notebooks.with_download(moved, Path(place).stem) if is_notebook else moved
    return written | _listed_decisions(written) | _listed_patterns(written)


def write(files: Mapping[str, str], target: Path) -> None:
    """Texts at their places below a folder."""
    for place, text in files.items():
        path = target / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def _listed_decisions(written: Mapping[str, str]) -> dict[str, str]:
    """The decisions, and their list behind the page that says what a decision is."""
    index = "decisions/README.md"
    decisions = {place: text for place, text in written.items() if re.match(r"decisions/\d", place)}
    rows = [f"- [{text.partition(chr(10))[0][2:]}]({Path(place).name})" for place, text in decisions.items()]
    listed = "\n".join([written[index], "## All of them", "", *rows, ""])
    return {index: listed} | {place: reference.LISTED + text for place, text in decisions.items()}


def _listed_patterns(written: Mapping[str, str]) -> dict[str, str]:
    """The page that lists the patterns, with all of them in the side bar below it."""
    index = "knowledge/README.md"
    pages = [place for place in written if place.startswith("knowledge/") and place != index]
    listing = "\n".join(place.removeprefix("knowledge/").removesuffix(".md") for place in pages)
    return {index: f"{written[index]}\n```{{toctree}}\n:hidden:\n\n{listing}\n```\n"}


def _pages(root: Path) -> Iterator[Path]:
    yield from (page for page in sorted((root / "docs").rglob("*.md")) if page.parent.name not in _NO_PAGES)


def moved_links(text: str, root: Path, source: str, places: Mapping[str, str], target: Path) -> str:
    """The text of a page, its links leading where the pages and files they name are on the site."""
    here = Path(places[source]).parent

    def moved(match: re.Match[str]) -> str:
        linked = Path(os.path.normpath(Path(source).parent / match["path"])).as_posix()
        place = places.get(linked)
        if place is None:
            if not (root / linked).is_file():
                raise FileNotFoundError(f"{source} links to {match['path']}, which is not there")
            place = _copied(root, linked, target)
        return os.path.relpath(place, here) + (match["fragment"] or "")

    parts = []
    end = 0
    for code in _CODE.finditer(text):
        parts += [_LINK.sub(moved, text[end : code.start()]), code[0]]
        end = code.end()
    return "".join([*parts, _LINK.sub(moved, text[end:])])


def _copied(root: Path, linked: str, target: Path) -> str:
    """A picture keeps its place below `docs`; other files of the repository can be loaded down."""
    place = linked.removeprefix("docs/") if linked.startswith("docs/") else f"files/{linked}"
    (target / place).parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(root / linked, target / place)
    return place

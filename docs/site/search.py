"""Search of the site: sections ranked by BM25, by the rules of `triptych docs`.

Sphinx finds only pages that have every word of a question. Its page of results calls a script of ours in the place of
its own; what is here writes the words of all sections, and the rules, as data for that script.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from docs.site.plain import FENCED, plain, without_links
from triptych.workbench.commands import documents
from triptych.workbench.commands.documents import Section, counted, sections_of

SCRIPT, DATA = "site_search.js", "site_search_data.js"
_LEFT_OUT = ("decisions/", "gallery/", "api/", "files/")
"""Folders whose pages are found from others, or by the names in them."""
_OBJECT = re.compile(r"^`{4,}\{py:\w+\} (?P<name>triptych[\w.]+)[^\n]*\n(?P<text>[^\n]*)", re.MULTILINE)
_SHOWN = 160
"""Letters of a section below its title."""


def sections(sources: Path) -> Iterator[tuple[str, Section]]:
    """Every section with its address: those of the pages, and the names of the reference."""
    for page in sorted(sources.rglob("*.md")):
        name, text = page.relative_to(sources).as_posix(), page.read_text(encoding="utf-8")
        address = name.removesuffix(".md") + ".html"
        if name.startswith("api/"):
            for found in _OBJECT.finditer(text):
                yield f"{address}#{found['name']}", Section(name, found["name"], found["text"])
        elif not name.startswith(_LEFT_OUT):
            for section in sections_of(name, plain(text)):
                yield f"{address}#{_anchor(section.title)}", section


def _anchor(title: str) -> str:
    """The fragment of a heading, which stands behind the title of its page."""
    heading = title.rpartition(": ")[2].lower()
    return re.sub(r"[^\w\- ]", "", heading).strip().replace(" ", "-")


def index(sources: Path) -> dict[str, object]:
    """What the script reads."""
    places: dict[str, list[int]] = {}
    shown, lengths = [], []
    for number, (address, section) in enumerate(sections(sources)):
        words: Counter[str] = counted(section)
        for word, times in words.items():
            places.setdefault(word, []).extend((number, times))
        shown.append([address, section.title, _beginning(section.text)])
        lengths.append(sum(words.values()))
    return {
        "sections": shown,
        "lengths": lengths,
        "places": places,
        "word": documents.WORD.pattern,
        "endings": documents.ENDINGS.pattern,
        "empty": sorted(documents.EMPTY),
        "same": documents.SAME,
        "saturation": documents.SATURATION,
        "length": documents.LENGTH,
    }


def _beginning(text: str) -> str:
    prose = without_links(" ".join(FENCED.sub("", text).split())).replace("`", "")
    return prose if len(prose) <= _SHOWN else prose[:_SHOWN].rpartition(" ")[0] + " …"


def publish(sources: Path, html: Path) -> None:
    """Write the data beside the script."""
    text = json.dumps(index(sources), ensure_ascii=False, separators=(",", ":"))
    (html / "_static" / DATA).write_text(f"var siteSearchData = {text};\n", encoding="utf-8")

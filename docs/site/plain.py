"""Pages as plain Markdown for readers without a browser: each at its address + `.md`, and `llms.txt`, their list.

What Sphinx understands and a reader of text does not is written out: entries of the reference become headings, cards
and lists of pages become links.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

from triptych.workbench.commands.errors_page import SCHEMA

ENDING = ".html.md"
MOST_LINES = 100
_EACH = re.MULTILINE | re.DOTALL
_FRONT = re.compile(r"\A---\n.*?^---\n+", _EACH)
FENCED = re.compile(r"^(```+).*?^\1\s*$", _EACH)
_OPTIONS = r"(?P<options>(?::[^\n]*\n)*)\s*"
_TOCTREE = re.compile(rf"^```\{{toctree\}}\n{_OPTIONS}(?P<pages>.*?)^```\n+", _EACH)
_CARD = re.compile(rf"^:::\{{grid-item-card\}} (?P<title>[^\n]+)\n{_OPTIONS}(?P<text>.*?)\n:::$", _EACH)
_TAB = re.compile(r"^:::\{tab-item\} (?P<title>[^\n]+)\n(?P<text>.*?)\n:::$", _EACH)
_GRID = re.compile(r"^::::.*\n(?::.*\n)*", re.MULTILINE)
_OBJECT = re.compile(r"^(?P<fence>`{4,})\{py:\w+\} (?P<signature>.+)$", re.MULTILINE)
_OBJECT_END = re.compile(r"^`{4,}$\n?", re.MULTILINE)
_ROLE = re.compile(r"\{[\w:]+\}(?=`)")
_CELL = re.compile(r"^```\{code-cell\}.*\n(?::.*\n)*", re.MULTILINE)
_LINK = re.compile(r"(?<=\]\()(?P<page>[^)\s#:]+)\.md(?P<fragment>#[^)\s]+)?(?=\))")
_SENTENCE = re.compile(r".+?\.(?=\s|$)", re.DOTALL)
_NO_PROSE = ("#", "|", "!", ":", "-", "<", "    ")


def plain(text: str, linked: Callable[[str], str] = lambda page: page + ENDING) -> str:
    """A page of the site's sources as Markdown that needs no Sphinx; `linked` says where a page is for its reader."""
    text = _TOCTREE.sub("", _FRONT.sub("", text))
    text = _TAB.sub(r"### \g<title>\n\n\g<text>\n", _CARD.sub(_linked_card, text))
    text = _OBJECT.sub(lambda found: f"{'#' * (8 - len(found['fence']))} `{found['signature']}`\n", _GRID.sub("", text))
    text = _CELL.sub("```python\n", _ROLE.sub("", _OBJECT_END.sub("", text)))
    text = _LINK.sub(lambda link: linked(link["page"]) + (link["fragment"] or ""), text)
    return re.sub(r"\n{3,}", "\n\n", text).strip() + "\n"


def _linked_card(card: re.Match[str]) -> str:
    link = re.search(r":link: (\S+)", card["options"])
    name = f"[{card['title']}]({link[1]}.md)" if link else card["title"]
    return f"- {name}: {' '.join(card['text'].split())}"


def publish(sources: Path, html: Path) -> None:
    """Put the pages, their list and the schema of the error catalogue beside the HTML."""
    for page in sorted(sources.rglob("*.md")):
        place = (html / page.relative_to(sources)).with_suffix(ENDING)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(plain(page.read_text(encoding="utf-8")), encoding="utf-8")
    (html / "llms.txt").write_text("\n".join(listing(sources)) + "\n", encoding="utf-8")
    shutil.copyfile(SCHEMA, html / "errors" / SCHEMA.name)


def listing(sources: Path) -> Iterator[str]:
    """The lines of `llms.txt`: the pages of the side bar in its groups, each with its first sentence."""
    index = (sources / "index.md").read_text(encoding="utf-8")
    yield from ("# Triptych", "", f"> {summary(index)}", "")
    yield "Every page is here as Markdown. With the package installed, `triptych docs WORD...` searches the same pages."
    for group in _TOCTREE.finditer(index):
        caption = re.search(r"^:caption: (.+)$", group["options"], re.MULTILINE)
        yield from ("", f"## {caption[1] if caption else 'Pages'}")
        for name in group["pages"].split():
            text = (sources / f"{name}.md").read_text(encoding="utf-8")
            yield f"- [{title(text)}]({name}{ENDING}): {summary(text)}"


def title(text: str) -> str:
    """The first heading of a page."""
    heading = re.search(r"^# (.+)$", _FRONT.sub("", text), re.MULTILINE)
    return heading[1].replace("`", "") if heading else ""


def summary(text: str) -> str:
    """The first sentence of prose of a page on one line, links as their words."""
    paragraphs = (each.strip("\n") for each in FENCED.sub("", plain(text)).split("\n\n"))
    prose = next((each for each in paragraphs if each and not each.startswith(_NO_PROSE)), "")
    sentence = _SENTENCE.match(prose)
    words = " ".join((sentence[0] if sentence else prose).split())
    return without_links(words)


def without_links(text: str) -> str:
    """Links as their words."""
    return re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", text)

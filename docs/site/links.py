"""Link checker of the built site: each `href` and `src` of a page leads to a file, and its fragment to an element."""

from __future__ import annotations

from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class _Page(HTMLParser):
    """What a page links to, and what can be linked to in it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value for name, value in attrs if value}
        self.links += [values[name] for name in ("href", "src") if name in values]
        self.anchors |= {values[name] for name in ("id", "name") if name in values}


def broken_links(site: Path) -> list[tuple[str, str]]:
    """Pages with their links that lead nowhere. Addresses of other hosts are not asked for."""

    @cache
    def read(page: Path) -> _Page:
        return _Page(page.read_text(encoding="utf-8"))

    def leads_somewhere(page: Path, link: str) -> bool:
        parts = urlsplit(link)
        if parts.scheme or parts.netloc:
            return True
        target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
        if target.is_dir():
            target /= "index.html"
        if not target.is_file():
            return False
        needs_anchor = parts.fragment and target.suffix == ".html"
        return not needs_anchor or unquote(parts.fragment) in read(target).anchors

    return [
        (page.relative_to(site).as_posix(), link)
        for page in sorted(site.rglob("*.html"))
        for link in dict.fromkeys(read(page).links)
        if not leads_somewhere(page, link)
    ]

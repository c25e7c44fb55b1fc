"""`triptych knowledge new|list|check`: pages of patterns and anti-patterns, and whether their evidence still holds.

Exit codes of `check`: 0 every page is right, 1 something is wrong, 2 a request that cannot be met.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from triptych.support.forking import import_late
from triptych.support.tracebacks import in_one_line
from triptych.support.wording import did_you_mean
from triptych.workbench.commands.command_line import add_page
from triptych.workbench.errors import FolderError
from triptych.workbench.knowledge import pages as knowledge
from triptych.workbench.knowledge.pages import GPU, INDEX, KINDS, KnowledgePage
from triptych.workbench.progress import progress

_OWN_FOLDER = Path("docs/knowledge")
_LIST = re.compile(r"(?<=<!-- list of pages -->\n).*?(?=<!-- end of the list -->)", re.DOTALL)


def add_knowledge(command: argparse.ArgumentParser, listing: argparse.ArgumentParser) -> None:
    """Its actions with their arguments."""
    actions = command.add_subparsers(dest="action", metavar="ACTION")
    new = add_page(actions, "knowledge new")
    new.add_argument("name", metavar="NAME", help="of the page, as wide-accesses")
    new.add_argument("--kind", choices=KINDS, default=KINDS[0], help="(default: %(default)s)")
    new.add_argument("--language", default="", metavar="NAME", help="as cute-dsl, for what holds in one language only")
    listed = add_page(actions, "knowledge list", listing)
    check = add_page(actions, "knowledge check", listing)
    check.add_argument("names", nargs="*", metavar="NAME", help="pages (default: all of the folder)")
    check.add_argument("--update", action="store_true", help="write the tables that differ")
    check.add_argument("--measure", action="store_true", help="with --update: measure again, on this CPU")
    for action in (new, listed, check):
        action.add_argument(
            "--folder",
            type=Path,
            metavar="DIR",
            help=f"of the pages (default: {_OWN_FOLDER} if it is here, else those of this version)",
        )


def knowledge_command(arguments: argparse.Namespace) -> int:
    """Make, list or check pages; the exit code."""
    if arguments.action == "new":
        return _new(arguments.folder or _OWN_FOLDER, arguments.name, arguments.kind, arguments.language)
    folder = arguments.folder or (_OWN_FOLDER if _OWN_FOLDER.is_dir() else knowledge.installed_pages())
    found = _chosen(knowledge.read_pages(folder), folder, getattr(arguments, "names", ()))
    if arguments.action == "list":
        facts = [page.facts() for page in found]
        print(json.dumps(facts, indent=2) if arguments.json else _listing(found))
        return 0
    wrong = {page.file: said for page in found if (said := _checked(page, arguments.update, arguments.measure))}
    if not arguments.names:
        stale = _checked_index(folder, found, arguments.update)
        wrong |= {folder / INDEX: stale} if stale else {}
    if arguments.json:
        print(json.dumps({str(file): said for file, said in wrong.items()}, indent=2))
    else:
        print(*(f"{file}: {text}" for file, said in wrong.items() for text in said), sep="\n", end="\n" * bool(wrong))
        waiting = sum(page.unmeasured for page in found)
        print(f"{len(found)} pages, {len(wrong)} with something wrong, {waiting} commands wait for a GPU")
    return 1 if wrong else 0


def _chosen(pages: list[KnowledgePage], folder: Path, names: Sequence[str]) -> list[KnowledgePage]:
    known = [page.name for page in pages]
    for name in names:
        if name not in known:
            raise FolderError(
                f"there is no page {name!r}",
                found=f"{len(pages)} pages in {folder}",
                expected="one of those that `triptych knowledge list` names",
                instead=did_you_mean(name, known),
            )
    return [page for page in pages if not names or page.name in names]


def _new(folder: Path, name: str, kind: str, language: str) -> int:
    """A page from the template, and the script of its evidence."""
    below = folder / "languages" / language / kind if language else folder / kind
    page = below / f"{name}.md"
    if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name) or page.exists():
        raise FolderError(
            f"no page {name!r} can be made",
            found=f"{page} is there already" if page.exists() else name,
            expected="a new name of small letters and hyphens, as wide-accesses",
        )
    below.mkdir(parents=True, exist_ok=True)
    templates = Path(str(knowledge.__file__)).parent
    title = name.replace("-", " ").capitalize()
    texts = {page: "page.md.txt", page.with_suffix(".py"): "script.py.txt"}
    for file, template in texts.items():
        text = (templates / template).read_text(encoding="utf-8")
        file.write_text(text.replace("TITLE", title), encoding="utf-8")
        print(file)
    print(f"next: write both, then `triptych knowledge check {name} --update`")
    return 0


def _listing(pages: Sequence[KnowledgePage]) -> str:
    width = max((len(page.name) for page in pages), default=0)
    rows = [(page.name, page.language or page.kind, ", ".join(page.tables), page.title) for page in pages]
    return "\n".join(f"{name:<{width}}  {kind:<13}  {evidence:<26}  {title}" for name, kind, evidence, title in rows)


def _checked(page: KnowledgePage, update: bool, measure: bool) -> list[str]:
    """What is wrong with a page; tables that differ are written where that is wanted."""
    evidence: Any = import_late("triptych.workbench.knowledge.evidence")  # NumPy, only where it is needed
    wrong: list[str] = []
    if page.script.is_file():
        try:
            with progress(page.name):
                made: dict[str, str] = evidence.tables(page, measure=measure and update)
        except Exception as error:  # of a page's own code
            return [*knowledge.problems(page), f"its code or its script fails: {in_one_line(error)}"]
        different = {kind: table for kind, table in made.items() if page.tables[kind] != table}
        if different and update:
            text = page.text
            for kind, table in different.items():
                text = knowledge.with_table(text, kind, table)
            page.file.write_text(text, encoding="utf-8")
            page = KnowledgePage(page.file, page.kind, page.language, text)
        else:
            wrong = [f"what is {kind} differs from its table; now it is\n{made[kind]}" for kind in different]
    return [*knowledge.problems(page), *wrong]


def _checked_index(folder: Path, pages: Sequence[KnowledgePage], update: bool) -> list[str]:
    """The page that lists the others, where a folder has one."""
    index = folder / INDEX
    if not index.is_file():
        return []
    rows = [
        f"| [{page.title}]({page.file.relative_to(folder).as_posix()}) | {page.language} {page.kind} "
        f"| {', '.join(page.tables)} |".replace("|  ", "| ")
        for page in pages
    ]
    evidence = [kind for page in pages for kind in page.tables]
    summary = ", ".join(f"{evidence.count(kind)} {kind}" for kind in dict.fromkeys(evidence) if kind != GPU)
    waiting = f"{sum(page.unmeasured for page in pages)} commands wait for a GPU"
    listed = "\n".join(["", "| page | kind | evidence |", "|---|---|---|", *rows, "", f"Tables: {summary}; {waiting}."])
    text = index.read_text(encoding="utf-8")
    written = _LIST.sub(lambda _: f"{listed}\n\n", text)
    if written != text and update:
        index.write_text(written, encoding="utf-8")
    is_stale = written != text and not update
    return ["its list differs from the pages; `triptych knowledge check --update` writes it"] if is_stale else []

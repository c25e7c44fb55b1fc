"""Documentation of the installed version: `triptych docs` searches its sections, `triptych examples` copies programs.

Sections of the guides and entries of the error catalogue are ranked by BM25, with the words of their headings counted
more often. Nothing is fetched: what is found is what this version says.
"""

from __future__ import annotations

import ast
import json
import math
import re
import shutil
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import chain
from pathlib import Path

from triptych.support.dataclass import dataclass
from triptych.support.wording import did_you_mean
from triptych.workbench.errors import FolderError
from triptych.workbench.installed_files import examples_folder

SHOWN = 3
_INDEX = "index.md"
"""Links to all pages, and says nothing itself."""
HEADING_WEIGHT = 4
SATURATION, LENGTH = 1.2, 0.6
WORD = re.compile(r"[a-z_][a-z0-9_]*|\d+")
_HEADING = re.compile(r"^(#{1,4}) (.+)$", re.MULTILINE)
_FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
ENDINGS = re.compile(r"(?<=[a-z]{3})(ing|ed|es|s|e)$")
EMPTY = frozenset(
    WORD.findall(
        "a an and are as at be but by can cannot do does for from get has have how i if in into is it its me my not of "
        "on one or so than that the their them then there this to use was what when where which who why will with "
        "without you your"
    )
)
SAME = {
    **dict.fromkeys(("deadlock", "stuck", "stall"), "hang"),
    **dict.fromkeys(("segfault", "crash", "crashed"), "sigsegv"),
    **dict.fromkeys(("jit", "recompile", "recompiling"), "compile"),
    **dict.fromkeys(("windows", "macos", "mac", "arm"), "platform"),
    **dict.fromkeys(("debugger", "pdb"), "breakpoint"),
} | {
    "aot": "ahead",
    "autotune": "tune",
    "bf16": "bfloat16",
    "cache": "store",
    "ci": "workflow",
    "cuda": "gpu",
    "dynamic": "run",
    "fp16": "float16",
    "profile": "slow",
    "pytorch": "torch",
    "test": "verify",
}
"""What a reader asks for, and what guides call it."""


@dataclass(frozen=True, slots=True)
class Section:
    """A heading of a page and the text below it."""

    page: str
    title: str
    text: str


def sections() -> list[Section]:
    """Of every guide, pattern and other page that is installed."""
    folder = examples_folder().parent / "docs"
    below = (sorted((folder / name).rglob("*.md")) for name in ("guides", "knowledge"))
    pages = [*chain.from_iterable(below), *sorted(folder.glob("*.md"))]
    names = [name for page in pages if (name := page.relative_to(folder).as_posix()) != _INDEX]
    return [section for name in names for section in sections_of(name, (folder / name).read_text(encoding="utf-8"))]


def sections_of(name: str, text: str) -> Iterator[Section]:
    """Those of one page; a page without a heading has none."""
    code = [match.span() for match in _FENCE.finditer(text)]
    headings = [m for m in _HEADING.finditer(text) if not any(start <= m.start() < end for start, end in code)]
    above = headings[0][2] if headings else ""
    for number, heading in enumerate(headings):
        end = headings[number + 1].start() if number + 1 < len(headings) else len(text)
        title = heading[2] if number == 0 or name == "errors.md" else f"{above}: {heading[2]}"
        yield Section(name, title.replace("`", ""), text[heading.end() : end].strip())


def found(question: str, count: int = SHOWN) -> list[Section]:
    """The sections that answer a question best, the best one first."""
    every, counts = _counted()
    lengths = [sum(count.values()) for count in counts]
    mean = sum(lengths) / len(lengths)
    asked = set(words_of(question))
    rarity = {}
    for word in asked:
        having = sum(word in count for count in counts)
        rarity[word] = math.log(1 + (len(every) - having + 0.5) / (having + 0.5))

    def score(number: int) -> float:
        damping = SATURATION * (1 - LENGTH + LENGTH * lengths[number] / mean)
        present = ((word, counts[number][word]) for word in asked if word in counts[number])
        return sum(rarity[word] * times * (SATURATION + 1) / (times + damping) for word, times in present)

    ranked = sorted(range(len(every)), key=score, reverse=True)
    return [every[number] for number in ranked[:count] if score(number) > 0]


@cache
def _counted() -> tuple[list[Section], list[Counter[str]]]:
    """All sections, and how often each word stands in them."""
    every = sections()
    return every, [counted(section) for section in every]


def counted(section: Section) -> Counter[str]:
    """How often each word stands in a section; those of its title count more."""
    return Counter(words_of(section.text) + HEADING_WEIGHT * words_of(section.title))


def words_of(text: str) -> list[str]:
    """Without endings and empty words; names with underscores also in parts."""
    whole = WORD.findall(text.lower())
    parts = (part for word in whole if "_" in word for part in word.split("_"))
    return [_stem(SAME.get(word, word)) for word in (*whole, *parts) if word not in EMPTY and len(word) > 1]


def _stem(word: str) -> str:
    return ENDINGS.sub("", word)


def search(words: Sequence[str], *, as_json: bool = False) -> str:
    """What is found, the first one whole; without words, the pages there are."""
    if not words:
        titles = {section.page: section.title for section in reversed(sections())}
        return "\n".join(f"{page:<36}  {title}" for page, title in sorted(titles.items()))
    best = found(" ".join(words))
    if as_json:
        return json.dumps([{"page": s.page, "title": s.title, "text": s.text} for s in best], indent=2)
    if not best:
        return f"nothing is said of {' '.join(words)!r}; `triptych docs` lists the pages"
    first, *others = best
    lines = [f"{first.page}: {first.title}", "", first.text]
    if others:
        lines += ["", "see also:", *(f"  {section.page}: {section.title}" for section in others)]
    return "\n".join(lines)


def list_examples(*, as_json: bool = False) -> str:
    """Each example with its first sentence."""
    purposes = {name: purpose(path) for name, path in _examples().items()}
    if as_json:
        return json.dumps(purposes, indent=2)
    width = max(map(len, purposes))
    return "\n".join(f"{name:<{width}}  {purpose}" for name, purpose in purposes.items())


def copy_examples(names: Sequence[str], folder: Path) -> str:
    """Copy examples, all of them when none is named; a file that is there already stays."""
    known = _examples()
    for name in names:
        if name not in known:
            raise FolderError(
                f"there is no example {name!r}",
                found=f"{len(known)} examples in {examples_folder()}",
                expected="one of those that `triptych examples list` names",
                instead=did_you_mean(name, known),
            )
    folder.mkdir(parents=True, exist_ok=True)
    lines = []
    for name in names or known:
        target = folder / known[name].name
        lines.append(f"{target} is there already" if target.exists() else str(shutil.copyfile(known[name], target)))
    return "\n".join(lines)


def _examples() -> dict[str, Path]:
    folder = examples_folder()
    return {path.stem: path for path in (*sorted(folder.glob("*.py")), *sorted((folder / "kernels").glob("*.py")))}


def purpose(path: Path) -> str:
    """What an example shows, in a sentence."""
    return docstring(path).partition("\n")[0]


def docstring(path: Path) -> str:
    """What an example says of itself."""
    return ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""

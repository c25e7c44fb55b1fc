"""Knowledge pages as data: headings, evidence between markers, and what is wrong with a page.

A page has the headings of `HEADINGS` and at least one table of evidence. Tables stand between two comments, and what is
there was written by the script beside the page (`counted`, `measured`) or is a command for which no GPU was at hand. A
number in a sentence has to stand in one of the page's tables; numbers in code are code.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from triptych.support.dataclass import dataclass
from triptych.workbench.installed_files import examples_folder

HEADINGS = (
    "When to Apply",
    "Mechanism",
    "Affected Metrics",
    "Implementation",
    "Source",
    "Performance Evidence",
    "Generalization",
    "Pitfalls",
    "Interactions",
)
KINDS = ("optimizations", "anti-patterns")
COUNTED, MEASURED, GPU = "counted", "measured on a CPU", "needs a GPU"
MOST_WORDS = 900
UNMEASURED = "not measured yet"
INDEX = "README.md"
"""The page that lists the others."""

_EVERY = re.MULTILINE | re.DOTALL
_TABLE = rf"^<!-- (?P<kind>{COUNTED}|{MEASURED}|{GPU}) -->\n(?P<table>.*?)^<!-- end of evidence -->$"
_EVIDENCE = re.compile(_TABLE, _EVERY)
_MARKER = re.compile(r"^<!-- (.*?) -->$", re.MULTILINE)
_BLOCK = re.compile(r"^```python\n(.*?)^```$", _EVERY)
_NO_PROSE = re.compile(r"^```.*?^```$|`[^`\n]+`|(?<=\])\([^)]*\)|^\d+\. ", _EVERY)
_NUMBER = re.compile(r"(?<![\w.-])\d[\d,.]*(?![\w-])")
_LINK = re.compile(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)")


@dataclass(frozen=True, slots=True)
class KnowledgePage:
    """One pattern or anti-pattern."""

    file: Path
    kind: str
    language: str
    """As `cute-dsl`; empty for what holds in every language."""
    text: str

    @property
    def name(self) -> str:
        return self.file.stem

    @property
    def title(self) -> str:
        return self.text.partition("\n")[0].removeprefix("# ")

    @property
    def script(self) -> Path:
        return self.file.with_suffix(".py")

    @property
    def code(self) -> str:
        """The Python blocks in their order, on the lines that they have in the page."""
        lines = [""] * (self.text.count("\n") + 1)
        for block in _BLOCK.finditer(self.text):
            first = self.text.count("\n", 0, block.start(1))
            for number, line in enumerate(block[1].splitlines()):
                lines[first + number] = line
        return "\n".join(lines) + "\n"

    @property
    def tables(self) -> dict[str, str]:
        """Evidence by its kind."""
        return {match["kind"]: match["table"].strip("\n") for match in _EVIDENCE.finditer(self.text)}

    @property
    def unmeasured(self) -> int:
        """Commands that wait for a GPU."""
        return self.tables.get(GPU, "").count(f"| {UNMEASURED} |")

    def facts(self) -> dict[str, object]:
        """For scripts."""
        return {
            "name": self.name,
            "kind": self.kind,
            "language": self.language,
            "title": self.title,
            "file": str(self.file),
            "evidence": list(self.tables),
            "waits for a GPU": self.unmeasured,
        }


def installed_pages() -> Path:
    """The folder of this version's pages."""
    return examples_folder().parent / "docs" / "knowledge"


def read_pages(folder: Path) -> list[KnowledgePage]:
    """Every page below a folder, patterns first; those of a language last."""
    found = []
    for language in ("", *sorted(path.name for path in folder.glob("languages/*") if path.is_dir())):
        for kind in KINDS:
            below = folder / (f"languages/{language}/{kind}" if language else kind)
            files = (file for file in sorted(below.glob("*.md")) if file.name != INDEX)
            found += [KnowledgePage(file, kind, language, file.read_text(encoding="utf-8")) for file in files]
    return found


def problems(page: KnowledgePage) -> Iterator[str]:
    """What is wrong with a page as it stands; whether its tables are what scripts count is another question."""
    headings = [line[3:] for line in _NO_PROSE.sub("", page.text).splitlines() if line.startswith("## ")]
    if tuple(headings) != HEADINGS:
        yield f"its headings are {', '.join(headings) or 'none'}; they should be {', '.join(HEADINGS)}"
    if not page.text.startswith("# "):
        yield "it does not begin with a title, as `# Name`"
    words = len(page.text.split())
    if words > MOST_WORDS:
        yield f"it has {words} words, more than {MOST_WORDS}"
    yield from _problems_of_evidence(page)
    shown = set(_NUMBER.findall("\n".join(page.tables.values())))
    for number in _NUMBER.findall(_NO_PROSE.sub(" ", _EVIDENCE.sub("", page.text))):
        if number.rstrip(".,") not in shown:
            yield f"the number {number.rstrip('.,')} in a sentence stands in no table that a script wrote"
    for link in _LINK.findall(page.text):
        if not (page.file.parent / link).exists():
            yield f"it links to {link}, which is not there"


def _problems_of_evidence(page: KnowledgePage) -> Iterator[str]:
    markers = _MARKER.findall(_EVIDENCE.sub("", page.text))
    if markers:
        yield f"the comment {markers[0]!r} begins or ends no evidence"
    if not page.tables:
        yield f"it has no evidence: no `<!-- {COUNTED} -->` ... `<!-- end of evidence -->`"
    if {COUNTED, MEASURED} & page.tables.keys() and not page.script.is_file():
        yield f"there is no script {page.script.name} beside it"
    for kind, table in page.tables.items():
        if "|" not in table:
            yield f"the evidence that is {kind} has no table; `triptych knowledge check --update` writes it"
    for row in page.tables.get(GPU, "").splitlines()[2:]:
        if not re.fullmatch(r"\| `[^`]+` \| [^|]+ \|", row):
            yield f"the row {row!r} is no command and its result, as `| `ncu ...` | {UNMEASURED} |`"


def table_text(rows: Sequence[Mapping[str, object]], below: str = "") -> str:
    """Rows as Markdown; the first has the heads."""
    lines = ["| " + " | ".join(rows[0]) + " |", "|---|" + "---:|" * (len(rows[0]) - 1)]
    lines += ["| " + " | ".join(map(_cell, row.values())) + " |" for row in rows]
    return "\n".join([*lines, *(["", below] if below else [])])


def _cell(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) else str(value)


def with_table(text: str, kind: str, table: str) -> str:
    """The text of a page with another table."""

    def replaced(match: re.Match[str]) -> str:
        return f"<!-- {kind} -->\n\n{table}\n\n<!-- end of evidence -->" if match["kind"] == kind else match[0]

    return _EVIDENCE.sub(replaced, text)

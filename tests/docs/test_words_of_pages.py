"""Pages say each thing once, in the field's words, and are short: replaced words of the glossary do not come back."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.contracts.tree import package_files, relative, syntax

ROOT = Path(__file__).resolve().parents[2]
GLOSSARY = ROOT / "docs" / "glossary.md"
GUIDES = sorted((ROOT / "docs" / "guides").glob("*.md"))
NOTEBOOKS = sorted((ROOT / "docs" / "learn").glob("*.md"))
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), *GUIDES, *NOTEBOOKS]
MOST_WORDS = 2000
LONG_SENTENCE = 12
"""Words from which on a sentence that stands in two pages is one that should stand in one."""
FENCED = re.compile(r"^(```+|:::+).*?^\1\s*$", re.MULTILINE | re.DOTALL)


def replaced_words(page: str) -> list[str]:
    """The first column of the table, one phrase for each comma."""
    table = page.partition("## Replaced words\n")[2]
    rows = [line.split("|")[1] for line in table.splitlines() if line.startswith("| ")]
    return [phrase.strip() for row in rows[1:] for phrase in row.split(",")]


REPLACED = replaced_words(GLOSSARY.read_text(encoding="utf-8"))


def pattern(phrase: str) -> re.Pattern[str]:
    """The phrase as whole words, over line ends too."""
    return re.compile(r"\b" + r"\s+".join(map(re.escape, phrase.split())) + r"\b", re.IGNORECASE)


def without_replaced(page: Path) -> str:
    """The text of a page; of the glossary without the list itself."""
    text = page.read_text(encoding="utf-8")
    return text.partition("## Replaced words\n")[0] if page == GLOSSARY else text


def messages(tree: ast.Module) -> Iterator[ast.Constant]:
    """Strings of more than one word that are no docstrings: messages, help, settings."""
    lone = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    constants = (node for node in ast.walk(tree) if isinstance(node, ast.Constant) and id(node) not in lone)
    yield from (node for node in constants if isinstance(node.value, str) and " " in node.value.strip())


@cache
def page_texts() -> dict[str, str]:
    return {page.relative_to(ROOT).as_posix(): without_replaced(page) for page in PAGES}


@cache
def sources() -> dict[Path, str]:
    """Files of the package; strings that are continued on the next line are joined, so that phrases are found."""
    return {path: re.sub(r'"\s*\n\s*f?"', "", path.read_text(encoding="utf-8")) for path in package_files()}


@pytest.mark.parametrize("phrase", REPLACED)
def test_a_replaced_word_does_not_come_back(phrase: str) -> None:
    searched = pattern(phrase)
    pages = [place for place, text in page_texts().items() if searched.search(text)]
    said = [
        (path, each) for path, text in sources().items() if searched.search(text) for each in messages(syntax(path))
    ]
    found = [f"{relative(path)}:{each.lineno}" for path, each in said if searched.search(str(each.value))]
    assert [*pages, *found] == []


def test_the_list_is_read() -> None:
    assert len(REPLACED) > 40
    assert replaced_words("## Replaced words\n\n| replaced | now |\n|---|---|\n| a b, c | d |\n") == ["a b", "c"]
    assert pattern("is told").search("what\nis\n  told.")
    assert not pattern("anew").search("canewhat")


def test_messages_are_found_and_docstrings_are_not() -> None:
    program = 'def f():\n    """A docstring of it."""\n    raise ValueError(f"a message {x} of it", "word")\n'
    assert [each.value for each in messages(ast.parse(program))] == ["a message ", " of it"]


@pytest.mark.parametrize("page", [*GUIDES, *NOTEBOOKS, GLOSSARY], ids=lambda page: page.stem)
def test_a_page_is_short(page: Path) -> None:
    assert len(page.read_text(encoding="utf-8").split()) <= MOST_WORDS


def sentences(text: str) -> Iterator[str]:
    """Long sentences of prose and of table cells, without markup; code is left out."""
    prose = re.sub(r"^ {4}.*$|!\[[^]]*\]", "", FENCED.sub("", text), flags=re.MULTILINE)
    for paragraph in re.split(r"\n\s*\n|^\|[-|]+$|^(?=[-#|] )|\|", prose, flags=re.MULTILINE):
        plain = " ".join(re.sub(r"[`*]|\]\([^)]*\)|\[", "", paragraph).split())
        for sentence in re.split(r"(?<=[.:;!?]) ", plain):
            if len(sentence.split()) >= LONG_SENTENCE:
                yield sentence.rstrip(".:;")


def repeated(pages: dict[str, str]) -> dict[str, set[str]]:
    """Long sentences that stand in more than one page, with the pages."""
    found: defaultdict[str, set[str]] = defaultdict(set)
    for name, text in pages.items():
        for sentence in sentences(text):
            found[sentence].add(name)
    return {sentence: names for sentence, names in found.items() if len(names) > 1}


def test_no_long_sentence_stands_in_two_pages() -> None:
    found = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    pages = [page for page in found if page.name != "errors.md" and page.parent.name != "examples"]
    assert len(pages) > 150
    assert repeated({relative(page): page.read_text(encoding="utf-8") for page in pages}) == {}


def test_repeated_sentences_are_found() -> None:
    long = "One sentence with a [link](a.md) of `twelve` words and more that\nstands here"
    pages = {"a": f"{long}.", "b": f"- First. {long}: other words.", "c": f"```text\n{long}.\n```\n"}
    assert list(repeated(pages).values()) == [{"a", "b"}]

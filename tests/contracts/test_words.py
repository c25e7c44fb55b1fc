"""Vocabulary of the tree: names and module docstrings have the field's words, and private ones become fewer.

Each ceiling is the number of names that were left when it was last counted, and follows it down. A word whose
ceiling is 0 does not come back.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache

import pytest

from tests.contracts.tree import package_files, relative, syntax

INSTEAD = {
    "anew": "no_cache, retraced, restarted",
    "dealt": "distributed, thread-value layout",
    "factor": "operand (of an MMA), divisor",
    "graft": "append_ir",
    "handed": "carried, passed",
    "home": "spill slot",
    "homes": "spill slots",
    "kept": "stored, serialized, cached, retained",
    "meet": "join (of types), synchronize (of threads)",
    "meeting": "barrier, convergent",
    "misuse": "protocol violation",
    "misused": "protocol violation",
    "overlooked": "suppressed",
    "parties": "agents of the async proxy",
    "party": "agent of the async proxy",
    "remade": "rematerialized",
    "room": "capacity, allocation",
    "stretch": "range, segment, strip",
    "stretches": "ranges, segments, strips",
    "thaw": "deserialize",
    "told": "reported, recorded",
    "unset": "uninitialized",
}
"""Private words, and what the field says."""

CEILINGS = {
    "anew": 5,
    "factor": 18,
    "handed": 5,
    "home": 9,
    "homes": 3,
    "kept": 72,
    "meet": 9,
    "meeting": 1,
    "misused": 1,
    "room": 26,
    "told": 12,
    "unset": 11,
}
"""Names that still have the word; 0 where the word is not listed."""

OPENINGS = 0
"""Modules whose docstring still begins with a word that no search engine knows."""

PRIVATE = {"graft", "party", "parties", "stretch", "stretches", "thaw", "told"}
PRIVATE_OPENINGS = 0
"""Modules whose docstring begins with one of these words."""

ARTICLES = re.compile(r"^(The|A|An) ")
EMPTY = {
    "all",
    "any",
    "as",
    "by",
    "counting",
    "declaring",
    "drawing",
    "every",
    "everything",
    "few",
    "finds",
    "fixing",
    "follows",
    "for",
    "from",
    "giving",
    "how",
    "if",
    "is",
    "making",
    "many",
    "meta-stage",
    "object-stage",
    "of",
    "one",
    "other",
    "part",
    "parts",
    "putting",
    "reading",
    "recognising",
    "repeating",
    "runs",
    "saying",
    "some",
    "taking",
    "that",
    "these",
    "thing",
    "things",
    "this",
    "those",
    "to",
    "turning",
    "two",
    "watching",
    "way",
    "ways",
    "what",
    "when",
    "where",
    "whether",
    "which",
    "who",
    "whose",
    "why",
    "with",
    "words",
}
"""Openings of a docstring after which a search engine still does not know what the module is about."""


def parts_of(name: str) -> list[str]:
    """The words of an identifier, in snake case or in camel case."""
    return [word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name)]


def defined_names(tree: ast.Module) -> Iterator[str]:
    """Everything that a module gives a name to: functions, classes, parameters, variables and attributes."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr


@cache
def private_names() -> dict[str, list[str]]:
    """For each private word the names that have it, one for each module."""
    found: dict[str, list[str]] = {word: [] for word in INSTEAD}
    for path in package_files():
        names = {path.stem, *defined_names(syntax(path))}
        for name in sorted(names):
            for word in INSTEAD.keys() & set(parts_of(name)):
                found[word].append(f"{relative(path)}: {name}")
    return found


def opening(docstring: str) -> str:
    """The first word after an article."""
    found = re.match(r"[\w'-]+|`[^`]*`", ARTICLES.sub("", docstring))
    return found[0] if found else ""


def is_searchable(docstring: str) -> bool:
    """Whether a docstring begins with a name, or with a capital and a word that says something."""
    return docstring[:1] == "`" or (docstring[:1].isupper() and opening(docstring).lower() not in EMPTY)


@pytest.mark.parametrize("word", INSTEAD)
def test_a_private_word_becomes_rarer(word: str) -> None:
    found, ceiling = private_names()[word], CEILINGS.get(word, 0)
    text = f"{word!r} in {len(found)} names, {ceiling} before; the field says {INSTEAD[word]}\n"
    assert len(found) == ceiling, text + "\n".join(found[:40])


def test_every_module_says_what_it_is_about_in_its_first_words() -> None:
    texts = {relative(path): ast.get_docstring(syntax(path)) or "" for path in package_files()}
    found = [f"{path}: {text.splitlines()[:1]}" for path, text in texts.items() if not is_searchable(text)]
    assert len(found) <= OPENINGS, "\n".join(found)


def test_docstrings_that_begin_with_a_private_word_become_fewer() -> None:
    found = []
    for path in package_files():
        sentence = re.split(r"[.:]\s", ast.get_docstring(syntax(path)) or "", maxsplit=1)[0]
        if PRIVATE & set(parts_of(sentence)):
            found.append(f"{relative(path)}: {sentence}")
    assert len(found) <= PRIVATE_OPENINGS, "\n".join(found)


@pytest.mark.parametrize(
    ("docstring", "searchable"),
    [
        ("TMA copies: one lane of a warp issues each box.", True),
        ("`triptych run SCRIPT`: a program.", True),
        ("The pass manager.", True),
        ("What can be wrong with copies.", False),
        ("The words of a setting.", False),
        ("Meta-stage, copies of boxes.", False),
        ("exp of lanes.", False),
        ("", False),
    ],
)
def test_openings_are_judged(docstring: str, searchable: bool) -> None:
    assert is_searchable(docstring) is searchable


def test_words_of_names() -> None:
    assert parts_of("is_told") == ["is", "told"]
    assert parts_of("ToldCalls") == ["told", "calls"]
    assert parts_of("_MOST_REMADE") == ["most", "remade"]
    program = "def f(kept, *a): self.x = y = 1\nclass C: z: int = 0"
    assert set(defined_names(ast.parse(program))) == {*"faxyCz", "kept"}

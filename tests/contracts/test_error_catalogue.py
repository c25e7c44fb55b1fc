"""Every error documents itself and has its two programs, and the page in docs/ says the same as classes and programs.

`tests/errors/test_catalogue_programs.py` runs the programs.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections import Counter

import pytest

from tests.contracts.tree import CATALOGUE, ROOT
from triptych.support.errors import TriptychError, all_errors
from triptych.workbench.commands.errors_page import PAGE, PROGRAMS, errors, page, program

ERRORS = errors()
each_error = pytest.mark.parametrize("error", ERRORS, ids=lambda error: error.__name__)


def test_codes_are_unique() -> None:
    assert [code for code, uses in Counter(error.code for error in ERRORS).items() if uses > 1] == []


@each_error
def test_error_has_a_code_of_its_own(error: type[TriptychError]) -> None:
    assert re.fullmatch(r"TT\d{4}", error.code)


def test_code_of_a_root_belongs_to_a_root() -> None:
    roots = [error for error in all_errors() if error.code.endswith("00")]
    assert [error.__name__ for error in roots if not error.__subclasses__()] == []


@each_error
def test_error_is_also_the_builtin_a_python_programmer_would_catch(error: type[TriptychError]) -> None:
    builtin = [parent for parent in error.__mro__ if parent.__module__ == "builtins"]
    assert builtin[0] not in (Exception, BaseException, object)


@each_error
def test_error_gives_its_reason(error: type[TriptychError]) -> None:
    assert inspect.getdoc(error) != inspect.getdoc(TriptychError)


@each_error
@pytest.mark.parametrize("which", PROGRAMS)
def test_error_has_programs(error: type[TriptychError], which: str) -> None:
    """A program is statements, not only a comment that describes them."""
    assert ast.parse(program(error, which).read_text(encoding="utf-8")).body


def test_programs_of_an_error_differ() -> None:
    texts = {error.code: {program(error, which).read_bytes() for which in PROGRAMS} for error in ERRORS}
    assert [code for code, programs in texts.items() if len(programs) < 2] == []


def test_catalogue_has_nothing_else() -> None:
    asked = {f"{error.code}/{which}.py" for error in ERRORS for which in PROGRAMS}
    files = (path.relative_to(CATALOGUE) for path in CATALOGUE.rglob("*") if path.is_file())
    assert {path.as_posix() for path in files if "__pycache__" not in path.parts} == asked


def test_page_is_up_to_date() -> None:
    written = (ROOT / PAGE).read_text(encoding="utf-8")
    assert written == page(), "run `python -m triptych errors --page`"

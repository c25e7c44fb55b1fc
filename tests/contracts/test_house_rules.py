"""Rules of the house that no linter knows."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.contracts.tree import PACKAGE, package_files, python_files, relative, syntax, text_files

LONGEST_FILE = 500
LONGEST_FUNCTION = 60
FORBIDDEN_NAMES = {"utils", "common", "misc", "core", "base", "impl", "helpers"}
NAMED_BY_PUBLIC_PROGRAMS = {
    *(PACKAGE / "utils").iterdir(),
    *(PACKAGE / "compat" / "utils").iterdir(),
    PACKAGE / "cute" / "utils.py",
}
ENVIRONMENT_READER = PACKAGE / "support" / "config.py"
# Spelt in pieces, so that this file does not break the rule it checks.
MACHINE_PATHS = ["/" + folder + "/" for folder in ("work", "root", "home", "Users")] + ["/tmp" + "/venv"]
PACKAGE_HOSTS = ["files.python" + "hosted.org", "pypi" + ".org", "/opt" + "/pypi"]


@pytest.mark.parametrize("path", python_files(), ids=relative)
def test_file_is_one_idea(path: Path) -> None:
    lines = path.read_text(encoding="utf-8").count("\n")
    assert lines <= LONGEST_FILE, f"{lines} lines: split by idea"


@pytest.mark.parametrize("path", package_files(), ids=relative)
def test_functions_are_short(path: Path) -> None:
    functions = (node for node in ast.walk(syntax(path)) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    long = [f.name for f in functions if (f.end_lineno or f.lineno) - f.lineno >= LONGEST_FUNCTION]
    assert not long, f"longer than {LONGEST_FUNCTION} lines"


def test_no_module_is_called_nothing_in_particular() -> None:
    ours = (path for path in python_files() if path not in NAMED_BY_PUBLIC_PROGRAMS)
    assert not [relative(path) for path in ours if FORBIDDEN_NAMES & {path.stem, path.parent.name}]


@pytest.mark.parametrize("path", package_files(), ids=relative)
def test_module_says_what_it_is(path: Path) -> None:
    assert ast.get_docstring(syntax(path)), "a module docstring gives stage, input, output and the reason"


@pytest.mark.parametrize("path", python_files(), ids=relative)
def test_no_star_import(path: Path) -> None:
    imports = (node for node in ast.walk(syntax(path)) if isinstance(node, ast.ImportFrom))
    assert not [node.lineno for node in imports if any(alias.name == "*" for alias in node.names)]


@pytest.mark.parametrize("path", [path for path in package_files() if path != ENVIRONMENT_READER], ids=relative)
def test_only_the_config_table_reads_the_environment(path: Path) -> None:
    names = (node for node in ast.walk(syntax(path)) if isinstance(node, ast.Attribute | ast.Name | ast.alias))
    found = {_identifier(node) for node in names} & {"environ", "environb", "getenv", "getenvb"}
    assert not found, "add a setting to support/config.py"


def _identifier(node: ast.Attribute | ast.Name | ast.alias) -> str:
    match node:
        case ast.Attribute():
            return node.attr
        case ast.Name():
            return node.id
        case _:
            return node.name


@pytest.mark.parametrize("path", text_files(), ids=relative)
def test_repository_names_no_machine(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert not [name for name in MACHINE_PATHS + PACKAGE_HOSTS if name in text]

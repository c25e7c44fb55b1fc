"""Rules of the house that no linter knows."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from pathlib import Path

from tests.contracts.tree import PACKAGE, ROOT, package_files, python_files, relative, syntax, text_files

LONGEST_FILE = 500
LONGEST_FUNCTION = 60
FORBIDDEN_NAMES = {"utils", "common", "misc", "core", "base", "impl", "helpers"}
NAMED_BY_PUBLIC_PROGRAMS = {
    *(PACKAGE / "utils").iterdir(),
    *(PACKAGE / "compat" / "utils").iterdir(),
    PACKAGE / "cute" / "utils.py",
}
ROOT_FILES = {"ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "README.md", "pyproject.toml"}
ENVIRONMENT_READER = PACKAGE / "support" / "config.py"
# Spelt in pieces, so that this file does not break the rule it checks.
MACHINE_PATHS = ["/" + folder + "/" for folder in ("work", "root", "home", "Users")] + ["/tmp" + "/venv"]
PACKAGE_HOSTS = ["files.python" + "hosted.org", "pypi" + ".org", "/opt" + "/pypi"]


def broken(files: Iterable[Path], found: Callable[[Path], object]) -> dict[str, object]:
    """The files in which something is found, and what. One test for a rule: one for each file takes a minute."""
    return {relative(path): what for path in files if (what := found(path))}


def test_file_is_one_idea() -> None:
    def lines(path: Path) -> int:
        return path.read_text(encoding="utf-8").count("\n")

    too_long = broken(python_files(), lambda path: max(0, lines(path) - LONGEST_FILE))
    assert not too_long, f"lines over {LONGEST_FILE}: split by idea"


def test_nothing_stands_in_the_root_that_a_run_has_left_there() -> None:
    files = {path.name for path in ROOT.iterdir() if path.is_file() and not path.name.startswith(".")}
    assert files <= ROOT_FILES, "what a test or an example writes belongs in a directory of its own"


def test_functions_are_short() -> None:
    def long(path: Path) -> list[str]:
        functions = (
            node for node in ast.walk(syntax(path)) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        )
        return [f.name for f in functions if (f.end_lineno or f.lineno) - f.lineno >= LONGEST_FUNCTION]

    assert not broken(package_files(), long), f"longer than {LONGEST_FUNCTION} lines"


def test_no_module_is_called_nothing_in_particular() -> None:
    ours = (path for path in python_files() if path not in NAMED_BY_PUBLIC_PROGRAMS)
    assert not [relative(path) for path in ours if FORBIDDEN_NAMES & {path.stem, path.parent.name}]


def test_modules_that_windows_lacks_are_not_imported_everywhere() -> None:
    def lacking(path: Path) -> set[str]:
        found = {alias.name for node in ast.walk(syntax(path)) if isinstance(node, ast.Import) for alias in node.names}
        found |= {str(node.module) for node in ast.walk(syntax(path)) if isinstance(node, ast.ImportFrom)}
        return found & {"fcntl", "grp", "posix", "pty", "pwd", "resource", "syslog", "termios", "tty"}

    assert not broken(package_files(), lacking), "ask for `os.name` first, as `store/claims.py` does"


def test_only_the_config_table_reads_the_environment() -> None:
    def readers(path: Path) -> set[str]:
        names = (node for node in ast.walk(syntax(path)) if isinstance(node, ast.Attribute | ast.Name | ast.alias))
        return {_identifier(node) for node in names} & {"environ", "environb", "getenv", "getenvb"}

    others = (path for path in package_files() if path != ENVIRONMENT_READER)
    assert not broken(others, readers), "add a setting to support/config.py"


def _identifier(node: ast.Attribute | ast.Name | ast.alias) -> str:
    match node:
        case ast.Attribute():
            return node.attr
        case ast.Name():
            return node.id
        case _:
            return node.name


def test_repository_names_no_machine() -> None:
    def named(path: Path) -> list[str]:
        text = path.read_text(encoding="utf-8")
        return [name for name in MACHINE_PATHS + PACKAGE_HOSTS if name in text]

    assert not broken(text_files(), named)

"""Reference pages written from the package: a page for each error, all settings, all commands with their options."""

from __future__ import annotations

import os
import re
from pathlib import Path

from triptych.support.config import current_settings
from triptych.support.errors import TriptychError
from triptych.workbench.commands.cli import parser_with_commands
from triptych.workbench.commands.errors_page import PROGRAMS, entry, errors, program, reason

LISTED = "---\norphan: true\n---\n\n"
"""Before a page that its index lists: hundreds of them in the side bar of every page would hide the others."""

_PROGRAM = re.compile(r"^```python\n.*?^```", re.MULTILINE | re.DOTALL)


def pages(root: Path) -> dict[str, str]:
    """Each page by its place on the site."""
    del root
    return _errors() | {"settings.md": _settings(), "commands.md": _commands()}


def _errors() -> dict[str, str]:
    found = errors()
    rows = "\n".join(f"| [{error.code}]({error.code}.md) | `{error.__name__}` | {reason(error)} |" for error in found)
    index = (
        "# Errors\n\nEvery error has a code, and the code has a page: what it means, a program that fails, one that "
        "works.\nThe tests run both. `triptych errors TT0101` prints the same text on a terminal, and "
        "`triptych errors\n--json` all of them for programs, by the schema that `--schema` prints and that is here "
        "as `errors/errors.schema.json`.\n\n"
        f"| Code | Class | Meaning |\n|---|---|---|\n{rows}\n"
    )
    return {"errors/index.md": index} | {f"errors/{error.code}.md": LISTED + _error(error) for error in found}


def _error(error: type[TriptychError]) -> str:
    """The entry of the catalogue with its programs whole, so that they run when they are copied."""
    programs = iter(program(error, which).read_text(encoding="utf-8") for which in PROGRAMS)
    return _PROGRAM.sub(lambda _: f"```python\n{next(programs)}```", entry(error)[1:])


def _settings() -> str:
    rows = "\n".join(
        f"| `{setting.variable}` | `{setting.name}` | {_default(setting.default)} | {_cell(setting.help)} "
        f"| {', '.join(f'`{alias.variable}`' for alias in setting.aliases)} |"
        for setting, *_ in current_settings()
    )
    return (
        "# Settings\n\nA setting is an environment variable, a name of `triptych.support.config.override(...)` around "
        "a part of a\nprogram, or both. `triptych env` prints what holds where it is called, and where each "
        "value comes from.\n\n"
        f"| Variable | Name | Default | Meaning | Also read |\n|---|---|---|---|---|\n{rows}\n"
    )


def _default(value: object) -> str:
    return f"`{int(value) if isinstance(value, bool) else value}`" if value != "" else ""


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _commands() -> str:
    """Help pages as a terminal of 100 columns shows them."""
    before = os.environ.get("COLUMNS")
    os.environ["COLUMNS"] = "100"
    try:
        parser, commands = parser_with_commands()
        parts = [f"## triptych {name}\n\n```text\n{command.format_help()}```\n" for name, command in commands.items()]
        says = "Each command with its options and examples, as `triptych COMMAND --help` prints them."
        return "\n".join([f"# Commands\n\n{says}\n\n```text\n{parser.format_help()}```\n", *parts])
    finally:
        os.environ.pop("COLUMNS") if before is None else os.environ.update(COLUMNS=before)

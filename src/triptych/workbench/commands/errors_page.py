"""`triptych errors`: the catalogue of error codes, as text for one code, and as the page `docs/errors.md`.

Everything comes from the error classes and from `diagnostics/catalogue`, a folder for each code with a program that
fails and one that works, so the page cannot tell something else than the code.
"""

from __future__ import annotations

import importlib
import inspect
import json
import pkgutil
from pathlib import Path

import triptych
from triptych import diagnostics
from triptych.support.errors import TriptychError, all_errors
from triptych.support.wording import did_you_mean

PAGE = Path("docs/errors.md")
SCHEMA = Path(__file__).with_name("errors.schema.json")
"""What `--json` prints, as JSON Schema; the site has it too."""
CATALOGUE = Path(diagnostics.__file__).with_name("catalogue")
PROGRAMS = ("failing", "fixed")
_ASSUMED = "import triptych as tt\n"

PREFACE = """\
# Error catalogue

Every error of Triptych has a code. `python -m triptych errors CODE` prints its entry; this page is written by
`python -m triptych errors --page`, so change the error classes and the files of `diagnostics/catalogue`, not
this file. The programs assume `import triptych as tt`.
"""


class UnknownErrorCodeError(TriptychError, LookupError):
    """The catalogue was asked for a code that no error has."""

    code = "TT0705"


def errors() -> list[type[TriptychError]]:
    """Every error a user can meet. Classes exist once their module is imported; codes that end in 00 are mere roots."""
    for module in pkgutil.walk_packages(triptych.__path__, "triptych."):
        if not module.name.endswith("__main__"):
            _import(module.name)
    return [error for error in all_errors() if _is_ours(error) and not error.code.endswith("00")]


def _import(module: str) -> None:
    """Import a module, unless it is one beside a library that is not installed."""
    try:
        importlib.import_module(module)
    except ModuleNotFoundError as missing:
        if (missing.name or "triptych").startswith("triptych"):
            raise


def catalogue(code: str | None = None, *, as_json: bool = False) -> str:
    """One entry, or the list of all codes."""
    chosen = [error for error in errors() if code is None or error.code == code.upper()]
    if code is not None and not chosen:
        known = [error.code for error in errors()]
        raise UnknownErrorCodeError(f"no error has the code {code!r}", instead=did_you_mean(code, known))
    if as_json:
        return json.dumps([_record(error) for error in chosen], indent=2)
    if code is not None:
        return entry(chosen[0])
    return "\n".join(f"{error.code}  {error.__name__:<28}  {reason(error)}" for error in chosen)


def page() -> str:
    """The whole catalogue as Markdown."""
    return "\n".join([PREFACE, *(entry(error) for error in errors())])


def schema() -> str:
    """What `--json` prints, described for programs."""
    return SCHEMA.read_text(encoding="utf-8").rstrip()


def write_page(path: Path = PAGE) -> str:
    """Write the page and say so."""
    path.write_text(page(), encoding="utf-8")
    return f"wrote {path}"


def entry(error: type[TriptychError]) -> str:
    """One error as Markdown: why it exists, the program that fails, the program that works."""
    return (
        f"## {error.code} {error.__name__}\n\n{reason(error)} It is also a `{_builtin(error)}`.\n\n"
        f"Fails:\n\n```python\n{_shown(error, 'failing')}\n```\n\nWorks:\n\n```python\n{_shown(error, 'fixed')}\n```\n"
    )


def program(error: type[TriptychError], which: str) -> Path:
    """The file of its failing or its fixed program."""
    return CATALOGUE / error.code / f"{which}.py"


def _text(error: type[TriptychError], which: str) -> str:
    return program(error, which).read_text(encoding="utf-8")


def _shown(error: type[TriptychError], which: str) -> str:
    """Without the import that readers of the page know."""
    return _text(error, which).replace(_ASSUMED, "", 1).replace("\n\n\n\n", "\n\n\n").strip()


def _is_ours(error: type[TriptychError]) -> bool:
    return error.__module__.startswith("triptych.")


def _record(error: type[TriptychError]) -> dict[str, str]:
    return {
        "code": error.code,
        "name": error.__name__,
        "builtin": _builtin(error),
        "reason": reason(error),
        **{which: _text(error, which) for which in PROGRAMS},
    }


def reason(error: type[TriptychError]) -> str:
    return " ".join((inspect.getdoc(error) or "").split())


def _builtin(error: type[TriptychError]) -> str:
    """The builtin exception a Python programmer would catch."""
    return next(parent.__name__ for parent in error.__mro__ if parent.__module__ == "builtins")

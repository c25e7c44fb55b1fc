"""SARIF 2.1.0 of what `triptych check` finds, for code hosts and editors that show findings at their lines.

Each error code is a rule with its catalogue entry as help. A finding is a result at one line; the other line, such as
the other access of a race, is among its related locations, and the message links to it. A finding that a comment allows
is a result with its suppression. An exception of the program itself has no rule: it is a notification of the tool.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import triptych
from triptych.sanitizer.finding_errors import error_of
from triptych.sanitizer.findings import NOTES, Collection
from triptych.support.errors import HELP_COMMAND, TriptychError
from triptych.support.source import Span
from triptych.workbench.commands.errors_page import entry, reason

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_ROOT = "%SRCROOT%"
"""What locations are relative to: the folder where the command runs, which in a workflow is the repository."""


def sarif_text(file: str, collection: Collection, error: BaseException | None) -> str:
    """The log of one run; `file` is where a finding without a line of its own is shown."""
    results: list[tuple[TriptychError, dict[str, Any]]] = []
    for finding in collection.findings:
        results.append((error_of(finding), {"level": "note" if finding.kind in NOTES else "error"}))
    for finding, why in collection.allowed:
        results.append((error_of(finding), {"level": "note", "suppressions": [_suppression(why)]}))
    if isinstance(error, TriptychError):
        results.append((error, {"level": "error"}))
    rules = {each.code: type(each) for each, _ in results}
    ended = [] if error is None or isinstance(error, TriptychError) else [_notification(error)]
    run = {
        "tool": {"driver": _driver(list(rules.values()))},
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {_ROOT: {"uri": f"{Path.cwd().as_uri()}/"}},
        "invocations": [{"executionSuccessful": not ended, "toolExecutionNotifications": ended}],
        "results": [_result(each, file, list(rules), facts) for each, facts in results],
    }
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2) + "\n"


def _driver(errors: Sequence[type[TriptychError]]) -> dict[str, Any]:
    return {"name": "triptych", "version": triptych.__version__, "rules": [_rule(error) for error in errors]}


def _rule(error: type[TriptychError]) -> dict[str, Any]:
    """Help is the catalogue entry; its address only where the settings name a site."""
    place = TriptychError.where_is_help(error.code)
    return {
        "id": error.code,
        "name": error.__name__,
        "shortDescription": {"text": reason(error)},
        "help": {"text": f"`{HELP_COMMAND} {error.code}` explains it.", "markdown": entry(error)},
        **({"helpUri": place} if "://" in place else {}),
    }


def _result(error: TriptychError, file: str, codes: Sequence[str], facts: dict[str, Any]) -> dict[str, Any]:
    related = [
        {"id": number, "message": {"text": label}, "physicalLocation": _place(span)}
        for number, (label, span) in enumerate(error.related, start=1)
    ]
    return {
        "ruleId": error.code,
        "ruleIndex": codes.index(error.code),
        **facts,
        "message": {"text": _message(error)},
        "locations": [{"physicalLocation": _place(error.span or Span(file, 1))}],
        **({"relatedLocations": related} if related else {}),
    }


def _message(error: TriptychError) -> str:
    """Without the lines of source, which the reader of a log has; related places are links by their number."""
    parts = [error.title]
    parts += [f"{name}: {text}" for name, text in (("found", error.found), ("expected", error.expected)) if text]
    parts += [f"write: {error.instead}"] if error.instead else []
    links = [f"[{_escaped(label)}]({number})" for number, (label, _) in enumerate(error.related, start=1)]
    return "\n".join([*map(_escaped, [*parts, *(f"note: {note}" for note in error.notes)]), *links])


def _escaped(text: str) -> str:
    """Brackets begin links."""
    return text.replace("\\", "\\\\").replace("[", "\\[").replace("]", "\\]")


def _place(span: Span) -> dict[str, Any]:
    region = {"startLine": span.line}
    if text := span.text():
        region["startColumn"] = _column(text, span.column)
        if span.end_column is not None and span.end_line in (None, span.line):
            region["endColumn"] = max(_column(text, span.end_column), region["startColumn"] + 1)
    return {"artifactLocation": _artifact(Path(span.file)), "region": region}


def _column(text: str, byte: int) -> int:
    """Counted in characters from 1."""
    return len(text.encode()[:byte].decode(errors="ignore")) + 1


def _artifact(file: Path) -> dict[str, str]:
    path = file.resolve()
    uri = path.as_uri()
    here = f"{Path.cwd().as_uri()}/"
    return {"uri": uri.removeprefix(here), "uriBaseId": _ROOT} if uri.startswith(here) else {"uri": uri}


def _suppression(why: str) -> dict[str, str]:
    return {"kind": "inSource", "justification": why}


def _notification(error: BaseException) -> dict[str, Any]:
    said = f"ended by sys.exit({error.code!r})" if isinstance(error, SystemExit) else f"{type(error).__name__}: {error}"
    return {"level": "error", "message": {"text": _escaped(said)}}

"""`triptych show FILE:FUNCTION`: compile a function with example arguments and print its stages side by side."""

from __future__ import annotations

import ast
import importlib.util
import json
import re
import shutil
import sys
from collections.abc import Callable
from contextlib import redirect_stdout
from dataclasses import asdict
from itertools import zip_longest
from operator import attrgetter
from pathlib import Path
from types import ModuleType
from typing import Any

import triptych
from triptych.compat import activate
from triptych.cute.runtime.fake_tensors import argument
from triptych.fingerprint.releases import LOOKED_AT
from triptych.metastage.trace.errors import ArgumentBindingError
from triptych.support.errors import TriptychError
from triptych.support.source_texts import parse_expression
from triptych.support.wording import did_you_mean, did_you_mean_file
from triptych.targets.nvptx.report.occupancy import usage_table

# Two texts beside each other, so that a stage can be read against the one before it.

SEPARATOR = " │ "
NARROWEST_COLUMN = 48
CONTINUATION = "  "


def titled(title: str, text: str) -> str:
    """A text under its heading."""
    return f"── {title} ".ljust(40, "─") + f"\n{text.rstrip()}\n"


def beside(left: tuple[str, str], right: tuple[str, str], width: int) -> str:
    """Two titled texts in columns, or under each other when `width` is too small to read two columns."""
    room = width - len(SEPARATOR)
    if room < 2 * NARROWEST_COLUMN:
        return titled(*left) + "\n" + titled(*right)
    longest = max(map(len, left[1].expandtabs(4).splitlines()), default=0)
    left_width = min(max(longest, NARROWEST_COLUMN), room // 2)
    right_width = room - left_width
    rows = zip_longest(_column(left, left_width), _column(right, right_width), fillvalue="")
    return "".join(f"{a:<{left_width}}{SEPARATOR}{b}".rstrip() + "\n" for a, b in rows)


def _column(titled_text: tuple[str, str], width: int) -> list[str]:
    title, text = titled_text
    lines = [f"── {title} ".ljust(width, "─")]
    for line in text.rstrip().expandtabs(4).splitlines():
        lines += _wrapped(line, width)
    return lines


def _wrapped(line: str, width: int) -> list[str]:
    """A long line continues below itself, a little deeper than it started: cutting it would hide code."""
    indent = line[: len(line) - len(line.lstrip())][: width // 2]
    rows, prefix = [], ""
    while len(prefix) + len(line) > width:
        end = _break(line, width - len(prefix), len(indent) if not prefix else 0)
        rows.append(prefix + line[:end].rstrip())
        line, prefix = line[end:].lstrip(), indent + CONTINUATION
    return [*rows, prefix + line]


def _break(line: str, room: int, least: int) -> int:
    """Where to break: after the last blank that leaves the row at least half full, else anywhere."""
    blank = line.rfind(" ", least + room // 2, room + 1)
    return blank if blank > 0 else room


STAGES = ("source", "rewritten", "mlir", "lowered", "llvm", "asm")
ALL, BEGINNINGS = "all", "beginnings"
RESOURCES = "resources"
_WITH_RESOURCES = "nvptx"
_FIRST_LINES = 24
"""Of each stage, where none is asked for: a function of ten lines has a thousand in all six."""


class ShowError(TriptychError, ValueError):
    """`triptych show` was asked for a file, a function or arguments that it cannot find or read."""

    code = "TT0704"


def show(
    place: str,
    *,
    stage: str = BEGINNINGS,
    arguments: str = "",
    target: str = "",
    as_json: bool = False,
    width: int | None = None,
) -> str:
    """The stages of the function at `FILE:FUNCTION`, and what its kernels take of a GPU, as text or JSON."""
    positional, named = example_arguments(arguments)
    with redirect_stdout(sys.stderr):  # what the file prints is no part of what is asked for
        try:
            compiled = triptych.compile(find(place), *positional, **named, target=target)
        except ArgumentBindingError as error:
            raise _unfit(error, arguments) from None
    wanted = STAGES if stage in (ALL, BEGINNINGS) else (() if stage == RESOURCES else (stage,))
    used = compiled.usage if target.startswith(_WITH_RESOURCES) else {}
    if as_json:
        texts = {name: getattr(compiled, name) for name in wanted}
        facts = {"resources": {name: asdict(usage) for name, usage in used.items()}} if used else {}
        return json.dumps({"function": place, "stages": texts, **facts}, indent=2)
    table = titled(RESOURCES, usage_table(used)) if used else ""
    if stage == RESOURCES:
        return table or f"a program for {target or 'the CPU'} takes no resources of a GPU\n"
    texts = {name: str(getattr(compiled, name)) for name in ("source", *wanted)}
    if stage == BEGINNINGS:
        texts = {name: _beginning(name, text) for name, text in texts.items()}
    return layout(texts, stage, width or shutil.get_terminal_size().columns) + table


def _beginning(name: str, text: str) -> str:
    """The first lines of a stage, and how to see the others."""
    lines = text.splitlines()
    left = len(lines) - _FIRST_LINES
    return text if left <= 1 else "\n".join([*lines[:_FIRST_LINES], f"... {left} lines more: --stage {name}, or all"])


def _unfit(error: ArgumentBindingError, arguments: str) -> ShowError:
    """Who calls from a shell gives arguments by an option."""
    return ShowError(
        error.title,
        found=f"--args {arguments!r}" if arguments else "no --args",
        expected=f"an example of each argument: {error.expected}",
        instead='--args "Float32[m, k], 100, limit=0.5": tensors by type and extents, numbers as they are',
    )


def layout(texts: dict[str, str], stage: str, width: int) -> str:
    """Neighbouring stages in pairs, or one stage beside the source."""
    if stage == "source":
        return titled("source", texts["source"])
    is_one = stage not in (ALL, BEGINNINGS)
    pairs = [("source", stage)] if is_one else list(zip(STAGES[::2], STAGES[1::2], strict=True))
    return "\n".join(beside((left, texts[left]), (right, texts[right]), width) for left, right in pairs)


_IMPORTS_CUTLASS = re.compile(rb"^\s*(import|from) cutlass\b", re.MULTILINE)


def find(place: str) -> Callable[..., Any]:
    """The object at `FILE:FUNCTION`."""
    file, colon, name = place.rpartition(":")
    if not colon or not name:
        raise ShowError(f"{place!r} names no function", expected="FILE:FUNCTION", instead=f"{place.rstrip(':')}:NAME")
    module = load(Path(file))
    try:
        function: Callable[..., Any] = attrgetter(name)(module)
    except AttributeError:
        raise _no_function(file, name, module) from None
    return function


def _no_function(file: str, name: str, module: ModuleType) -> ShowError:
    """Names the functions that the file defines itself: what it imports is seldom meant."""
    known = {other: value for other, value in vars(module).items() if not other.startswith("_")}
    functions = {other: value for other, value in known.items() if callable(value)}
    own = [other for other, value in functions.items() if getattr(value, "__module__", "") == module.__name__]
    return ShowError(
        f"{file} has no function {name!r}",
        expected=f"one of {', '.join(map(repr, own))}" if own else "a function that the file defines",
        instead=did_you_mean(name, own) or did_you_mean(name, known),
    )


def check_file(path: Path, expected: str) -> None:
    """Refuse a path at which there is no file, with the one that was likely meant."""
    if path.is_dir():
        raise ShowError(f"{path} is a folder and no file", expected=expected)
    if not path.is_file():
        raise ShowError(f"there is no file {path}", expected=expected, instead=did_you_mean_file(path))


def load(path: Path) -> ModuleType:
    """Run a file as a module under its own name: not as `__main__`, so its main block does not run.

    A file that imports `cutlass` gets Triptych for it, as under `triptych run`.
    """
    check_file(path, "FILE:FUNCTION, with FILE as seen from here")
    if _IMPORTS_CUTLASS.search(path.read_bytes()):
        activate()
    name = f"{LOOKED_AT}{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ShowError(f"{path} is not a Python file", expected="a file that ends in .py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    # A script finds the modules beside it; so must the same file when it is only looked at.
    sys.path.insert(0, str(path.parent.resolve()))
    try:
        spec.loader.exec_module(module)
    except SystemExit as end:
        raise ShowError(
            f"{path} ends the program when it is imported",
            found=f"SystemExit({end.code!r})",
            expected="a file that defines functions",
            instead='`if __name__ == "__main__":` around what is to run only as a script',
        ) from None
    finally:
        sys.path.pop(0)
    return module


def example_arguments(text: str) -> tuple[list[Any], dict[str, Any]]:
    """`"100, Float32[n, 64], limit=0.5"` to positional and named arguments; only literals and kinds of tensors, so
    nothing surprising runs.
    """
    extents: dict[str, Any] = {}
    try:
        call = parse_expression(f"f({text})")
        if not isinstance(call, ast.Call) or any(word.arg is None for word in call.keywords):
            raise ValueError(text)
        positional = [argument(each, extents) for each in call.args]
        named = {str(word.arg): argument(word.value, extents) for word in call.keywords}
    except (SyntaxError, ValueError):
        raise ShowError(
            "the example arguments are not literals or kinds of tensors",
            found=text,
            instead='--args "100, 2.5, Float32[rows, 64], n=3"',
        ) from None
    return positional, named

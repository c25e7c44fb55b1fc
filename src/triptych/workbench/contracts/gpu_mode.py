"""GPU MODE problems: a folder with `task.yml`, `reference.py` and a submission.

Of `task.yml` only the lists `files`, `tests` and `benchmarks` are read, so no YAML library is needed.
"""

from __future__ import annotations

import ast
import functools
import importlib
import importlib.util
import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from triptych.workbench.contracts.contract import BENCH, Contract, Function, cases_of
from triptych.workbench.errors import ContractError

TASK, REFERENCE, SUBMISSION = "task.yml", "reference.py", "submission.py"
FORMAT = "GPU MODE"
_SECTION = re.compile(r"^(\w+):", re.MULTILINE)


def is_problem(path: Path) -> bool:
    """Whether a folder, or the folder of a submission, is a problem of GPU MODE."""
    folder = path if path.is_dir() else path.parent
    described = (folder / REFERENCE).is_file() and (folder / TASK).is_file()
    return described and (path.is_dir() or "def custom_kernel" in path.read_text(encoding="utf-8"))


def read(folder: Path, submission: Path) -> Contract:
    """The problem as a contract; its `check_implementation` is asked beside our own comparison."""
    task = read_task((folder / TASK).read_text(encoding="utf-8"))
    for entry in task.get("files", []):
        source = folder / str(entry.get("source", ""))
        if source.is_file() and source.suffix == ".py" and source.resolve() != submission.resolve():
            sys.path.insert(0, str(source.parent))
    reference = importlib.import_module("reference")
    spec = importlib.util.spec_from_file_location("submission", submission)
    if spec is None or spec.loader is None or not submission.is_file():
        raise ContractError(f"{folder.name} has no {SUBMISSION}", expected="custom_kernel(data) in it")
    module = importlib.util.module_from_spec(spec)
    sys.modules["submission"] = module
    spec.loader.exec_module(module)
    tests = [dict(case) for case in task.get("tests", [])]
    marked = [{**case, BENCH: True} for case in task.get("benchmarks", [])]
    cases = cases_of([_without_seed(case) for case in (*tests, *marked)])
    return Contract(
        submission,
        _on_data(module.custom_kernel),
        _on_data(_reference_of(reference, folder)),
        reference.generate_input,
        cases,
        check=_check(getattr(reference, "check_implementation", None)),
        mutates=frozenset(),
        format=FORMAT,
    )


def read_task(text: str) -> dict[str, list[dict[str, Any]]]:
    """The lists of mappings in a `task.yml`, in both styles that such files are written in."""
    found: dict[str, list[dict[str, Any]]] = {}
    starts = [(match[1], match.end()) for match in _SECTION.finditer(text)]
    for (name, begin), (_, end) in zip(starts, [*starts[1:], ("", len(text))], strict=True):
        items = re.split(r"^\s*-\s", text[begin:end], flags=re.MULTILINE)[1:]
        found[name] = [item for part in items if (item := _mapping(part))]
    return found


def _mapping(text: str) -> dict[str, Any]:
    """`{"size": 3, "seed": 4}` or lines of `size: 3`; what is neither is empty."""
    text = "\n".join(line for line in text.splitlines() if not re.match(r"^(\s*#|\w+:\s*$)", line)).strip()
    if text.startswith("{"):
        text = text[: text.rfind("}") + 1]
        try:
            return dict(json.loads(text))
        except json.JSONDecodeError:
            text = text.strip("{}").replace(",", "\n")
    pairs = [line.split(":", 1) for line in text.splitlines() if ":" in line]
    return {name.strip().strip("\"'"): _value(value.strip()) for name, value in pairs}


def _value(text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return {"true": True, "false": False}.get(text, text)


def _without_seed(case: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in case.items() if name != "seed"}


def _on_data(function: Function) -> Function:
    """A function of one tuple as a function of its parts."""

    @functools.wraps(function)
    def called(*inputs: Any) -> Any:
        return function(inputs if len(inputs) > 1 else inputs[0])

    return called


def _reference_of(module: Any, folder: Path) -> Function:
    names = [name for name in vars(module) if name.startswith("ref") and callable(getattr(module, name))]
    if not names:
        raise ContractError(
            f"{REFERENCE} of {folder.name} has no function that computes the result",
            found=", ".join(name for name in vars(module) if not name.startswith("_")),
            expected="ref_kernel(data)",
        )
    function: Function = getattr(module, names[0])
    return function


def _check(check_implementation: Function | None) -> Function | None:
    if check_implementation is None:
        return None

    def check(outputs: Sequence[Any], _expected: Sequence[Any], inputs: Sequence[Any]) -> str:
        data = tuple(inputs) if len(inputs) > 1 else inputs[0]
        answer = check_implementation(data, outputs[0] if len(outputs) == 1 else tuple(outputs))
        if isinstance(answer, tuple):  # (good, message)
            return "" if answer[0] else str(answer[1])
        return "" if answer in (True, "", None) else str(answer)

    return check

"""`triptych import EXAMPLE.py`, second half: a folder with a plan whose known parts are filled, and a reading sheet.

The file of the plan runs from the first day: until its parts are written, it runs the example itself.

What its kernels take of a GPU is found by running the example with calls that do nothing (`triptych run
--compile-only`): no GPU is needed, but its imports are.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from triptych.support.config import process_environment
from triptych.support.dataclass import dataclass
from triptych.workbench.errors import FolderError
from triptych.workbench.folders.reading import CHECKLIST, Reading, read_example
from triptych.workbench.progress import TICK

_COLUMNS = ("kernel", "registers", "shared", "spilled", "instructions", "threads", "blocks_at_once")


@dataclass(frozen=True, slots=True)
class Resources:
    """What each kernel takes, or why that is not known."""

    target: str
    rows: tuple[dict[str, Any], ...] = ()
    why_not: str = ""


def resources_of(
    example: Path, target: str, seconds: float, tick: Callable[[], None], arguments: Sequence[str] = ()
) -> Resources:
    """Compile what the example compiles with these arguments, in a process of its own; `tick` is called meanwhile."""
    command = ["run", "--target", target, "--compile-only", "--json", example.name, *arguments]
    words = [sys.executable, "-m", "triptych", *command]
    environment = {**process_environment(), "TRIPTYCH_GPU": ""}  # one of the target
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        child = subprocess.Popen(
            words, cwd=example.resolve().parent, stdin=subprocess.DEVNULL, stdout=out, stderr=err, env=environment
        )
        until = time.monotonic() + seconds
        while child.poll() is None and time.monotonic() < until:
            time.sleep(TICK)
            tick()
        if child.poll() is None:
            child.kill()
            child.wait()
            return Resources(target, why_not=f"the example took longer than {seconds:g} s, although calls do nothing")
        out.seek(0)
        err.seek(0)
        return _resources(target, out.read(), err.read(), child.returncode)


def _resources(target: str, out: str, err: str, code: int) -> Resources:
    try:
        rows = tuple(json.loads(out)["kernels"])
    except (ValueError, KeyError):
        rows = ()
    said = (line for line in reversed(err.splitlines()) if line.strip() and not line.startswith("triptych: "))
    last = next(said, "nothing said")
    why_not = f"the example ended with: {last.strip()[:200]}" if code else "it compiles no kernel as it is started"
    return Resources(target, rows, "" if rows else why_not)


def import_example(root: Path, example: Path, layer: str, resources: Resources | None = None) -> Path:
    """A folder with the plan and the sheet; the folder."""
    found = read_example(example)
    name = re.sub(r"\W", "_", example.stem)
    folder = new_folder(root, example, layer)
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text(f'"""{name}, read from a public example."""\n', encoding="utf-8")
    (folder / f"{name}.py").write_text(plan_text(found, name, _path_from(folder, example)), encoding="utf-8")
    (folder / "READING.md").write_text(sheet(found, resources), encoding="utf-8")
    return folder


def new_folder(root: Path, example: Path, layer: str) -> Path:
    """Where an example goes, which is not there yet."""
    name = re.sub(r"\W", "_", example.stem)
    folder = (root / layer if layer else root) / name / name
    if folder.exists():
        raise FolderError(f"{folder} is there already", expected="a folder that is not there", instead="--layer other")
    return folder


def sheet(found: Reading, resources: Resources | None) -> str:
    """The reading sheet, as Markdown."""
    lines = [f"# Reading {found.file}", "", "Line numbers are those of the example, which is not copied here.", ""]
    lines += [f"- host functions, which launch: {_named(found.hosts)}", f"- kernels: {_named(found.kernels)}"]
    lines += [f"- other compiled functions: {_named(found.helpers)}"]
    lines += [f"- launch at line {line}: {', '.join(words) or 'nothing said'}" for line, words in found.launches]
    lines += [f"- element types: {_lines_of(found.elements) or 'none named'}"]
    for side, topics in CHECKLIST.items():
        lines += ["", f"## {side}", "", "| topic | names and lines |", "|---|---|"]
        lines += [f"| {topic} | {_lines_of(found.lines.get(topic, {})) or '-'} |" for topic in topics]
    lines += ["", "## How it is cut up", "", "| name | value | line |", "|---|---|---|"]
    lines += [f"| {name} | {value} | {line} |" for name, (line, value) in found.tiling.items()]
    lines += ["", "## Parts of a plan", "", "| part | found |", "|---|---|"]
    lines += [f"| {part} | {'yes' if there else 'no'} |" for part, there in found.parts().items()]
    return "\n".join([*lines, "", *_resource_table(found, resources), ""])


def _resource_table(found: Reading, resources: Resources | None) -> list[str]:
    target = resources.target if resources is not None else f"nvptx:{found.needs()}"
    command = f"    triptych run --target {target} --compile-only {found.file}"
    lines = [f"## What its kernels take of a GPU ({target})", ""]
    if resources is None or not resources.rows:
        why = f"Not known: {resources.why_not}." if resources is not None else "Not asked for."
        return [*lines, why, "", command]
    lines += ["| " + " | ".join(name.replace("_", " ") for name in _COLUMNS) + " |", "|" + "---|" * len(_COLUMNS)]
    for row in resources.rows:
        cells = ("launch" if row[name] is None else str(row[name]) for name in _COLUMNS)
        lines.append("| " + " | ".join(cells) + " |")
    return [*lines, "", command]


def _path_from(folder: Path, example: Path) -> str:
    """Where the example is, seen from the folder; of another drive by its whole path."""
    try:
        return Path(os.path.relpath(example.resolve(), folder.resolve())).as_posix()
    except ValueError:
        return example.resolve().as_posix()


def plan_text(found: Reading, name: str, example: str) -> str:
    """A `KernelPlan` with the dimensions of the example's command line; the rest says what is to be written."""
    made = "".join(part.capitalize() for part in name.split("_"))
    problem = {**found.problem(), **found.types}
    return _PLAN.format(
        name=name,
        made=made,
        file=found.file,
        example=example,
        requires=f'    REQUIRES = "{found.needs()}"\n' if found.needs() != "sm_80" else "",
        fields=_fields(problem) or "    ...  # the dimensions of the problem: none stand in the example",
        tiles=_fields(found.choices()) or "    ...  # tiles, stages, threads: the example names none",
        inputs=_lines_of(found.inputs) or "not found",
        references=_lines_of(found.references) or "not found",
        hosts=_named(found.hosts),
    )


def _fields(values: dict[str, Any]) -> str:
    named = {re.sub(r"\W", "_", name): value for name, value in values.items()}
    return "\n".join(
        f"    {name}: {_annotation(value)} = {value!r}" for name, value in named.items() if name.isidentifier()
    )


def _annotation(value: Any) -> str:
    return f"tuple[{', '.join(['int'] * len(value))}]" if _is_shape(value) else type(value).__name__


def _is_shape(value: Any) -> bool:
    return isinstance(value, tuple) and bool(value) and all(type(part) is int for part in value)


def _named(names: dict[str, int]) -> str:
    return ", ".join(f"`{name}` (line {line})" for name, line in names.items()) or "none"


def _lines_of(names: dict[str, list[int]]) -> str:
    return "; ".join(f"{name} {', '.join(map(str, sorted(set(lines))))}" for name, lines in sorted(names.items()))


_PLAN = '''"""{name}: a plan after the public example {file}.

`python {name}.py ARGUMENTS` runs the example as it is, unchanged; `triptych check` and `triptych profile` take it too.
Write the three parts that raise `NotImplementedError`, then let the last line benchmark the plan instead.
"""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from triptych.workbench import CuteKernel, KernelPlan, Tiling

EXAMPLE = Path(__file__).parent / "{example}"


@dataclass(frozen=True)
class {made}Tiling(Tiling):
    """How the example cuts it up."""

{tiles}


@dataclass
class {made}(KernelPlan):
    """The dimensions and choices of the example's command line."""

{fields}
{requires}    tiling = {made}Tiling()

    def prepare_inputs(self, seed: int = 0) -> list[Any]:
        """Tensors of these dimensions. In the example: {inputs}."""
        raise NotImplementedError("make the inputs; in {file}: {inputs}")

    def reference(self, *inputs: Any) -> Any:
        """What it should compute. In the example: {references}."""
        raise NotImplementedError("compute what is expected; in {file}: {references}")

    def plan(self, *inputs: Any) -> CuteKernel:
        """Call the host function with these inputs and {made}Tiling(). In the example: {hosts}."""
        raise NotImplementedError("call the host function; in {file}: {hosts}")


def run_example(*arguments: str) -> int:
    """The example itself, on Triptych; its exit code."""
    return subprocess.run([sys.executable, "-m", "triptych", "run", str(EXAMPLE), *arguments], check=False).returncode


if __name__ == "__main__":
    sys.exit(run_example(*sys.argv[1:]))  # then: {made}().benchmark_kernel_argparse()
'''

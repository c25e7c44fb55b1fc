"""`triptych new`, `triptych import` and `triptych devlog`: folders of kernels, and what is written of them."""

from __future__ import annotations

import argparse
import json
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

from triptych.workbench.commands.command_line import add_page, seconds
from triptych.workbench.errors import FolderError
from triptych.workbench.folders.importing import import_example, new_folder, resources_of
from triptych.workbench.folders.reading import CHECKLIST, read_example
from triptych.workbench.folders.versions import Static, add_entry, entry, new_kernel, next_version, planned, templates
from triptych.workbench.measurement.records import read_record
from triptych.workbench.processes import ask
from triptych.workbench.progress import Progress, progress

_PATIENCE = 300.0


def add_new(command: argparse.ArgumentParser) -> None:
    """Its arguments."""
    command.add_argument("name", metavar="NAME", help="name of the design, a Python identifier")
    command.add_argument(
        "--template", choices=templates(), default="elementwise", help="what to begin with (default: %(default)s)"
    )
    command.add_argument("--from", dest="source", metavar="VERSION", help="make the next _vN of this version")
    command.add_argument("--layer", default="", help="a folder above the design's")
    command.add_argument("--root", type=Path, default=Path(), help="folder to make it in (default: here)")


def new_command(arguments: argparse.Namespace) -> int:
    """Make a folder, and say what to do next."""
    if arguments.source:
        folder = next_version(arguments.root, arguments.source, arguments.layer)
    else:
        folder = new_kernel(arguments.root, arguments.name, arguments.template, arguments.layer)
    print(f"{folder}\nnext: triptych verify {folder / folder.name}.py")
    return 0


def add_devlog(command: argparse.ArgumentParser, listing: argparse.ArgumentParser) -> None:
    """Its arguments."""
    actions = command.add_subparsers(dest="action", metavar="ACTION")
    add = add_page(actions, "devlog add", listing)
    add.add_argument("folder", type=Path, metavar="FOLDER", help="of a version, as new made it")
    add.add_argument("record", type=Path, metavar="RECORD", help="that `triptych bench --record` wrote")
    add.add_argument("--before", type=Path, metavar="RECORD", help="of the version before")
    add.add_argument("--comparison", type=Path, metavar="RECORD", help="of both, compared (`bench A B --record`)")
    add.add_argument("--target", default="", metavar="NAME", help="as nvptx:sm_80: registers and the like")
    add.add_argument("--overview", default="", metavar="TEXT", help="what this version does")


def devlog_command(arguments: argparse.Namespace) -> int:
    """Append an entry, and say where."""
    if not arguments.folder.is_dir():
        raise FolderError(
            f"there is no folder {arguments.folder}", expected="the folder of a version, as `triptych new` made it"
        )
    record = read_record(arguments.record)
    before = read_record(arguments.before) if arguments.before else None
    compared = read_record(arguments.comparison) if arguments.comparison else None
    static = _static(arguments.target, record, before) if arguments.target else None
    overview = arguments.overview or planned(arguments.folder)
    file = add_entry(arguments.folder, entry(record, before, overview, compared, static))
    print(f"added {arguments.folder.name} to {file}")
    return 0


def _static(target: str, record: dict[str, Any], before: dict[str, Any] | None) -> Static:
    """What both versions take of a GPU, by the assembler."""
    with progress("devlog") as bar, tempfile.TemporaryDirectory() as folder:
        found = [{} if one is None else _resources(one, target, Path(folder), bar) for one in (record, before)]
    return Static(target, *found)


def _resources(record: dict[str, Any], target: str, folder: Path, bar: Progress) -> dict[str, Any]:
    """Of the source in a record, compiled for a target."""
    file = folder / Path(record["file"]).name
    file.write_text(record["source"], encoding="utf-8")
    request = {"file": str(file), "target": target, "case": "", "calls": 1, "folder": str(folder / "profile")}
    settings = {"TRIPTYCH_TARGET": target}
    answer = ask("profile", request, _PATIENCE, environment=settings, bar=bar)
    if answer.result is None:
        raise FolderError(
            f"{file.name} cannot be compiled for {target}", found=answer.error or answer.ended, instead="no --target"
        )
    return {name: used for program in answer.result["programs"] for name, used in program["resources"].items()}


def add_import(command: argparse.ArgumentParser) -> None:
    """Its arguments."""
    command.add_argument("example", type=Path, metavar="EXAMPLE.py", help="written for the public CuTe DSL")
    command.add_argument("--layer", default="", help="a folder above the design's")
    command.add_argument("--root", type=Path, default=Path(), help="folder to make it in (default: here)")
    command.add_argument(
        "--target", default="", metavar="NAME", help="target of the resource table (default: by what it uses)"
    )
    command.add_argument(
        "--seconds",
        type=seconds,
        default=120.0,
        metavar="S",
        help="time for the example to compile (default: %(default)s)",
    )
    command.add_argument("--no-resources", action="store_true", help="only read it: the example does not run")
    command.add_argument(
        "arguments", nargs="*", default=[], metavar="ARGUMENT", help="as the example takes them; options behind --"
    )


def import_command(arguments: argparse.Namespace) -> int:
    """Make a folder with a plan and a reading sheet, and say what was found."""
    found = read_example(arguments.example)
    parts = found.parts()
    if not any(parts.values()):
        raise FolderError(
            f"{arguments.example} has nothing of a kernel",
            found="no kernel, no host function and no launch",
            expected="a file with a function under @cute.kernel",
        )
    new_folder(arguments.root, arguments.example, arguments.layer)
    resources = None
    if not arguments.no_resources:
        with progress("import") as bar:
            bar.say(f"compiling {arguments.example.name}")
            target = arguments.target or f"nvptx:{found.needs()}"
            resources = resources_of(arguments.example, target, arguments.seconds, bar.tick, arguments.arguments)
    folder = import_example(arguments.root, arguments.example, arguments.layer, resources)
    if arguments.json:
        facts = {"folder": str(folder), "parts": parts, "topics": found.lines, "tiling": found.choices()}
        print(json.dumps({**facts, "resources": None if resources is None else asdict(resources)}, indent=2))
        return 0
    print(folder, f"found: {', '.join(part for part, there in parts.items() if there)}", sep="\n")
    if not all(parts.values()):
        print(f"not found: {', '.join(part for part, there in parts.items() if not there)}")
    topics = [topic for topics in CHECKLIST.values() for topic in topics if topic in found.lines]
    print(f"reading sheet, by line: {', '.join(topics)}")
    if resources is not None:
        print(f"resources for {resources.target}: {resources.why_not or f'{len(resources.rows)} kernels'}")
    print(f"next: python {folder / folder.name}.py runs the example; read {folder / 'READING.md'}, then write the plan")
    return 0

"""`triptych` / `python -m triptych`: parses the command line and hands over to one file per command.

Exit codes: 0 done, 1 an error in the user's program (shown at its line), 2 a request that cannot be met, as a file that
cannot be written, 130 Ctrl-C.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, TypeAlias

import triptych
from triptych.cute.runtime.exported_modules import find_runtime_libraries
from triptych.metastage.trace import locations
from triptych.support.config import current_settings, has_colours
from triptych.support.errors import TriptychError
from triptych.support.forking import import_late
from triptych.support.setting import Value
from triptych.support.tracebacks import caller, has_own_frames, user_traceback
from triptych.workbench.commands.build import BuildRequest, build
from triptych.workbench.commands.cache import cache_command
from triptych.workbench.commands.check import CheckRequest, CostRequest, check
from triptych.workbench.commands.command_line import OVERVIEW, CommandLine, add_page, count, count_or_none, parsed
from triptych.workbench.commands.coverage import coverage
from triptych.workbench.commands.documents import copy_examples, list_examples, search
from triptych.workbench.commands.errors_page import PAGE, catalogue, schema, write_page
from triptych.workbench.commands.layouts import LayoutRequest, show_layout
from triptych.workbench.commands.run import RunRequest, run
from triptych.workbench.commands.show import ALL, BEGINNINGS, RESOURCES, STAGES, show
from triptych.workbench.commands.skill import install_skill
from triptych.workbench.commands.workbench import WORKBENCH, add_workbench

# `triptych env`: every setting, its value, and where the value came from.


def environment(*, as_json: bool = False) -> str:
    """The table of settings as text or JSON."""
    rows = current_settings()
    if as_json:
        records = [
            {
                "name": setting.name,
                "variable": setting.variable,
                "value": setting.shown(value),
                "default": setting.default,
                "origin": origin,
                "aliases": [alias.variable for alias in setting.aliases],
                "help": setting.help,
            }
            for setting, value, origin in rows
        ]
        return json.dumps(records, indent=2)
    assignments = [f"{setting.variable}={_spelled(setting.shown(value))}" for setting, value, _ in rows]
    assignment_width = max(map(len, assignments))
    origin_width = max(len(origin) for *_, origin in rows)
    return "\n".join(
        f"{assignment:<{assignment_width}}  {origin:<{origin_width}}  {setting.help}"
        for assignment, (setting, _, origin) in zip(assignments, rows, strict=True)
    )


def _spelled(value: Value) -> str:
    """As a shell would take it back."""
    return str(int(value)) if isinstance(value, bool) else str(value)


# `triptych link-flags`: what a linker is told for a program that uses exported objects.

SYSTEM = ("-pthread", "-lm", "-ldl")
"""The system's libraries that an object with its runtime calls."""


def link_flags(*, tvm_ffi: bool, as_json: bool) -> str:
    """The flags on one line, for `$(triptych link-flags)`. The objects hold their own runtime."""
    flags = list(SYSTEM)
    for library in find_runtime_libraries(enable_tvm_ffi=tvm_ffi):
        flags += [library, f"-Wl,-rpath,{Path(library).parent}"]
    return json.dumps({"flags": flags}) if as_json else " ".join(flags)


_INTERRUPTED = 130
"""What shells make of Ctrl-C."""
_Request: TypeAlias = LayoutRequest | RunRequest | BuildRequest | CheckRequest | CostRequest


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return the exit code."""
    parser, commands = parser_with_commands()
    arguments = parsed(parser, commands, argv)
    if arguments.command is None or getattr(arguments, "action", "") is None:
        commands.get(arguments.command, parser).print_help()
        return 0
    try:
        if arguments.command == "run":
            return run(RunRequest(**_chosen(arguments, RunRequest)))
        if arguments.command == "build":
            return build(BuildRequest(**_chosen(arguments, BuildRequest)))
        if arguments.command == "check" and arguments.costs:
            costs: Any = import_late("triptych.workbench.commands.costs")  # NumPy, only where it is needed
            return int(costs.check_costs(CostRequest(**_chosen(arguments, CostRequest))))
        if arguments.command == "check":
            return check(CheckRequest(**_chosen(arguments, CheckRequest)))
        if arguments.command in WORKBENCH:
            return WORKBENCH[arguments.command](arguments)
        print(_run(arguments))
        sys.stdout.flush()
    except BrokenPipeError:  # the reader (`| head`) has left: what is still buffered goes nowhere
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except TriptychError as error:
        return _report(error, arguments.command)
    except KeyboardInterrupt as error:
        if arguments.command not in WORKBENCH:  # the user's program was running here
            traceback.print_exception(error.with_traceback(_frames_of_the_program(error)))
        print(f"triptych {arguments.command}: interrupted", file=sys.stderr)
        return _INTERRUPTED
    except Exception as error:  # of the user's program, which is shown as Python would show it
        frames = _frames_of_the_program(error)
        if isinstance(error, OSError) and not has_own_frames(frames):
            print(f"triptych {arguments.command}: error: {error}", file=sys.stderr)
            return 2
        traceback.print_exception(error.with_traceback(frames))
        return 1
    return 0


def _report(error: TriptychError, command: str) -> int:
    """Print an error: of the program at its line, or of the request, which has no line."""
    here = caller()
    if error.span is not None and here is not None and error.span.file == here.file:
        error.span = None
    text = "\n".join(filter(None, (error.text(colours=has_colours(sys.stderr)), error.more())))
    if error.span is not None:
        print(text, file=sys.stderr)
        return 1
    print(f"triptych {command}: error: {text}", file=sys.stderr)
    return 2


def _frames_of_the_program(error: BaseException) -> TracebackType | None:
    """Below the command itself, which is where Python started."""
    frames = user_traceback(error.__traceback__, locations.root_of)
    command = caller()
    while frames is not None and command is not None and frames.tb_frame.f_code.co_filename == command.file:
        frames = frames.tb_next
    return frames


def _run(arguments: argparse.Namespace) -> str:
    match arguments.command:
        case "show":
            return show(
                arguments.place,
                stage=arguments.stage,
                arguments=arguments.args,
                target=arguments.target,
                as_json=arguments.json,
                width=arguments.width,
            )
        case "errors" if arguments.page is not None:
            return write_page(arguments.page)
        case "errors" if arguments.schema:
            return schema()
        case "errors":
            return catalogue(arguments.code, as_json=arguments.json)
        case "docs":
            return search(arguments.words, as_json=arguments.json)
        case "examples" if arguments.action == "list":
            return list_examples(as_json=arguments.json)
        case "examples":
            return copy_examples(arguments.names, arguments.to)
        case "skill":
            return install_skill(arguments.folder)
        case "coverage":
            return coverage(arguments.paths, as_json=arguments.json)
        case "layout":
            return show_layout(LayoutRequest(**_chosen(arguments, LayoutRequest)), as_json=arguments.json)
        case "cache":
            return cache_command(arguments.action, vars(arguments), as_json=arguments.json)
        case "link-flags":
            return link_flags(tvm_ffi=arguments.tvm_ffi, as_json=arguments.json)
        case _:
            return environment(as_json=arguments.json)


def _chosen(arguments: argparse.Namespace, request: type[_Request]) -> dict[str, Any]:
    """The fields of a request as the command line gives them."""
    return {field.name: getattr(arguments, field.name) for field in dataclasses.fields(request)}


def parser_with_commands() -> tuple[CommandLine, dict[str, argparse.ArgumentParser]]:
    """The parser, and those of the commands by name."""
    parser = CommandLine(
        prog="triptych",
        description="Ordinary Python, compiled in three visible stages.",
        epilog=OVERVIEW,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"triptych {triptych.__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    listing = CommandLine(add_help=False)
    listing.add_argument("--json", action="store_true", help="print JSON instead of text")

    command = add_page(commands, "show", listing)
    command.add_argument("place", metavar="FILE:FUNCTION", help="as 'kernels.py:saxpy' or 'kernels.py:Gemm.run'")
    command.add_argument(
        "--stage",
        choices=(*STAGES, RESOURCES, ALL, BEGINNINGS),
        default=BEGINNINGS,
        help="one, or all, or the first lines of each (default: %(default)s)",
    )
    command.add_argument("--args", default="", metavar="LITERALS", help="example arguments, as '100, limit=0.5'")
    command.add_argument(
        "--target", default="", metavar="NAME", help="as 'nvptx:sm_80' (default: the setting `target`)"
    )
    command.add_argument("--width", type=count, metavar="N", help="columns to use (default: those of the terminal)")

    _add_errors(add_page(commands, "errors", listing))

    command = add_page(commands, "docs", listing)
    command.add_argument("words", nargs="*", metavar="WORD", help="of a question; without any, the pages are listed")
    _add_examples(add_page(commands, "examples"), listing)

    _add_skill(add_page(commands, "skill"))

    _add_run(add_page(commands, "run"))

    command = add_page(commands, "coverage", listing)
    command.add_argument("paths", nargs="+", type=Path, metavar="PATH", help="a Python file, a notebook or a folder")

    _add_build(add_page(commands, "build", listing))

    _add_check(add_page(commands, "check", listing))
    add_workbench(commands, listing)

    _add_layout(add_page(commands, "layout", listing))

    _add_cache(add_page(commands, "cache"), listing)

    command = add_page(commands, "link-flags", listing)
    command.add_argument("--tvm-ffi", action="store_true", help="for objects with an entry for TVM FFI")

    add_page(commands, "env", listing)
    return parser, dict(commands.choices)


def _add_errors(command: argparse.ArgumentParser) -> None:
    command.add_argument("code", nargs="?", help="as TT0203")
    command.add_argument(
        "--page", nargs="?", const=PAGE, type=Path, metavar="FILE", help=f"write the catalogue to {PAGE}"
    )

    command.add_argument("--schema", action="store_true", help="print the JSON Schema of what --json prints")


def _add_skill(command: argparse.ArgumentParser) -> None:
    actions = command.add_subparsers(dest="action", metavar="ACTION", required=True)
    install = add_page(actions, "skill install")
    install.add_argument("folder", type=Path, metavar="DIR", help="where an assistant looks for skills")


def _add_examples(command: argparse.ArgumentParser, listing: argparse.ArgumentParser) -> None:
    actions = command.add_subparsers(dest="action", metavar="ACTION", required=True)
    add_page(actions, "examples list", listing)
    copy = add_page(actions, "examples copy")
    copy.add_argument("names", nargs="*", metavar="NAME", help="as 'softmax' (default: all of them)")
    copy.add_argument("--to", type=Path, default=Path(), metavar="DIR", help="where to (default: here)")


def _add_run(command: argparse.ArgumentParser) -> None:
    command.usage = "triptych run [-h] [--gpus N] [--target NAME [--compile-only [--json]]] [-m] SCRIPT [ARGUMENT ...]"
    command.add_argument(
        "--target", default="", metavar="NAME", help="as 'nvptx:sm_80' (default: the setting `target`)"
    )
    command.add_argument(
        "--compile-only", action="store_true", help="run no kernel, and show what each takes of the target's GPU"
    )
    command.add_argument("--json", action="store_true", help="show that as JSON")
    command.add_argument(
        "--gpus", type=count, default=0, metavar="N", help="let the program see N GPUs, with a process for each"
    )
    command.add_argument("-m", dest="module", action="store_true", help="SCRIPT is a module, as for `python -m`")
    command.add_argument("program", metavar="SCRIPT", help="a Python file or a notebook (.ipynb)")
    command.add_argument("arguments", nargs=argparse.REMAINDER, metavar="ARGUMENT", help="as the program takes them")


def _add_build(command: argparse.ArgumentParser) -> None:
    command.add_argument("manifest", metavar="MANIFEST", help="a Python file with a list JOBS")
    command.add_argument(
        "--target",
        dest="targets",
        action="append",
        default=[],
        metavar="NAME",
        help="as 'cpu' or 'nvptx:sm_90a', as often as needed (default: the setting `target`)",
    )
    command.add_argument(
        "-j", dest="workers", type=count, metavar="N", help="processes at once (default: one for each processor)"
    )


def _add_check(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "place",
        metavar="FILE[:FUNCTION]",
        help="a script, a file with kernel_fn and get_inputs, or a function as 'kernels.py:saxpy'",
    )
    command.add_argument("--args", default="", metavar="LITERALS", help="arguments, as '100, Float32[64, 64], n=3'")
    command.add_argument(
        "--schedules",
        type=count_or_none,
        default=0,
        metavar="N",
        help="run N times more, with blocks and warps in other orders",
    )
    command.add_argument(
        "--seed", type=int, default=1, metavar="S", help="seed of the first order (default: %(default)s)"
    )
    command.add_argument("--hints", action="store_true", help="name barriers that nothing in this run needed")
    command.add_argument(
        "--svg", default="", metavar="DIR", help="draw findings, or with --costs each line's most expensive request"
    )
    command.add_argument("--sarif", default="", metavar="FILE", help="write the findings as SARIF 2.1.0, too")
    command.add_argument(
        "--only", default="", metavar="WORDS", help="checkers, as 'races,init' (default: all but global)"
    )
    command.add_argument("--strict", action="store_true", help="notes count as findings")
    command.add_argument(
        "--cutlass", action="store_true", help="let `cutlass` be Triptych where only imported modules use it"
    )
    command.add_argument("arguments", nargs="*", metavar="ARGUMENT", help="as the script takes them; options behind --")
    costs = command.add_argument_group("costs", "what would be slow on a GPU, counted on the PTX simulator")
    costs.add_argument("--costs", action="store_true", help="count instead of check; FILE may be a kernel file")
    costs.add_argument("--arch", default="sm_80", metavar="NAME", help="architecture (default: %(default)s)")
    costs.add_argument(
        "--blocks", default="5", metavar="N", help="how many blocks run, or 'all' (default: %(default)s)"
    )
    costs.add_argument("--case", default="", metavar="NAME", help="of a kernel file (default: its usual inputs)")


def _add_cache(command: argparse.ArgumentParser, listing: argparse.ArgumentParser) -> None:
    actions = command.add_subparsers(dest="action", metavar="ACTION")
    add_page(actions, "cache ls", listing)
    why = add_page(actions, "cache why", listing)
    why.add_argument("place", metavar="FILE:FUNCTION", help="as 'kernels.py:saxpy'")
    why.add_argument("--args", default="", metavar="LITERALS", help="example arguments, as '100, limit=0.5'")
    why.add_argument("--target", default="", metavar="NAME", help="as 'nvptx:sm_80' (default: the setting `target`)")
    add_page(actions, "cache verify", listing)
    prune = add_page(actions, "cache prune", listing)
    prune.add_argument("--to", default="0", metavar="SIZE", help="leave at most so much, as 200M (default: nothing)")
    export = add_page(actions, "cache export", listing)
    export.add_argument("file", help="as kernels.tar")
    taken = add_page(actions, "cache import", listing)
    taken.add_argument("file", help="an archive that `export` wrote")


def _add_layout(command: argparse.ArgumentParser) -> None:
    command.add_argument("layout", help="a layout, or inner o offset o outer with a swizzle S<b,m,s>")
    command.add_argument("--compose", metavar="B", help="compose it with B: a layout, a tile or a shape")
    command.add_argument("--divide", metavar="TILER", help="divide it by a tiler, tiles first")
    command.add_argument("--coalesce", action="store_true", help="give it as few modes as possible")
    command.add_argument("--access", metavar="A", help="count bank conflicts and sectors of an access, as 32:1@0")
    command.add_argument(
        "--bits", type=count, default=32, metavar="N", help="bits of an element (default: %(default)s)"
    )
    command.add_argument("--svg", type=Path, metavar="FILE", help="write the picture as SVG")
    command.add_argument("--latex", type=Path, metavar="FILE", help="write the picture as LaTeX (TikZ)")

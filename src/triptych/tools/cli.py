"""`triptych` / `python -m triptych`: parses the command line and hands over to one file per command.

Exit codes: 0 done, 1 the request failed (the error is printed), 2 wrong usage.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import triptych
from triptych.support.errors import TriptychError
from triptych.tools.environment import environment
from triptych.tools.errors_page import PAGE, catalogue, write_page
from triptych.tools.show import ALL, STAGES, show


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return the exit code."""
    arguments = _parser().parse_args(argv)
    try:
        print(_run(arguments))
    except TriptychError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def _run(arguments: argparse.Namespace) -> str:
    match arguments.command:
        case "show":
            return show(
                arguments.place,
                stage=arguments.stage,
                arguments=arguments.args,
                as_json=arguments.json,
                width=arguments.width,
            )
        case "errors" if arguments.page is not None:
            return write_page(arguments.page)
        case "errors":
            return catalogue(arguments.code, as_json=arguments.json)
        case _:
            return environment(as_json=arguments.json)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="triptych", description="Ordinary Python, compiled in three visible stages.")
    parser.add_argument("--version", action="version", version=f"triptych {triptych.__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    listing = argparse.ArgumentParser(add_help=False)
    listing.add_argument("--json", action="store_true", help="print JSON instead of text")

    command = commands.add_parser("show", parents=[listing], help="show the stages of a function")
    command.add_argument("place", metavar="FILE:FUNCTION", help="as 'kernels.py:saxpy' or 'kernels.py:Gemm.run'")
    command.add_argument("--stage", choices=(*STAGES, ALL), default=ALL, help="which stage (default: %(default)s)")
    command.add_argument("--args", default="", metavar="LITERALS", help="example arguments, as '100, limit=0.5'")
    command.add_argument("--width", type=int, metavar="N", help="columns to use (default: those of the terminal)")

    command = commands.add_parser("errors", parents=[listing], help="explain an error code, or list all of them")
    command.add_argument("code", nargs="?", help="as TT0203")
    command.add_argument(
        "--page", nargs="?", const=PAGE, type=Path, metavar="FILE", help=f"write the catalogue to {PAGE}"
    )

    commands.add_parser("env", parents=[listing], help="list every setting and its current value")
    return parser

"""`triptych verify FILE`: whether a kernel computes what its reference does, in a process of its own."""

from __future__ import annotations

import argparse
import json
import sys

from triptych.sanitizer.checkers import DEFAULT
from triptych.workbench.commands.command_line import bound, count, seconds
from triptych.workbench.processes import Answer, ask
from triptych.workbench.progress import progress
from triptych.workbench.verification.findings import text_of

_CHECKED = {"TRIPTYCH_DEBUG": DEFAULT, "TRIPTYCH_BLOCK_ORDER": "shuffled"}
"""Those of `triptych check`, and blocks run in any order."""


def add_verify(command: argparse.ArgumentParser) -> None:
    """Its arguments."""
    command.add_argument("file", metavar="FILE", help="with kernel_fn, reference_fn and get_inputs; or a public format")
    command.add_argument("--rtol", type=bound, metavar="R", help="allow R times the expected number ...")
    command.add_argument(
        "--atol", type=bound, metavar="A", help="... plus A (default: as near to float64 as the reference)"
    )
    command.add_argument("--case", dest="cases", action="append", default=[], help="only this one of CASES")
    command.add_argument(
        "--seeds", type=count, default=3, metavar="N", help="draw inputs N times (default: %(default)s)"
    )
    command.add_argument("--allow-weak", action="store_true", help="pass although the bound accepts zeros and the like")
    command.add_argument("--check", action="store_true", help=f"first run each case under the checkers {DEFAULT}")
    command.add_argument(
        "--timeout", type=seconds, default=600.0, metavar="S", help="give up after S seconds (default: %(default)s)"
    )


def verify_command(arguments: argparse.Namespace) -> int:
    """Verify, print, and return the exit code."""
    wanted = ("file", "rtol", "atol", "cases", "seeds", "allow_weak")
    request = {name: getattr(arguments, name) for name in wanted}
    with progress("verify") as bar:
        answer = ask("check", request, arguments.timeout, environment=_CHECKED, bar=bar) if arguments.check else None
        if answer is None or (answer.result is not None and answer.result["verdict"] != "fail"):
            answer = ask("verify", request, arguments.timeout, bar=bar)
            if arguments.check and answer.result is not None and answer.result["verdict"] != "skipped":
                answer.result["checked"] = DEFAULT.replace(",", ", ")
    if answer.result is None:
        return report_failure("verify", answer)
    print(json.dumps(answer.result, indent=2) if arguments.json else text_of({**answer.result, "file": arguments.file}))
    return 0 if answer.result["verdict"] in ("pass", "skipped") else 1


def report_failure(command: str, answer: Answer) -> int:
    """A request that cannot be met, an exception of the user's file, or a crash."""
    if answer.error:
        print(f"triptych {command}: error: {answer.error}", file=sys.stderr)
        return 2 if answer.is_request else 1
    print(f"triptych {command}: FAIL: {answer.ended} during {answer.doing}", file=sys.stderr)
    return 1

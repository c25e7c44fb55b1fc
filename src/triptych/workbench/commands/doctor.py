"""`triptych doctor`: what is installed and what works, as a table, and as a file to send."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from triptych.support.forking import import_late
from triptych.workbench.progress import progress


def add_doctor(command: argparse.ArgumentParser) -> None:
    """Its arguments."""
    command.add_argument("--all", dest="everything", action="store_true", help="run every kernel on the CPU too")
    command.add_argument("--report", type=Path, metavar="FILE", help="write what was found as JSON, a file to send")


def doctor_command(arguments: argparse.Namespace) -> int:
    """Examine, print, and return the exit code: 0 if everything that is there works."""
    found: Any = import_late("triptych.workbench.doctor.report")  # NumPy, only where it is needed
    with progress("doctor") as told:
        report = found.examine(told, everything=arguments.everything)
    text = json.dumps(report.data(), indent=2)
    if arguments.report:
        arguments.report.write_text(text + "\n", encoding="utf-8")
    print(text if arguments.json else report.text())
    return 0 if report.is_well else 1

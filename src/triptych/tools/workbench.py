"""The commands of the workbench, with their arguments."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from typing import Any

from triptych.tools.bench import add_bench, bench_command
from triptych.tools.devices import add_devices, devices_command
from triptych.tools.kernel_folders import add_devlog, add_import, add_new, devlog_command, import_command, new_command
from triptych.tools.profile import add_profile, profile_command
from triptych.tools.tune import add_tune, tune_command
from triptych.tools.verify import add_verify, verify_command

WORKBENCH: Mapping[str, Callable[[argparse.Namespace], int]] = {
    "verify": verify_command,
    "bench": bench_command,
    "devices": devices_command,
    "tune": tune_command,
    "profile": profile_command,
    "new": new_command,
    "devlog": devlog_command,
    "import": import_command,
}
"""Each returns the exit code."""


def add_workbench(commands: Any, listing: argparse.ArgumentParser) -> None:
    """`commands` is what `argparse` adds subcommands to."""
    add_verify(commands.add_parser("verify", parents=[listing], help="whether a kernel file computes what it should"))
    add_bench(commands.add_parser("bench", parents=[listing], help="how fast a kernel file is, or which of two"))
    add_tune(commands.add_parser("tune", parents=[listing], help="which parameters of a kernel file"))
    add_profile(commands.add_parser("profile", parents=[listing], help="where the time of a kernel file goes"))
    add_new(commands.add_parser("new", parents=[listing], help="a folder for a kernel, or for its next version"))
    add_import(commands.add_parser("import", parents=[listing], help="a plan and a reading sheet of an example"))
    add_devlog(commands.add_parser("devlog", help="write down what a version brought"), listing)
    add_devices(commands.add_parser("devices", parents=[listing], help="limits of GPUs and of this host, with sources"))

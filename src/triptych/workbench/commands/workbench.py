"""The commands of the workbench, with their arguments."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from typing import Any

from triptych.workbench.commands.bench import add_bench, bench_command
from triptych.workbench.commands.devices import add_devices, devices_command
from triptych.workbench.commands.doctor import add_doctor, doctor_command
from triptych.workbench.commands.help_pages import add_page
from triptych.workbench.commands.kernel_folders import (
    add_devlog,
    add_import,
    add_new,
    devlog_command,
    import_command,
    new_command,
)
from triptych.workbench.commands.profile import add_profile, profile_command
from triptych.workbench.commands.tune import add_tune, tune_command
from triptych.workbench.commands.verify import add_verify, verify_command

WORKBENCH: Mapping[str, Callable[[argparse.Namespace], int]] = {
    "verify": verify_command,
    "bench": bench_command,
    "devices": devices_command,
    "doctor": doctor_command,
    "tune": tune_command,
    "profile": profile_command,
    "new": new_command,
    "devlog": devlog_command,
    "import": import_command,
}
"""Each returns the exit code."""


def add_workbench(commands: Any, listing: argparse.ArgumentParser) -> None:
    """`commands` is what `argparse` adds subcommands to."""
    add_verify(add_page(commands, "verify", listing))
    add_bench(add_page(commands, "bench", listing))
    add_tune(add_page(commands, "tune", listing))
    add_profile(add_page(commands, "profile", listing))
    add_new(add_page(commands, "new", listing))
    add_import(add_page(commands, "import", listing))
    add_devlog(add_page(commands, "devlog"), listing)
    add_doctor(add_page(commands, "doctor", listing))
    add_devices(add_page(commands, "devices", listing))

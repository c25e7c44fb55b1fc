"""The commands of the workbench, with their arguments."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from triptych.support.forking import import_late
from triptych.workbench.commands.bench import add_bench, bench_command
from triptych.workbench.commands.command_line import add_page
from triptych.workbench.commands.kernel_folders import (
    add_devlog,
    add_import,
    add_new,
    devlog_command,
    import_command,
    new_command,
)
from triptych.workbench.commands.knowledge import add_knowledge, knowledge_command
from triptych.workbench.commands.profile import add_profile, profile_command
from triptych.workbench.commands.puzzles import add_puzzles, puzzles_command
from triptych.workbench.commands.tune import add_tune, tune_command
from triptych.workbench.commands.verify import add_verify, verify_command
from triptych.workbench.devices import device, device_names
from triptych.workbench.measurement.machine import kept_roofs, vector_bits
from triptych.workbench.progress import progress

# `triptych devices [NAME]`: what is known of GPUs and of this host, each number with its source.


def add_devices(command: argparse.ArgumentParser) -> None:
    """Its arguments."""
    command.add_argument(
        "names",
        nargs="*",
        metavar="NAME",
        help="a product as h100 or 'rtx 4090', an architecture as sm_80, or cpu (default: all)",
    )


def devices_command(arguments: argparse.Namespace) -> int:
    """Print the table; the exit code."""
    found = [device(name) for name in arguments.names or device_names()]
    if arguments.json:
        print(json.dumps([asdict(one) for one in found], indent=2))
        return 0
    for one in found:
        print(f"{one.name} ({one.architecture})")
        limits = {
            "shared memory": f"{one.shared >> 10} KB, {one.shared_of_a_block >> 10} of a block" if one.shared else "",
            "registers": f"{one.registers}, {one.registers_of_a_thread} of a thread" if one.registers else "",
            "threads, blocks": f"{one.threads}, {one.blocks}" if one.threads else "",
            "multiprocessors": one.multiprocessors or "",
            "last cache": f"{one.l2_bytes / 2**20:.0f} MB" if one.l2_bytes else "",
            "memory": f"{one.memory >> 30} GB, {one.bandwidth // 10**9:,} GB/s" if one.memory else "",
            **(_host_facts(one.facts) if one.facts else {}),
            "source": one.source,
        }
        print("\n".join(f"  {name}: {text}" for name, text in limits.items() if text))
    return 0


def _host_facts(facts: dict[str, Any]) -> dict[str, str]:
    """What is known of this host besides."""
    caches = ", ".join(f"L{one['level']} {one['bytes'] >> 10} KB x {one['count']}" for one in facts["caches"])
    kept = kept_roofs()
    if kept is None:
        return {"caches": caches, "vectors": f"{vector_bits()} bits", "roofs": "not measured yet; `bench` does"}
    rates = [f"{level['name']} {level['bandwidth'] / 1e9:.0f} GB/s" for level in kept["levels"]]
    rates += [f"{name} {flops / 1e9:.0f} GFLOP/s" for name, flops in kept["flops"].items()]
    when = time.strftime("%Y-%m-%d", time.gmtime(kept["measured"]))
    return {"caches": caches, "vectors": f"{vector_bits()} bits", f"roofs, measured {when}": ", ".join(rates)}


# `triptych doctor`: what is installed and what works, as a table, and as a file to send.


def add_doctor(command: argparse.ArgumentParser) -> None:
    """Its arguments."""
    command.add_argument("--all", dest="everything", action="store_true", help="run every kernel on the CPU too")
    command.add_argument("--report", type=Path, metavar="FILE", help="write what was found as JSON, a file to send")


def doctor_command(arguments: argparse.Namespace) -> int:
    """Examine, print, and return the exit code: 0 if everything that is there works."""
    found: Any = import_late("triptych.workbench.doctor.report")  # NumPy, only where it is needed
    with progress("doctor") as bar:
        report = found.examine(bar, everything=arguments.everything)
    text = json.dumps(report.data(), indent=2)
    if arguments.report:
        arguments.report.write_text(text + "\n", encoding="utf-8")
    print(text if arguments.json else report.text())
    return 0 if report.is_well else 1


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
    "puzzles": puzzles_command,
    "knowledge": knowledge_command,
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
    add_puzzles(add_page(commands, "puzzles"))
    add_knowledge(add_page(commands, "knowledge"), listing)

"""`triptych devices [NAME]`: what is known of GPUs and of this host, each number with its source."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict

from triptych.workbench.devices.device import device, device_names


def add_devices(command: argparse.ArgumentParser) -> None:
    """Its arguments."""
    command.add_argument("names", nargs="*", metavar="NAME", help="as sm_80 or cpu (default: all)")


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
            "threads, blocks": f"{one.threads}, {one.blocks}" if one.threads else "",
            "multiprocessors": one.multiprocessors or "",
            "last cache": f"{one.l2_bytes / 2**20:.0f} MB" if one.l2_bytes else "",
            "source": one.source,
        }
        print("\n".join(f"  {name}: {text}" for name, text in limits.items() if text))
    return 0

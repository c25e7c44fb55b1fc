"""`triptych devices [NAME]`: what is known of GPUs and of this host, each number with its source."""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import asdict
from typing import Any

from triptych.workbench.devices.device import device, device_names
from triptych.workbench.measurement.kept_roofs import kept_roofs
from triptych.workbench.measurement.machine import vector_bits


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

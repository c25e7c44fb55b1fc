"""What is known of a configuration without running it: the assembler's numbers against the device, and equal code.

They say what cannot run or cannot be good. They never say which is fastest.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any

from triptych.compiling import CompiledFunction
from triptych.workbench.devices.device import Device


def facts_of(compiled: CompiledFunction, device: Device) -> dict[str, Any]:
    """Registers, shared memory, spills and blocks at once of the largest kernel, and the digest of the code."""
    if not device.shared:
        return {"digest": _digest(compiled.asm)}
    facts: dict[str, Any] = {"digest": _digest(compiled.__ptx__)}
    for usage in compiled.usage.values():
        used = usage.resources
        facts["registers"] = max(facts.get("registers", 0), used.registers)
        facts["shared"] = max(facts.get("shared", 0), used.shared + (usage.launch_shared or 0))
        facts["spilled"] = facts.get("spilled", 0) + used.spill_stores + used.spill_loads
        facts["threads"] = usage.threads
        facts["blocks_at_once"] = usage.occupancy.get(used.architecture)
    return facts


def static_problems(facts: dict[str, Any], device: Device) -> Iterator[str]:
    """Why it cannot run, or cannot be good, each with the number that proves it."""
    if device.shared_of_a_block and facts.get("shared", 0) > device.shared_of_a_block:
        yield f"shared memory: {facts['shared']} bytes, a block of {device.name} has {device.shared_of_a_block}"
    if facts.get("registers", 0) > device.registers_of_a_thread:
        yield f"registers: {facts['registers']} of {device.registers_of_a_thread}"
    if facts.get("blocks_at_once") == 0:
        yield f"occupancy: no block fits ({facts.get('registers')} registers, {facts.get('threads')} threads)"
    if facts.get("spilled"):
        yield f"spills: {facts['spilled']} bytes of registers moved to memory and back"


def _digest(code: str) -> str:
    """Of code without its comments and names of files, which differ where nothing else does."""
    lines = (line.split("//")[0].strip() for line in code.splitlines())
    kept = (line for line in lines if line and not line.startswith((".file", ".loc", "#", ".ident")))
    return hashlib.sha256("\n".join(kept).encode()).hexdigest()

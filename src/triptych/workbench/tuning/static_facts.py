"""What is known of a configuration without running it: the assembler's numbers against the device, and equal code.

They say what cannot run or cannot be good. They never say which is fastest.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any

from triptych.driver.compiling import CompiledFunction
from triptych.targets.nvptx.description.architectures import WARP
from triptych.workbench.devices.device import Device

SCHEDULERS = 4
"""Of a multiprocessor, since sm_70; each issues an instruction of one of its own warps in a cycle."""


def facts_of(compiled: CompiledFunction, device: Device) -> dict[str, Any]:
    """Registers, shared memory, spills and blocks at once of the kernel that needs most, and the digest of the code."""
    if not device.shared:
        return {"digest": hashlib.sha256(compiled.artifact).hexdigest()}  # readable assembly costs as much as compiling
    facts: dict[str, Any] = {"digest": _digest(compiled.__ptx__)}
    for usage in compiled.usage.values():
        used = usage.resources
        facts["registers"] = max(facts.get("registers", 0), used.registers)
        facts["shared"] = max(facts.get("shared", 0), usage.shared or 0)
        facts["spilled"] = facts.get("spilled", 0) + used.spill_stores + used.spill_loads
        facts["threads"] = max(facts.get("threads", 0), usage.threads or 0)
        held = usage.occupancy.get(used.architecture)
        if held is not None:
            facts["blocks_at_once"] = min(facts.get("blocks_at_once", held), held)
    return facts


def static_problems(facts: dict[str, Any], device: Device) -> Iterator[str]:
    """Why it cannot run, or cannot be good, each with the number that proves it."""
    shared, registers, threads = (facts.get(name, 0) for name in ("shared", "registers", "threads"))
    if device.shared_of_a_block and shared > device.shared_of_a_block:
        yield f"shared memory: {shared} bytes, a block of {device.name} has {device.shared_of_a_block}"
    if registers > device.registers_of_a_thread:
        yield f"registers: {registers} of {device.registers_of_a_thread}"
    if device.registers and registers * threads > device.registers:
        yield f"registers: {threads} threads of {registers} are {threads * registers} of {device.registers}"
    held = facts.get("blocks_at_once")
    if held is not None and threads:
        warps = held * -(-threads // WARP)
        if not held:
            yield f"occupancy: no block fits ({registers} registers, {threads} threads, {shared} bytes)"
        elif warps < SCHEDULERS:
            blocks = f"{held} blocks of {threads} threads are {warps} warps"
            yield f"occupancy: {blocks} at once, so {SCHEDULERS - warps} of {SCHEDULERS} schedulers have none"
    if facts.get("spilled"):
        yield f"spills: {facts['spilled']} bytes of registers moved to memory and back, with {registers} registers"


def facts_text(facts: dict[str, Any]) -> str:
    """The assembler's numbers in one line, in the same order for every configuration."""
    named = {
        "registers": "{} registers",
        "shared": "{} bytes shared",
        "spilled": "{} bytes spilled",
        "threads": "{} threads",
        "blocks_at_once": "{} blocks at once",
    }
    known = [text.format(facts[name]) for name, text in named.items() if name in facts]
    return ", ".join([*known, f"code {facts['digest'][:12]}"] if facts.get("digest") else known)


def _digest(code: str) -> str:
    """Of PTX without its comments and names of files, which differ where nothing else does."""
    lines = (line.split("//")[0].strip() for line in code.splitlines())
    kept = (line for line in lines if line and not line.startswith((".file", ".loc", "#", ".ident")))
    return hashlib.sha256("\n".join(kept).encode()).hexdigest()

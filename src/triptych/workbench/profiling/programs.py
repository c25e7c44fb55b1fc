"""What a profile sees of each compilation: the source's lines as MLIR and as the machine's instructions.

On the CPU the program is generated once more with tables of lines, for looking only: what runs has none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from triptych.ir.errors import LoweringError
from triptych.objectstage.line_tables import LINE_TABLES
from triptych.objectstage.lower import lower
from triptych.objectstage.target import CompileOptions, find_target
from triptych.stages import Compiled
from triptych.targets.nvptx.toolchain.disassembling import disassemble
from triptych.targets.nvptx.toolchain.locate import find_program
from triptych.workbench.profiling.line_listings import Listing, assembly_listing, mlir_listing, sass_listing
from triptych.workbench.profiling.line_report import line_rows

_CPU = "cpu"
NO_SASS = "SASS is not shown: there is no nvdisasm (pip install 'triptych[cuda-tools]')"


def program_facts(compiled: Compiled) -> dict[str, Any]:
    """One compilation as plain data."""
    traced = compiled.lowered.traced
    printed = traced.module.read().operation.get_asm(enable_debug_info=True)
    listings, notes = [mlir_listing(printed)], []
    if "ptx" in compiled.views:
        listings.append(assembly_listing(compiled.views["ptx"](), "PTX"))
        if find_program("nvdisasm") is None:
            notes.append(NO_SASS)
        else:
            listings.append(sass_listing(disassemble(compiled.views["cubin"](), "-g")))
    else:
        listings += _machine_code(compiled, notes)
    return {
        "name": traced.name,
        "signature": traced.signature,
        "stages": [listing.stage for listing in listings],
        "without_place": {listing.stage: listing.without_place for listing in listings},
        "lines": line_rows(listings),
        "resources": resources(compiled.views),
        "notes": notes,
    }


def _machine_code(compiled: Compiled, notes: list[str]) -> list[Listing]:
    target = replace(find_target(_CPU), line_tables=lambda: LINE_TABLES)
    options = replace(CompileOptions(**compiled.options), line_info=True)
    try:
        again = target.codegen(lower(compiled.lowered.traced, target, options=options), options)
    except LoweringError:  # a language with passes of its own, which are not known here
        notes.append("machine code is not shown by line: the program's language has passes of its own")
        return []
    return [assembly_listing(again.assembly, "ASM")]


def resources(views: Mapping[str, Callable[[], Any]]) -> dict[str, Any]:
    """What each kernel takes of a GPU, by the views of a compiled program."""
    if "usage" not in views:
        return {}
    found: dict[str, Any] = {}
    for name, usage in views["usage"]().items():
        used = usage.resources
        found[name] = {
            "architecture": used.architecture,
            "registers": used.registers,
            "shared": usage.shared,
            "spilled": used.spill_stores + used.spill_loads,
            "threads": usage.threads,
            "blocks_at_once": usage.occupancy.get(used.architecture),
        }
    return found

"""Worker of `triptych profile`, in the child process: load, call, say where the time went and what the lines became."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from triptych.ir.errors import LoweringError
from triptych.objectstage.lower import LINE_TABLES, lower
from triptych.objectstage.target import CompileOptions, find_target
from triptych.stages import Compiled
from triptych.support.timeline import during
from triptych.support.tracebacks import in_one_line
from triptych.targets.nvptx.toolchain.locate import find_program
from triptych.targets.nvptx.toolchain.programs import disassemble
from triptych.workbench.contracts.loading import load_contract
from triptych.workbench.measurement.benching import chosen_cases
from triptych.workbench.measurement.candidate import Hot
from triptych.workbench.measurement.machine import machine
from triptych.workbench.profiling.line_report import (
    Listing,
    assembly_listing,
    full_listing,
    line_rows,
    mlir_listing,
    sass_listing,
)
from triptych.workbench.profiling.sessions import CALL, PHASE, Session, chrome_trace, overlapping, summary

# What a profile sees of each compilation: the source's lines as MLIR and as the machine's instructions.
# On the CPU the program is generated once more with tables of lines, for looking only: what runs has none.

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


Doing = Callable[[str], None]
SCHEMA = "triptych.profile/1"
_GPU, _HERE = "nvptx", "cpu"


def worker_main(request: dict[str, Any], doing: Doing) -> dict[str, Any]:
    """A profile as plain data; the trace and the listing are in files."""
    target = find_target(request["target"] or _HERE).name
    runs = not target.startswith(_GPU)
    session = Session(runs)
    ended_by, skipped = "", ""
    with session.watching():
        try:
            skipped = _run(session, request, doing)
        except Exception as error:
            if runs or not session.compiled:
                raise
            ended_by = in_one_line(error)  # of what follows calls that did nothing
    if skipped:
        return {"skipped": skipped}
    doing("writing the profile")
    events = session.events()
    found = summary(events, (session.ended - session.began) / 1e9)
    names = session.threads.names()
    for thread in found["threads"]:
        thread["name"] = names[thread["thread"]]
    programs = [program_facts(compiled) for compiled in session.compiled]
    folder = Path(request["folder"])
    folder.mkdir(parents=True, exist_ok=True)
    facts: dict[str, Any] = {"schema": SCHEMA, "target": target, "file": request["file"], "machine": machine()}
    title = f"triptych profile {Path(request['file']).name}"
    trace = chrome_trace(events, session.threads, title, {**facts, "measured": found["measured"]})
    (folder / "trace.json").write_text(json.dumps(trace), encoding="utf-8")
    listing = [line for program in programs for line in full_listing(program["signature"], program["lines"])]
    (folder / "lines.txt").write_text("\n".join(listing) + "\n", encoding="utf-8")
    return {
        **facts,
        **found,
        "lost": session.lost,
        "overlapping": len(overlapping(events)),
        "programs": programs,
        "ended_by": ended_by,
        "trace": str(folder / "trace.json"),
        "listing": str(folder / "lines.txt"),
    }


def _run(session: Session, request: Mapping[str, Any], doing: Doing) -> str:
    """Load and call; why there is nothing to call, if there is not."""
    file = Path(request["file"])
    with during(f"load {file.name}", PHASE):
        doing(f"loading {file}")
        contract = load_contract(file, file.stem)
        if session.runs and (contract.requires or _HERE) != _HERE:
            needed = contract.requires
            return f"needs {needed}, and this machine has {_HERE}; --target nvptx:{needed} compiles it"
    with during("make inputs", PHASE):
        cases = chosen_cases(contract, [request["case"]] if request["case"] else [], None)
        name, case = next(iter(cases.items()))
        doing(f"making inputs of {name}")
        call = Hot(contract, contract.kernel, contract.inputs(0, case))
        doing("compiling")
    session.call(call, "first call", PHASE)
    if session.runs:
        with during(f"{request['calls']} calls", PHASE):
            doing("calling")
            for number in range(request["calls"]):
                call.restore()
                session.call(call, f"call {number + 1}", CALL)
    return ""

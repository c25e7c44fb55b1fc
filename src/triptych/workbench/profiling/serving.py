"""`triptych profile` inside the child process: load, call, and say where the time went and what the lines became."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from triptych.support.timeline import during
from triptych.workbench.contracts.loading import load_contract
from triptych.workbench.measurement.benching import chosen_cases
from triptych.workbench.measurement.calls import Hot
from triptych.workbench.measurement.machine import machine
from triptych.workbench.profiling.chrome_trace import chrome_trace, overlapping
from triptych.workbench.profiling.line_report import full_listing
from triptych.workbench.profiling.programs import program_facts
from triptych.workbench.profiling.sessions import CALL, PHASE, Session, summary

Doing = Callable[[str], None]
SCHEMA = "triptych.profile/1"
_GPU = "nvptx"


def serve(request: dict[str, Any], doing: Doing) -> dict[str, Any]:
    """A profile as plain data; the trace and the listing are in files."""
    target = request["target"]
    runs = not target.startswith(_GPU)
    session = Session(runs)
    ended_by = ""
    with session.watching():
        try:
            _run(session, request, doing)
        except Exception as error:
            if runs or not session.compiled:
                raise
            ended_by = f"{type(error).__name__}: {error}"  # of what follows calls that did nothing
    doing("writing the profile")
    events = session.events()
    found = summary(events, (session.ended - session.began) / 1e9)
    names = session.threads.names()
    for thread in found["threads"]:
        thread["name"] = names[thread["thread"]]
    programs = [program_facts(compiled) for compiled in session.compiled]
    folder = Path(request["folder"])
    folder.mkdir(parents=True, exist_ok=True)
    facts: dict[str, Any] = {"schema": SCHEMA, "target": target or "cpu", "file": request["file"], "machine": machine()}
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


def _run(session: Session, request: Mapping[str, Any], doing: Doing) -> None:
    file = Path(request["file"])
    doing(f"loading {file}")
    with during(f"load {file.name}", PHASE):
        contract = load_contract(file, file.stem)
        cases = chosen_cases(contract, [request["case"]] if request["case"] else [], None)
        name, case = next(iter(cases.items()))
    doing(f"making inputs of {name}")
    with during("make inputs", PHASE):
        call = Hot(contract, contract.kernel, contract.inputs(0, case))
    doing("compiling")
    session.call(call, "first call", PHASE)
    if not session.runs:
        return
    doing("calling")
    with during(f"{request['calls']} calls", PHASE):
        for number in range(request["calls"]):
            call.restore()
            session.call(call, f"call {number + 1}", CALL)

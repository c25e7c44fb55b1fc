"""What a case compiles for the CPU while it runs, so that the same kernels can be compiled for GPUs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any
from unittest.mock import patch

from triptych.driver import jitting
from triptych.driver.compile_jobs import Job
from triptych.driver.compiling import CompiledFunction, compiled_function, make_compiled_function
from triptych.driver.programs import compiled_program
from triptych.fingerprint.cache_key import Key
from triptych.objectstage.target import find_target


def compilations(run: Callable[[], None]) -> list[Job]:
    """Run a case; everything that it compiled, in order. What was compiled before it is not compiled again."""
    jobs: list[Job] = []

    # Any: as `compiled_function` takes them.
    def compile_and_keep(job: Job, key: Key, *others: Any) -> CompiledFunction:
        jobs.append(job)
        return compiled_function(job, key, *others)

    with patch.object(jitting, "compiled_function", compile_and_keep):
        run()
    return jobs


def compiled_for(job: Job, target: str) -> CompiledFunction:
    """The same for another target, by its name."""
    job = replace(job, target=find_target(target))
    return make_compiled_function(job, compiled_program(job))

"""The three stages, top to bottom."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from triptych.driver.compile_jobs import Job
from triptych.driver.listeners import observe
from triptych.metastage.arguments.results import Rebuild
from triptych.metastage.tracer import trace
from triptych.objectstage.call import load
from triptych.objectstage.codegen import codegen
from triptych.objectstage.lower import lower
from triptych.objectstage.target import CompileOptions
from triptych.prestage.rewrite import rewrite
from triptych.sanitizer.checkers import BREAK, RACES, checkers
from triptych.stages import Loaded, Rewritten, Traced
from triptych.support.interrupts import arrive, interruptible
from triptych.support.timeline import STAGE, now, past


@interruptible
def compile_stages(job: Job, likely: Loaded | None = None) -> tuple[Rewritten | None, Loaded, Rebuild]:
    """Python in, a callable native function out; `likely` is code that serves if the same program is traced again."""
    started = begun = now()
    job.target.start()
    job.language.load()
    arrive()
    stops = stops_of(job)
    begun = past("start", begun, STAGE)
    rewritten = rewritten_of(job)  #                                    pre-stage:    Python AST -> Python AST
    begun = past("rewrite", begun, STAGE)
    traced, rebuild = trace(  #                                         meta-stage:   run it once -> MLIR
        rewritten or job.function,
        job.specialization,
        job.language.hooks,
        partial(rewrite, stops=True) if stops else rewrite,
        job.name,
        contract_everywhere=job.options.contract,
        contract=job.contract,
        async_order=job.options.async_order,
        device_model=job.target.device_model,
        stops=stops,
        tells_calls=job.target.checks and RACES in checkers(),
    )
    begun = past("trace", begun, STAGE)
    if likely is not None and _is_like(traced, likely.compiled.lowered.traced):
        return rewritten, likely, rebuild
    lowered = lower(  #                                                 object-stage: the target's pass list
        traced, job.target, job.language.passes, options=job.options
    )
    arrive()
    begun = past("lower", begun, STAGE)
    compiled = codegen(lowered, job.target, _options(job, stops))  #                           -> object file
    begun = past("code generation", begun, STAGE)
    loaded = load(compiled, job.target)
    traced.module.store()
    lowered.text.store()
    past("load", begun, STAGE)
    done = past(f"compile {traced.name}", started, STAGE)
    return rewritten, observe(rewritten, loaded, (done - started) / 1e9), rebuild


def _options(job: Job, stops: bool | None) -> CompileOptions:
    """Code that stops at every statement is not optimised: LLVM would take many times as long, for nobody's use."""
    return replace(job.options, opt_level=0) if stops else job.options


def _is_like(one: Traced, other: Traced) -> bool:
    """Whether two traces gave the same program, to be called in the same way."""
    return replace(one, module=None) == replace(other, module=None) and one.module.is_like(other.module)


def rewritten_of(job: Job) -> Rewritten | None:
    """What the pre-stage makes of a job's function."""
    return rewrite(job.function, bool(stops_of(job))) if job.preprocessor else None


def stops_of(job: Job) -> bool | None:
    """Whether statements stop for a debugger; None if they should, and the target's cannot."""
    return (job.target.stops or None) if BREAK in checkers() else False

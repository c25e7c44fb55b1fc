"""Compilation, the three stages top to bottom."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import TypeAlias

from triptych.driver.compile_jobs import Job
from triptych.driver.listeners import observe
from triptych.metastage.arguments.results import Rebuild
from triptych.metastage.trace.trace import Instrumentation, Rewrite, TraceOptions
from triptych.metastage.tracer import trace
from triptych.objectstage.codegen import codegen, load
from triptych.objectstage.lower import lower
from triptych.objectstage.target import CompileOptions
from triptych.prestage.rewrite import rewrite
from triptych.sanitizer.checkers import BREAK, RACES, checkers
from triptych.stages import Loaded, Rewritten, Traced
from triptych.support.interrupts import check_signals, interruptible
from triptych.support.timeline import STAGE, during, now, past

Known: TypeAlias = Callable[[Traced, Rebuild, Callable[[], Loaded]], Loaded | None]
"""Finds code of a program that has been traced, given what its results become and what would make the code."""


@interruptible
def compile_stages(job: Job, known: Known | None = None) -> tuple[Rewritten | None, Loaded, Rebuild]:
    """Python in, a callable native function out; `known` may have code of the program once it is traced."""
    started = now()
    with _step("start"):
        job.target.start()
        job.language.load()
        options = _trace_options(job)
        rewriter = _rewriter(options.instrumentation)
    with _step("rewrite"):  #          pre-stage:    Python AST -> Python AST
        rewritten = rewriter(job.function) if job.preprocessor else None
    with _step("trace"):  #            meta-stage:   run it once -> MLIR
        traced, rebuild = trace(
            rewritten or job.function, job.specialization, job.language.hooks, rewriter, job.name, options
        )
    make = partial(_object_stage, job, traced, _codegen_options(job.options, options.instrumentation))
    loaded = None if known is None else known(traced, rebuild, make)
    if loaded is None:
        made = make()
        done = past(f"compile {traced.name}", started, STAGE)
        loaded = observe(rewritten, made, (done - started) / 1e9)
    traced.module.store()
    return rewritten, loaded, rebuild


def _object_stage(job: Job, traced: Traced, options: CompileOptions) -> Loaded:
    with _step("lower"):  #            object-stage: the passes of the language and of the target
        lowered = lower(traced, job.target, job.language.passes, options=job.options)
    with _step("code generation"):  #                -> object file
        compiled = codegen(lowered, job.target, options)
    with _step("load"):  #                           -> function pointer
        loaded = load(compiled, job.target)
        lowered.text.store()
    return loaded


@contextmanager
def _step(name: str) -> Iterator[None]:
    """A step of a compilation on the timeline; signals that came meanwhile are handled when it ends."""
    with during(name, STAGE):
        yield
    check_signals()


def rewritten_of(job: Job) -> Rewritten | None:
    """What the pre-stage makes of a job's function."""
    return _rewriter(_instrumentation(job))(job.function) if job.preprocessor else None


def _rewriter(instrumentation: Instrumentation) -> Rewrite:
    """The pre-stage, for a job's function and for those that it calls."""
    return partial(rewrite, stops=True) if instrumentation.stops else rewrite


def _trace_options(job: Job) -> TraceOptions:
    return TraceOptions(
        contract_everywhere=job.options.contract,
        contract=job.contract,
        async_order=job.options.async_order,
        device_model=job.target.device_model,
        instrumentation=_instrumentation(job),
    )


def _instrumentation(job: Job) -> Instrumentation:
    """What the setting `debug` adds to the program, as far as the target can."""
    wanted = checkers()
    stops = (job.target.stops or None) if BREAK in wanted else False
    return Instrumentation(stops, records_pipelines=job.target.checks and RACES in wanted)


def _codegen_options(options: CompileOptions, instrumentation: Instrumentation) -> CompileOptions:
    """Code that stops at every statement is not optimised: LLVM would take many times as long, for nobody's use."""
    return replace(options, opt_level=0) if instrumentation.stops else options

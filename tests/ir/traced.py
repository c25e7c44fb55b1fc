"""A function traced and not compiled: what the meta-stage makes of it, whichever target it is for."""

from __future__ import annotations

from typing import Any

from triptych.driver.jitting import JitFunction
from triptych.metastage.arguments.specs import bind
from triptych.metastage.tracer import trace
from triptych.prestage.rewrite import rewrite
from triptych.stages import Traced


def traced(function: Any, *args: Any) -> Traced:
    """The verified module of a `@jit` function called with these arguments."""
    assert isinstance(function, JitFunction)
    specialization = function._specialize(bind(function.function, args, {}, None), None)
    result, _ = trace(rewrite(function.function), specialization, function.language.hooks, rewrite)
    assert result.module.read().operation.verify()
    return result


def traced_ir(function: Any, *args: Any) -> str:
    """The module as text."""
    return str(traced(function, *args).module)

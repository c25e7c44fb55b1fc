"""Compile jobs: functions with arguments and options, as data."""

from __future__ import annotations

from types import FunctionType

from triptych.dsl import DSL
from triptych.metastage.tracer import Specialization
from triptych.objectstage.target import CompileOptions, Target
from triptych.support.dataclass import dataclass
from triptych.support.source import Span


@dataclass(frozen=True, slots=True)
class Job:
    """One compilation: which function, specialized to what, in which language, for which target."""

    function: FunctionType
    specialization: Specialization
    language: DSL
    target: Target
    options: CompileOptions
    preprocessor: bool = True
    name: str = ""
    """What the function is called in generated code, if not as in Python."""
    contract: bool | None = None
    """What the function itself says of contraction."""
    called_from: Span | None = None
    """Who wants it."""

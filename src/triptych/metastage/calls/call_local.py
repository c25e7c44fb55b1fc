"""Call-local attributes that a traced function assigns on objects from outside: `self.rows = x.shape[0]`.

A value that Python knows stays, as in Python. A run-time value lives only as long as the call that computes it: when
the trace ends, the attribute says so to whoever reads it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NoReturn

from triptych.metastage.calls.side_effects import reachable
from triptych.metastage.control_flow.join_plans import has_dynamic
from triptych.metastage.trace.errors import DynamicMutationError, LeakedValueError
from triptych.metastage.trace.trace import WHOLE, Trace, place
from triptych.metastage.trace.user_code import is_own, is_user_class
from triptych.metastage.values.aggregates import as_expression, is_dynamic_expression
from triptych.metastage.values.binding_time import is_dynamic
from triptych.support.source import Span
from triptych.support.tracebacks import caller


def holds_run_time_values(value: object) -> bool:
    """Whether a value is, or keeps, something that only the run knows."""
    if isinstance(value, list | tuple | set | frozenset):
        return any(map(holds_run_time_values, value))
    if isinstance(value, dict):
        return any(map(holds_run_time_values, value.values()))
    return has_dynamic(value)


def note_read(trace: Trace, owner: object, name: str = WHOLE) -> None:
    """Remember that the program depends on what an attribute was."""
    trace.attributes_read.add((id(owner), name))
    if id(owner) in trace.with_left_behind:
        _check_not_left_behind(trace, owner, name)


def _check_not_left_behind(trace: Trace, owner: object, name: str) -> None:
    for (at, attribute), span in trace.left_behind.items():
        if at == id(owner) and name in (attribute, WHOLE):
            raise DynamicMutationError(
                f"`{type(owner).__name__}.{attribute}` may not exist here",
                span=place(),
                found="an attribute that the object gets in a branch or loop that is decided at run time",
                expected="uses in the same branch or loop, after the assignment",
                instead=f"an assignment of `{attribute}` before it, which the branch or loop then changes",
                related=[("assigned here", span)] if span is not None else [],
            )


def note_assignment(trace: Trace, owner: object, name: str, value: object) -> None:
    """Remember an attribute that the function assigns on an object from outside, and whether it read it before."""
    if id(owner) in trace.fresh or is_own(type(owner)):
        return
    place_of_it = (id(owner), name)
    if place_of_it not in trace.assigned:
        read = place_of_it in trace.attributes_read or (id(owner), WHOLE) in trace.attributes_read
        trace.assigned[place_of_it] = (owner, name, not read)
    if not trace.region.dynamic:
        trace.assigned_in[place_of_it] = trace.region
    may_come = trace.region.dynamic or isinstance(value, list | dict | set)
    if may_come or holds_run_time_values(value):
        trace.stored[id(owner)] = place()
        if is_user_class(type(owner)) and hasattr(owner, "__dict__"):
            trace.call_local[place_of_it] = (owner, name, place())


def overwritten(trace: Trace) -> tuple[tuple[Any, str], ...]:
    """The attributes whose old values made no difference: the function assigned them before it read them."""
    return tuple((owner, name) for owner, name, first in trace.assigned.values() if first)


def assigned(trace: Trace) -> str:
    """The first attribute of an object from outside that the function assigned, if there is one."""
    return next((f"{type(owner).__name__}.{name}" for owner, name, _ in trace.assigned.values()), "")


def end_of_call(trace: Trace, function: str) -> None:
    """Replace the run-time values that attributes hold by objects that say what they were."""
    for owner, name, span in trace.call_local.values():
        if holds_run_time_values(getattr(owner, name, None)):
            object.__setattr__(owner, name, CallLocal(f"{type(owner).__name__}.{name}", function, span))


def check_left(trace: Trace, roots: Iterable[Any], span: Span, function: str) -> None:
    """Refuse run-time values in objects that outlive the call; attributes of those that it made say what they were."""
    for holder, value in reachable(roots):
        if id(value) in trace.fresh and is_user_class(type(value)):
            for name, held in list(getattr(value, "__dict__", {}).items()):
                if holds_run_time_values(held):
                    place_of_it = trace.stored.get(id(value))
                    object.__setattr__(value, name, CallLocal(f"{type(value).__name__}.{name}", function, place_of_it))
        if is_dynamic(value) or (is_own(type(value)) and is_dynamic_expression(value) and _has_values(value)):
            raise LeakedValueError(
                f"a run-time value is left in {_called(holder)} that outlives the call",
                span=trace.stored.get(id(holder), span),
                found="a value that exists only while the function is traced",
                expected="run-time values only in variables, and in objects that the function makes",
                instead="return it, or store it into a tensor that is an argument",
            )


def _has_values(value: object) -> bool:
    return bool(as_expression(value).__extract_mlir_values__())


def _called(holder: object) -> str:
    return "a variable" if holder is None else f"an object of type {type(holder).__name__}"


class CallLocal:
    """What is left of an attribute that held a run-time value: the call that computed it has ended."""

    __slots__ = ("_attribute", "_function", "_span")

    def __init__(self, attribute: str, function: str, span: Span | None) -> None:
        self._attribute = attribute
        self._function = function
        self._span = span

    def __repr__(self) -> str:
        return f"<{self._attribute} of an ended call of {self._function}>"

    def __cache_key__(self) -> tuple[str, ...]:
        return ("call local", self._attribute)

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        raise self._ended()

    def _ended(self) -> LeakedValueError:
        return LeakedValueError(
            f"`{self._attribute}` holds a run-time value of a call of {self._function} that has ended",
            span=place() or caller(),
            found="an attribute that the function assigns while it is traced",
            expected="uses in the same call, after the assignment",
            instead="compute it from the arguments where it is used, or return it",
            related=[("assigned here", self._span)] if self._span is not None else [],
        )


def _refuse(self: CallLocal, *_: object) -> NoReturn:
    try:
        raise self._ended()
    except LeakedValueError as error:
        error.__traceback__ = None  # whoever uses the value is not in the framework
        raise


_OPERATORS = (
    *("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "lshift", "rshift", "and", "or", "xor", "matmul"),
    *("radd", "rsub", "rmul", "rtruediv", "rfloordiv", "rmod", "rpow", "rlshift", "rrshift", "rand", "ror", "rxor"),
    *("divmod", "rdivmod", "rmatmul", "lt", "le", "gt", "ge", "eq", "ne", "neg", "pos", "abs", "invert", "bool"),
    *("int", "float", "index", "len", "iter", "getitem", "setitem", "contains", "call", "hash"),
)
for _name in _OPERATORS:
    setattr(CallLocal, f"__{_name}__", _refuse)

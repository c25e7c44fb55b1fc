"""Tracing hooks: static control flow is Python's, dynamic control flow becomes structured MLIR."""

from __future__ import annotations

import operator
from collections.abc import Callable
from contextlib import AbstractContextManager
from types import FunctionType
from typing import Any

from triptych.hooks import (
    AUGMENTED,
    CONVERSIONS,
    DEAD,
    OPERATORS,
    UNDEFINED,
    Calls,
    Get,
    Names,
    Place,
    Set,
    Thunk,
    ignore_values,
    no_values,
)
from triptych.metastage.calls.call_local import holds_run_time_values, note_assignment, note_read
from triptych.metastage.calls.inlining import Inlining
from triptych.metastage.calls.membership import CONTAINS, Membership
from triptych.metastage.calls.opaque_calls import abandon, native_operation, note_made, opaque_call
from triptych.metastage.calls.repeatability import note_attribute, note_item, note_stored, note_text
from triptych.metastage.calls.special_methods import items_of
from triptych.metastage.control_flow import mutation
from triptych.metastage.control_flow.branches import BranchForm, ScfIf, exhaustive, is_left, is_raised, two_sided
from triptych.metastage.control_flow.iteration import steps_of
from triptych.metastage.control_flow.join_errors import undefined
from triptych.metastage.control_flow.join_plans import Partial, Pending, bare, has_dynamic
from triptych.metastage.control_flow.loops import drafted, for_loop, while_loop
from triptych.metastage.control_flow.object_identity import check_comparable, check_operands, compared, dynamic_text
from triptych.metastage.control_flow.object_joins import SELECTABLE, select_item
from triptych.metastage.debugger.debugger_hooks import StoppingHooks
from triptych.metastage.trace import user_code
from triptych.metastage.trace.checks import check
from triptych.metastage.trace.contexts import TracedContext, block_of
from triptych.metastage.trace.errors import DynamicRaiseError, StaticRequiredError
from triptych.metastage.trace.loop_carried_attributes import Finding, LoopCarriedAttributes
from triptych.metastage.trace.trace import Trace, place
from triptych.metastage.trace.user_code import inherited_method, is_own, special_method, user_method
from triptych.metastage.values.arithmetic import evaluated
from triptych.metastage.values.binding_time import Constexpr, Range, condition, is_dynamic, negated, require_static
from triptych.metastage.values.coercion import declared_number
from triptych.metastage.values.scalars import NUMERIC_CLASSES, Boolean, Numeric, as_number, is_number_class
from triptych.support.config import config
from triptych.support.wording import with_article

_MEMBERSHIP = ("in", "not in")
_IDENTITY = ("is", "is not")
_OWN_ITEMS = frozenset({list, dict, bytearray})
"""Containers that keep their items themselves; others may stand for the items of another object."""
_NUMBERS = frozenset({bool, int, float, *NUMERIC_CLASSES.values()})
"""Types whose operators need no look: most of a program's operands."""


class TracingHooks(StoppingHooks):
    """Answers every hook for one trace. A language subclasses it to emit other control flow."""

    branch_form: Callable[[], BranchForm] = ScfIf

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.inlining = Inlining(trace)
        self.membership = Membership(trace, self)

    # branches ---------------------------------------------------------------------------------------------------
    def if_(
        self,
        test: object,
        then: Thunk,
        orelse: Thunk,
        names: Names = (),
        get: Get = no_values,
        set: Set = ignore_values,
    ) -> None:
        self.choose(test, then, orelse, names, get, set)

    def choose(
        self,
        test: object,
        then: Thunk,
        orelse: Thunk,
        names: Names = (),
        get: Get = no_values,
        set: Set = ignore_values,
    ) -> Any:
        decided = self.decide(test)
        if isinstance(decided, Boolean):
            start = get()
            return self.branch(decided, (then, orelse), (start, start), names, get, set)
        return then() if decided else orelse()

    def branch(
        self,
        test: Boolean,
        sides: tuple[Thunk, Thunk],
        starts: tuple[tuple[Any, ...], tuple[Any, ...]],
        names: Names,
        get: Get,
        set: Set,
    ) -> Any:
        """A branch on a run-time condition, whose sides start with their own values of the variables."""
        return two_sided(self.trace, test, sides, starts, names, get, set, self.branch_form())

    def guard(
        self, exits: Names, dead: Names, rest: Thunk, names: Names = (), get: Get = no_values, set: Set = ignore_values
    ) -> None:
        start = get()
        raised = {index: start[index] for index in map(names.index, exits)}
        if is_left(list(raised.values())):
            return
        dynamic = [flag for flag in raised.values() if is_dynamic(flag)]
        if not dynamic:
            rest()
            return
        left = dynamic[0]
        for flag in dynamic[1:]:
            left = left | flag
        lowered = tuple(False if index in raised else value for index, value in enumerate(start))
        leaves = False

        def keep_unraised() -> None:
            """A flag that `rest` leaves down is after the guard what it was before it."""
            nonlocal leaves
            rest()
            end = get()
            leaves = is_left([end[index] for index in raised])
            set(tuple(start[i] if i in raised and v is False else v for i, v in enumerate(end)))

        skipped = tuple(DEAD if name in dead else value for name, value in zip(names, start, strict=True))
        self.branch(left ^ True, (keep_unraised, lambda: None), (lowered, skipped), names, get, set)
        if leaves:
            after = list(get())
            for index, flag in zip(raised, exhaustive(tuple(after[index] for index in raised)), strict=True):
                after[index] = flag
            set(tuple(after))

    def left(self, flags: tuple[Any, ...]) -> tuple[Any, ...]:
        return exhaustive(flags)

    # loops ------------------------------------------------------------------------------------------------------
    def for_(
        self,
        iterable: object,
        body: Callable[[Any], None],
        exits: Names,
        names: Names = (),
        get: Get = no_values,
        set: Set = ignore_values,
        calls: Calls = (),
    ) -> None:
        if isinstance(iterable, Range) and iterable.unroll_full and iterable.is_static:
            self._unrolled(iterable.static(), body, exits, names, get, set)
        elif not isinstance(iterable, range | Range):
            self._unrolled(iterable, body, exits, names, get, set)
        elif (steps := steps_of(iterable, self.trace)) is not None:
            self.trace.loops = True
            for_loop(self.trace, steps, body, exits, names, get, set, calls)

    def _unrolled(
        self, iterable: object, body: Callable[[Any], None], exits: Names, names: Names, get: Get, set: Set
    ) -> None:
        """A loop that Python runs: after a run-time exit, each further iteration is guarded by it."""
        flags = [names.index(flag) for flag in exits]
        for item in self.trace.progress.each(self.iterate(iterable)):
            self.guard(exits, (), lambda item=item: body(item), names, get, set)  # type: ignore[misc]
            if is_raised(flags, get):
                break
        values = get()
        if hasattr(type(iterable), "__next__") and any(is_dynamic(values[flag]) for flag in flags):
            abandon(self.trace, iterable)

    def iterate(self, iterable: object) -> Any:
        return items_of(self, iterable)

    def while_(
        self,
        test: Thunk | bool,
        body: Thunk,
        exits: Names,
        names: Names = (),
        get: Get = no_values,
        set: Set = ignore_values,
        calls: Calls = (),
    ) -> None:
        flags = [names.index(flag) for flag in exits]
        most = config().unroll_limit
        for _ in self.trace.progress.each(range(most)):
            outcome = self._iteration(test, body, exits, names, get, set, calls)
            if outcome is not True or is_raised(flags, get):
                return
        raise StaticRequiredError(
            f"the loop has not ended after {most:,} iterations run while tracing",
            span=place(),
            found="a test that is known while tracing, so that Python runs the loop",
            expected="a loop that ends before, or TRIPTYCH_UNROLL_LIMIT set to more than it runs",
            instead="`while True:` with a `break`, or a test on run-time values",
        )

    def _iteration(
        self, test: Thunk | bool, body: Thunk, exits: Names, names: Names, get: Get, set: Set, calls: Calls
    ) -> bool | None:
        """One iteration as Python runs it: True if another may follow. A run-time test takes over the whole loop.

        So does `while True` once it depends on run-time values, be it only by the exit of the iteration before.
        """
        outcome: bool | None = None
        start = get()
        left_at_run_time = any(is_dynamic(start[names.index(flag)]) for flag in exits)

        def step() -> None:
            nonlocal outcome
            if isinstance(test, bool):
                forever = test and (left_at_run_time or any(has_dynamic(bare(v)) for v in get()))
                outcome = None if forever else test
            else:
                decided = self._probe(test, names, get, set)
                outcome = decided if isinstance(decided, bool) else None
            if outcome is True:
                body()
            elif outcome is None:
                self.trace.loops = True
                while_loop(self.trace, None if isinstance(test, bool) else test, body, exits, names, get, set, calls)

        self.guard(exits, (), step, names, get, set)
        return outcome

    def _probe(self, test: Thunk, names: Names, get: Get, set: Set) -> bool | Boolean:
        """Is the test decided now? If only at run time, what tracing it emitted is taken back: the loop traces it."""
        trace = self.trace
        start = get()
        attributes = LoopCarriedAttributes(names, start, Finding.TAKEN_UP)
        with drafted(trace, "scf.execute_region", 1) as draft:
            block = trace.builder.append_block(draft, 0, (), trace.location())
            with trace.inside(block, "loop", attributes):
                decided = self.decide(test())
        kept = not isinstance(decided, Boolean) and not len(block.operations)
        draft.erase()
        if kept:
            return decided
        set(start)
        attributes.restore()
        return decided if isinstance(decided, Boolean) else self.decide(test())

    # lazy expressions -------------------------------------------------------------------------------------------
    def and_(
        self, operands: tuple[Thunk, ...], names: Names = (), get: Get = no_values, set: Set = ignore_values
    ) -> Any:
        value = operands[0]()
        if len(operands) == 1:
            return value
        return self.choose(value, lambda: self.and_(operands[1:], names, get, set), lambda: value, names, get, set)

    def or_(
        self, operands: tuple[Thunk, ...], names: Names = (), get: Get = no_values, set: Set = ignore_values
    ) -> Any:
        value = operands[0]()
        if len(operands) == 1:
            return value
        return self.choose(value, lambda: value, lambda: self.or_(operands[1:], names, get, set), names, get, set)

    def decide(self, test: object) -> bool | Boolean:
        """What a test decides by; an object of the user's class says itself whether it is true."""
        special = self.inlining.special
        return condition(test if special.is_plain(type(test)) else special.truth(test))

    def not_(self, operand: object) -> Any:
        return negated(self.decide(operand))

    def compare(
        self,
        left: object,
        ops: tuple[str, ...],
        operands: tuple[Thunk, ...],
        names: Names = (),
        get: Get = no_values,
        set: Set = ignore_values,
    ) -> Any:
        right = operands[0]()
        outcome = self.operate(ops[0], left, right)
        if len(ops) == 1:
            return outcome
        return self.choose(
            outcome,
            lambda: self.compare(right, ops[1:], operands[1:], names, get, set),
            lambda: outcome,
            names,
            get,
            set,
        )

    def operate(self, op: str, left: object, right: object) -> Any:
        if op in _MEMBERSHIP:
            inside = self.membership.contains(right, left)
            return inside if op == "in" else self.not_(inside)
        if type(left) in _NUMBERS and type(right) in _NUMBERS and op not in _IDENTITY:
            return evaluated(self.trace, OPERATORS[op], op, left, right)
        check_operands(op, left, right)
        return compared(self.trace, op, left, right, self.inlining.special.operate)

    def unary(self, op: str, operand: object) -> Any:
        return self.inlining.special.unary(op, operand)

    def formatted(self, value: object, conversion: str = "", spec: str = "") -> Any:
        of_the_run = dynamic_text(value, conversion, spec)
        if of_the_run is not None:
            return of_the_run
        if self.inlining.special.is_plain(type(value)):
            return str(note_text(self.trace, super().formatted(value, conversion, spec), value))
        text = self.call(CONVERSIONS[conversion], value) if conversion else value
        return str(self.call(format, text, spec))

    def hashed(self, key: object) -> Any:
        check_comparable(self.trace, (key,), "a key")
        method = user_method(type(key), "__hash__")
        if method is not None and self.trace.region.dynamic:
            with self.trace.repetition.called_again(self.trace.fresh):
                self.call(method, key)  # refused if it changes anything: Python calls it again
        return key

    # calls and items --------------------------------------------------------------------------------------------
    # Any: told apart by its exact class.
    def call(self, function: Any, /, *args: object, **kwargs: object) -> Any:
        if type(function) in user_code.C_CALLABLES and not kwargs:
            method, operands = inherited_method(function, args)
            if method in CONTAINS:
                return self.membership.by_method(method, *operands)
            if method in SELECTABLE:
                return self._select(method, *operands)
        return self.inlining.call(function, args, kwargs)

    # Any: whether a container has items its class has been asked; so in `setitem` and `delitem`.
    def getitem(self, container: Any, key: object) -> Any:
        method = special_method(type(container), "__getitem__")
        if isinstance(method, FunctionType):
            return self.inlining.call(method, (container, key), {})
        if isinstance(method, user_code.C_METHODS) and method in SELECTABLE:
            return self._select(method, container, key)
        if type(container) is dict or is_own(type(container)):
            note_item(self.trace, container, key)
            return container[self.hashed(key) if type(container) is dict else key]
        return native_operation(self.trace, operator.getitem, container, key)

    def _select(self, method: Callable[[Any, Any], Any], container: object, key: object) -> Any:
        index = as_number(key)
        if is_dynamic(index):
            return select_item(self.trace, list(SELECTABLE[method](container)), index)
        return method(container, key)

    def attribute(self, owner: object, name: str) -> Any:
        special = self.inlining.special
        if special.is_plain(type(owner)):
            if type(owner).__flags__ & user_code.HEAP_TYPE:
                note_read(self.trace, owner, name)
            return note_attribute(self.trace, owner, name, getattr(owner, name))
        note_read(self.trace, owner, name)
        return special.attribute(owner, name, keep=not self.trace.region.dynamic)

    def context(self, manager: AbstractContextManager[object]) -> Any:
        return manager if is_own(type(manager)) else TracedContext(manager, self.call)

    def within(
        self,
        contexts: tuple[Any, ...],
        body: Thunk,
        names: Names = (),
        get: Get = no_values,
        set: Set = ignore_values,
    ) -> None:
        block = block_of(contexts)
        if block is None:
            body()
        else:
            block.__within__(self, body, names, get, set)

    def fresh(self, container: object) -> Any:
        note_made(self.trace, container)
        return container

    def match_subject(self, subject: object) -> Any:
        return require_static(subject, "match", "`if`/`elif` on the run-time value")

    # variables --------------------------------------------------------------------------------------------------
    def load(self, value: object, name: str) -> Any:
        if value is UNDEFINED or isinstance(value, (Partial, Pending)):
            raise undefined(name, value)
        return value

    def known(self, value: object) -> Any:
        return bare(value)

    def result(self, value: object) -> Any:
        return bare(value)

    def annotate(self, value: object, annotation: Thunk, name: str) -> Any:
        try:
            declared = annotation()
        except Exception:  # Python never evaluates a local annotation, so what it raises is not the program's error
            return value
        if declared is Constexpr or getattr(declared, "__origin__", None) is Constexpr:
            return require_static(value, f"the Constexpr variable `{name}`", "the variable without the annotation")
        number = isinstance(value, Numeric | bool | int | float)
        if number and is_number_class(declared):
            return declared_number(value, declared, f"`{name}`")
        return value

    # mutation ---------------------------------------------------------------------------------------------------
    def augment(self, op: str, target: object, value: object) -> Any:
        cls = type(target)
        if cls in _NUMBERS:
            return evaluated(self.trace, AUGMENTED[op], op, target, value)
        method = self.inlining.special.augmented(op, target)
        if method is not None:
            outcome = self.call(method, target, value)
            return self.operate(op, target, value) if outcome is NotImplemented else outcome
        if not mutation.changes_in_place(cls, op):
            return self.operate(op, target, value)
        mutation.check_mutable(self.trace, target, f"`{op}=` on {with_article(cls.__name__)}")
        return AUGMENTED[op](target, note_stored(self.trace, target, value))

    def setitem(self, container: Any, key: object, value: object) -> None:
        method = user_method(type(container), "__setitem__")
        if method is not None:
            self.call(method, container, key, value)
            return
        mutation.check_mutable(self.trace, container, "item assignment")
        if holds_run_time_values(value):
            self.trace.stored[id(container)] = place()
        if isinstance(container, list):
            key = require_static(key, "assigning a list item", "a tuple rebuilt with the new item")
        if type(container) in _OWN_ITEMS or is_own(type(container)):
            container[key] = note_stored(self.trace, key, value)
        else:
            opaque_call(self.trace, operator.setitem, (container, key, value), {})

    def delitem(self, container: Any, key: object) -> None:
        method = user_method(type(container), "__delitem__")
        if method is not None:
            self.call(method, container, key)
            return
        mutation.check_mutable(self.trace, container, "item deletion")
        if type(container) in _OWN_ITEMS or is_own(type(container)):
            del container[key]
        else:
            opaque_call(self.trace, operator.delitem, (container, key), {})

    def setattr(self, target: object, name: str, value: object) -> None:
        setter = None if self.inlining.special.is_plain(type(target)) else self.inlining.special.setter(target, name)
        if setter is not None:
            self.call(*setter, value)
            return
        if not mutation.track(self.trace, target, name):
            mutation.check_mutable(self.trace, target, f"assigning the attribute `{name}`")
        note_assignment(self.trace, target, name, value)
        setattr(target, name, value)

    def delattr(self, target: object, name: str) -> None:
        mutation.check_mutable(self.trace, target, f"deleting the attribute `{name}`")
        delattr(target, name)

    def place(self, owner: object, attribute: str, name: str) -> Place:
        return Place(name, attribute, owner if mutation.can_track(self.trace, owner, attribute) else None)

    # failing ----------------------------------------------------------------------------------------------------
    def raising(self) -> None:
        region = self.trace.region
        if region.dynamic:
            raise DynamicRaiseError(
                f"`raise` inside a {region.what} that is decided at run time",
                span=place(),
                found="an exception that would be raised while tracing, whatever happens at run time",
                expected="`raise` only where the condition is known while tracing",
                instead='`assert condition, "message"`, which is checked at run time',
                related=[(f"the {region.what}", region.span)] if region.span is not None else [],
            )

    def assert_(self, test: object, message: Thunk | None = None) -> None:
        decided = self.decide(test)
        if isinstance(decided, Boolean):
            check(self.trace, decided.ir_value(), "AssertionFailedError", _message(self.trace, message))
        elif not decided and self.trace.region.dynamic:
            check(self.trace, Boolean(False).ir_value(), "AssertionFailedError", _message(self.trace, message))
        elif message is None:
            assert decided
        else:
            assert decided, message()


def _message(trace: Trace, message: Thunk | None) -> str:
    said = "assertion failed" if message is None else message()
    return str(note_text(trace, str(said), said))

"""`in` with run-time operands, by Python's own protocol: `__contains__`, else `__iter__`, else `__getitem__`.

What a class inherits from `list`, `dict` … is known and becomes comparisons; `__contains__` of a program's own class is
called and traced like any function; every other C implementation would ask Python for an answer now, and is refused.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, KeysView, Mapping, Sequence
from types import FunctionType, MappingProxyType
from typing import TYPE_CHECKING, Any, NoReturn

from triptych.hooks import COMPARISONS
from triptych.metastage.calls.opaque_calls import native_operation
from triptych.metastage.control_flow.join_plans import has_dynamic
from triptych.metastage.control_flow.object_identity import check_comparable, identical, may_hold_nan, undecided
from triptych.metastage.trace.checks import check
from triptych.metastage.trace.errors import OperandTypeError, StaticRequiredError
from triptych.metastage.trace.trace import Trace, place
from triptych.metastage.trace.user_code import ABSENT, C_METHODS, bound_method, special_method
from triptych.metastage.values import promotion
from triptych.metastage.values.aggregates import describe
from triptych.metastage.values.binding_time import Range, condition, is_dynamic, truth
from triptych.metastage.values.promotion import TYPES, TypeInfo
from triptych.metastage.values.scalars import (
    NUMERIC_CLASSES,
    Boolean,
    Float64,
    Int32,
    Int64,
    Int128,
    Numeric,
    as_number,
)

if TYPE_CHECKING:
    from triptych.hooks import Hooks


def in_range(item: Numeric | int | float, bounds: range | Range, trace: Trace) -> Any:
    """Whether a number is one of a range: a bool where that is known now, else a Boolean."""
    parts = (bounds.start, bounds.stop, bounds.step)
    known = not any(map(is_dynamic, parts))
    if known and not is_dynamic(item):
        return item in range(*parts)
    if isinstance(item, Numeric) and item.info.kind == "float":
        return _float_in_range(item, bounds, trace)
    if isinstance(item, float):
        return int(item) == item and in_range(int(item), bounds, trace) if abs(item) < 2.0**127 else False
    if isinstance(item, Numeric) and item.info.kind == "bool":
        item = item.to(Int32)
    return _in_known(item, range(*parts), trace) if known and is_dynamic(item) else _in_dynamic(item, parts, trace)


def _float_in_range(item: Numeric, bounds: range | Range, trace: Trace) -> Any:
    """A float is one of the integers that it is equal to, if it is whole and they reach that far."""
    parts = (bounds.start, bounds.stop, bounds.step)
    wide = any(not _fits(part, Int64.info) for part in parts)
    exact = item.to(Float64)
    whole = exact.to(Int128 if wide else Int64)
    return (whole == exact) & in_range(whole, bounds, trace)


def _fits(part: Numeric | int, info: TypeInfo) -> bool:
    return all(map(info.holds, part.info.bounds)) if isinstance(part, Numeric) else info.holds(part)


def _in_known(item: Numeric, items: range, trace: Trace) -> Any:
    """Of the range, only what the type of the number holds can be met; between its ends nothing wraps."""
    low, high = item.info.bounds
    ascending = items if items.step > 0 else items[::-1]
    step = ascending.step
    first = ascending.start if ascending.start >= low else low + (ascending.start - low) % step
    met = range(first, min(ascending.stop, high + 1), step)
    if not met:
        return Boolean(False)
    inside = (item >= met[0]) & (item <= met[-1])
    if step == 1 or met[0] == met[-1]:
        return inside
    return inside & (_remainder(trace, item - met[0], step) == 0)


def _in_dynamic(item: Numeric | int, parts: tuple[Any, ...], trace: Trace) -> Any:
    kind = _common_type((item, *parts))
    number, start, stop = (_converted(value, kind) for value in (item, *parts[:2]))
    step = parts[2]
    if not is_dynamic(step):
        distance = number - start if step > 0 else start - number
        inside = _between(number, start, stop, step > 0)
        return inside if abs(step) == 1 else inside & (_remainder(trace, distance, abs(step)) == 0)
    step = _converted(step, kind)
    nonzero = (step != 0).ir_value()
    check(trace, nonzero, "ZeroStepError", "the step of the range is 0", expected="a step above or below 0")
    upward = step > 0
    outcomes = [
        _between(number, start, stop, up) & (_remainder(trace, distance, size) == 0)
        for up, distance, size in ((True, number - start, step), (False, start - number, -step))
    ]
    return (upward & outcomes[0]) | ((upward ^ True) & outcomes[1])


def _between(number: Numeric, start: Numeric, stop: Numeric, upward: bool) -> Any:
    return (number >= start) & (number < stop) if upward else (number <= start) & (number > stop)


def _remainder(trace: Trace, distance: Numeric, step: Numeric | int) -> Any:
    """Of a distance that is right as an unsigned number, whatever its type says; a step of 0 has been refused."""
    unsigned = NUMERIC_CLASSES[f"Uint{max(distance.width, 8)}"]
    divisor = step if isinstance(step, int) else _at_least_one(trace, step.to(unsigned))
    return distance.to(unsigned) % divisor


def _at_least_one(trace: Trace, step: Numeric) -> Any:
    """A step that the check before lets pass, and 1 where the program has failed already."""
    one = type(step)(1)
    value = trace.value("arith.select", ((step != 0).ir_value(), step.ir_value(), one.ir_value()), step.info.mlir)
    return type(step).of(value, trace.region)


def _common_type(values: tuple[Any, ...]) -> type[Numeric]:
    """The smallest type that holds all of them."""
    name: str | None = "Boolean"
    for value in values:
        own = value.info.name if isinstance(value, Numeric) else _smallest(value)
        name = promotion.join(name, own) if name is not None and own is not None else None
    if name is None or TYPES[name].kind == "float":
        raise OperandTypeError(
            "`in` on a range takes integers that one type can hold",
            span=place(),
            found=", ".join(type(value).__name__ for value in values),
            expected="integers of a common type",
            instead="convert them first, for example .to(Int64)",
        )
    return NUMERIC_CLASSES["Int32" if name == "Boolean" else name]


def _smallest(value: int) -> str | None:
    kinds = (name for name in ("Int32", "Int64", "Int128", "Uint128") if TYPES[name].holds(value))
    return next(kinds, None)


def _converted(value: Numeric | int, kind: type[Numeric]) -> Numeric:
    return value.to(kind) if isinstance(value, Numeric) else kind(value)


MOST_ITEMS = 10_000
"""Items that are compared one by one before an iteration is taken for endless."""

_PLAIN = frozenset({bool, int, float, complex, str, bytes, type(None), type})
"""Types whose values Python compares without asking the program; with no run-time value beside, it answers itself."""
_NUMBERS = (int, float, Numeric)


class Membership:
    """Membership tests of one trace."""

    def __init__(self, trace: Trace, hooks: Hooks) -> None:
        self._trace = trace
        self._hooks = hooks

    # Any: told apart by its exact class; so in `_items` and `_is_plain`.
    def contains(self, container: Any, item: object) -> Any:
        """`item in container`: a bool where it is known now, else a Boolean."""
        kind = type(container)
        item = as_number(item)
        if kind is Range:
            return self._in_range(container, item)
        if type(item) in _PLAIN and _is_plain(container):
            return item in container
        method = special_method(kind, "__contains__")
        if isinstance(method, _HASHABLE) and method in CONTAINS:
            return self.by_method(method, container, item)
        if isinstance(method, C_METHODS):
            if has_dynamic(item):
                _refuse(container, item)
            return condition(native_operation(self._trace, COMPARISONS["in"], item, container))
        if method is ABSENT:
            return self._among(self._items(container), item)
        if method is None:
            raise _no_container(container)
        return condition(self._hooks.call(bound_method(method, container), item))

    def by_method(self, method: object, container: object, item: object) -> Any:
        """What a known implementation of `__contains__` answers, also when it is called by its name."""
        return CONTAINS[method](self, container, item)

    # by iteration -------------------------------------------------------------------------------------------------
    def _items(self, container: Any) -> Iterator[Any]:
        kind = type(container)
        method = special_method(kind, "__iter__")
        if method is not ABSENT and method is not None:
            is_c = isinstance(method, C_METHODS)
            iterator = iter(container) if is_c else self._hooks.call(bound_method(method, container))
            if iterator is container:
                _refuse_iterator(container)
            return self._bounded(iterator, container)
        if method is None or special_method(kind, "__getitem__") is ABSENT:
            raise _no_container(container)
        return self._bounded(self._by_index(container), container)

    def _by_index(self, container: object) -> Iterator[Any]:
        index = 0
        while True:
            try:
                item = self._hooks.getitem(container, index)
            except IndexError:
                return
            yield item
            index += 1

    def _bounded(self, items: Iterable[Any], container: object) -> Iterator[Any]:
        for count, item in enumerate(items):
            if count >= MOST_ITEMS:
                raise StaticRequiredError(
                    f"`in` has compared {MOST_ITEMS} items while tracing, and there are more",
                    span=place(),
                    found=f"the items of {describe(container)}",
                    expected="a container of known, moderate size",
                    instead="`range(...)`, a comparison with bounds, or a `for` loop that compares",
                )
            yield item

    def _among(self, items: Iterable[Any], item: object) -> Any:
        """Whether one of the items is the same object or equal; what is found ends the search, as in Python."""
        found: Any = False
        for candidate in items:
            same = identical(self._trace, candidate, item)
            if same is True:
                return True
            if same is None and may_hold_nan(item):
                raise undecided(self._trace, item, "`in`")
            if isinstance(same, Boolean):
                found = _either(found, same)
            if found is False or (_is_harmless(item) and _is_harmless(candidate)):
                found = _either(found, self._equal(candidate, item))
            else:  # comparing may do anything, so it happens only where Python would get here
                found = self._hooks.choose(found, lambda: True, lambda other=candidate: self._equal(other, item))  # type: ignore[misc]
            if found is True:
                return True
        return found

    def _equal(self, candidate: object, item: object) -> Any:
        if _may_be_nan(candidate) and _may_be_nan(item):
            self._refuse_two_nans(candidate, item)
        return condition(self._hooks.operate("==", candidate, item))

    def _refuse_two_nans(self, candidate: object, item: object) -> None:
        """NaN is in a list where it is the same object; which objects were the same is not known at run time."""
        check(
            self._trace,
            (truth(candidate == candidate) | truth(item == item)).ir_value(),
            "NanMembershipError",
            "`in` compares NaN with NaN",
            found="two numbers that are not equal to themselves",
            expected="numbers: for NaN, Python asks whether they are the same object",
            instead="`x != x` to ask whether `x` is NaN",
        )

    # what Python implements in C ----------------------------------------------------------------------------------
    def _in_list(self, container: list[Any], item: object) -> Any:
        return self._among(self._bounded(list.__iter__(container), container), item)

    def _in_tuple(self, container: tuple[Any, ...], item: object) -> Any:
        return self._among(self._bounded(tuple.__iter__(container), container), item)

    def _in_deque(self, container: deque[Any], item: object) -> Any:
        return self._among(self._bounded(deque.__iter__(container), container), item)

    def _in_keys(self, container: Collection[Any], item: object) -> Any:
        """Keys are found by hash and equality. A number has the hash of what equals it, and only numbers do."""
        if not is_dynamic(item):
            check_comparable(self._trace, (item,), "`in`")
            return condition(item in container)
        odd = [key for key in _keys(container) if not _is_harmless(key) and type(key).__eq__ not in _NEVER_NUMBERS]
        if odd:
            _refuse(container, odd[0])
        return self._among(self._bounded(filter(_is_harmless, _keys(container)), container), item)

    def _in_sequence(self, container: object, item: object) -> Any:
        return self._among(self._items(container), item)

    def _in_range(self, container: range | Range, item: object) -> Any:
        if isinstance(item, _NUMBERS):
            return in_range(item, container, self._trace)
        return self._among(self._bounded(container, container), item)

    def _in_text(self, container: str, item: object) -> NoReturn:
        raise OperandTypeError(
            f"`in` on a string needs a string, not {describe(item)}",
            span=place(),
            found=f"{describe(item)} in {container!r}",
            expected="a string that is known while tracing",
        )


_HASHABLE = (FunctionType, *C_METHODS)
CONTAINS: Mapping[Any, Callable[[Membership, Any, Any], Any]] = MappingProxyType(
    {
        list.__contains__: Membership._in_list,
        tuple.__contains__: Membership._in_tuple,
        deque.__contains__: Membership._in_deque,
        dict.__contains__: Membership._in_keys,
        set.__contains__: Membership._in_keys,
        frozenset.__contains__: Membership._in_keys,
        type({}.keys()).__contains__: Membership._in_keys,
        range.__contains__: Membership._in_range,
        Sequence.__contains__: Membership._in_sequence,
        str.__contains__: Membership._in_text,
    }
)
"""What a class has inherited of a builtin type is what the builtin type does, whatever else the class redefines."""


def _keys(container: object) -> Iterator[Any]:
    for kind in (dict, set, frozenset):
        if isinstance(container, kind):
            return iter(kind.__iter__(container))  # type: ignore[arg-type]
    assert isinstance(container, KeysView), "the other containers are views of keys"
    return iter(container)


_NEVER_NUMBERS: frozenset[Any] = frozenset(kind.__eq__ for kind in (tuple, frozenset, object, type))
"""Comparisons that never find a number equal."""


def _is_plain(container: Any) -> bool:
    """Whether Python finds a plain item in it without asking the program anything."""
    if type(container) in (list, tuple, deque):
        return all(type(item) in _PLAIN for item in container)
    return type(container) in (range, str, bytes, dict, set, frozenset)


def _is_harmless(value: object) -> bool:
    """Whether comparing it with a number has no effect, and no meaning of the program's own."""
    return isinstance(value, Numeric) or type(value) in _PLAIN or hasattr(type(value), "__as_number__")


def _may_be_nan(value: object) -> bool:
    if isinstance(value, Numeric):
        return value.info.kind == "float"
    return isinstance(value, float) and value != value


def _either(left: object, right: object) -> Any:
    if left is True or right is True:
        return True
    return left | right if isinstance(right, Boolean) else left


def _no_container(value: object) -> OperandTypeError:
    return OperandTypeError(
        f"{describe(value)} is no container, so that nothing can be `in` it",
        span=place(),
        found=f"`in` on {describe(value)}",
        expected="a class with `__contains__`, `__iter__` or `__getitem__`",
    )


def _refuse(container: object, item: object) -> NoReturn:
    raise StaticRequiredError(
        f"`in` on {describe(container)} needs values that are known while the function is traced",
        span=place(),
        found=f"{describe(item)} beside {describe(container)}",
        expected="a list, tuple, range, or a set or dict of numbers; or a class with `__contains__`",
        instead="`x in tuple(items)`",
    )


def _refuse_iterator(container: object) -> NoReturn:
    raise StaticRequiredError(
        "`in` would use an iterator up as far as the item that it finds, which is known only at run time",
        span=place(),
        found=describe(container),
        expected="a container that can be looked through again",
        instead="`x in list(items)`",
    )

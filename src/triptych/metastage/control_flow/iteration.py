"""Run-time iteration: `range` as a counter that cannot overflow, and the items it stands for."""

from __future__ import annotations

from typing import Any

from triptych.ir.handles import Value
from triptych.metastage.trace.checks import check
from triptych.metastage.trace.errors import OperandTypeError
from triptych.metastage.trace.trace import Trace, active, place
from triptych.metastage.values import promotion
from triptych.metastage.values.binding_time import Range
from triptych.metastage.values.promotion import TYPES, TypeInfo
from triptych.metastage.values.scalars import NUMERIC_CLASSES, Int64, Numeric
from triptych.support.dataclass import dataclass

_I32, _I64 = TYPES["Int32"], TYPES["Int64"]


@dataclass(frozen=True, slots=True)
class Steps:
    """A counter from `start` to `stop` by the positive `step`, and how an item is made from it."""

    start: Any
    stop: Any
    step: Any
    counter: TypeInfo
    item_type: TypeInfo
    offset: Any = None
    """With `scale`: the item is `offset + counter * scale`; None: the item is the counter."""
    scale: Any = None
    runs: bool = False
    """Whether at least one iteration is certain."""
    hints: tuple[tuple[str, int], ...] = ()

    def item(self, counter: Value, trace: Trace) -> Any:
        """The Python-visible item of an iteration."""
        value: Any = NUMERIC_CLASSES[self.counter.name].of(counter, trace.region)
        if self.scale is not None:
            value = self.offset + value * self.scale
        return value.to(NUMERIC_CLASSES[self.item_type.name])

    def attributes(self, trace: Trace) -> dict[str, Any]:
        return {f"triptych.{name}": trace.builder.integer("i64", value) for name, value in self.hints}


def steps_of(iterable: range | Range, trace: Trace) -> Steps | None:
    """How to count through a range at run time; None when it is certainly empty."""
    hints = iterable.hints if isinstance(iterable, Range) else ()
    start, stop, step = iterable.start, iterable.stop, iterable.step
    static = all(isinstance(v, int) for v in (start, stop, step))
    if static and not range(start, stop, step):
        return None
    item_type = _item_type(start, stop, step)
    if isinstance(iterable, Range) and iterable.is_backward:
        start, stop, step = (_wide(v) for v in (start, stop, step))
        count = len(range(start, stop, step)) if static else _count(start, stop, step, trace)
        last = start + (count - 1) * step
        return Steps(0, count, 1, _I64, item_type, offset=last, scale=-step, runs=static, hints=hints)
    if isinstance(step, int) and step == 1 and item_type.kind == "int":
        return Steps(start, stop, step, item_type, item_type, runs=static, hints=hints)
    if isinstance(step, int) and step > 0 and item_type.width < 64:
        # A counter with room to spare: `i + step` past the last item must not wrap around.
        return Steps(start, stop, step, _I64, item_type, runs=static, hints=hints)
    start, stop, step = (_wide(v) for v in (start, stop, step))
    count = len(range(start, stop, step)) if static else _count(start, stop, step, trace)
    return Steps(0, count, 1, _I64, item_type, offset=start, scale=step, runs=static, hints=hints)


def _item_type(*bounds: object) -> TypeInfo:
    name = "Boolean"
    for bound in bounds:
        if isinstance(bound, Numeric):
            joined = promotion.join(name, bound.info.name)
        elif isinstance(bound, int):
            joined = promotion.join(name, "Int32" if _I32.holds(bound) else "Int64")
        else:
            joined = None
        if joined is None or TYPES[joined].kind == "float" or TYPES[joined].width > 64:
            raise OperandTypeError(
                "range() takes integers of at most 64 bits",
                span=place(),
                found=", ".join(type(b).__name__ for b in bounds),
                expected="integers",
                instead="`range(x.shape[0])`, one extent" if isinstance(bound, tuple) else "`int(...)` of each bound",
            )
        name = joined
    return TYPES[name]


def length(items: Range) -> Any:
    """`len(range(...))`: how many items there are, which 64 bits hold for bounds of at most 32."""
    item_type, trace = _item_type(items.start, items.stop, items.step), active()
    assert trace is not None, "run-time ranges exist while tracing only"
    if item_type.width > 32:
        raise OperandTypeError(
            "len() of a run-time range takes bounds of at most 32 bits",
            span=place(),
            found=item_type.name,
            expected="integers of at most 32 bits",
            instead="`max(0, stop - start)` where it cannot overflow, or `.to(Int32)` of the bounds",
        )
    return _count(_wide(items.start), _wide(items.stop), _wide(items.step), trace)


def _wide(bound: object) -> Any:
    return bound.to(Int64) if isinstance(bound, Numeric) else bound


_int64 = Int64.fitting


def _count(start: Numeric | int, stop: Numeric | int, step: Numeric | int, trace: Trace) -> Any:
    """How many items a range has whose counter could wrap around; the distance is right as an unsigned number."""
    if isinstance(step, int):
        low, high, size = (start, stop, _int64(step)) if step > 0 else (stop, start, _int64(-step))
        low, high = _int64(low), _int64(high)
    else:
        nonzero = (step != 0).ir_value()
        facts = {"expected": "a step above or below 0", "instead": "`if step != 0:` around the loop"}
        check(trace, nonzero, "ZeroStepError", "the step of the range is 0", **facts)
        backward = (step < 0).ir_value()
        low, high = (_select(trace, backward, _int64(a), _int64(b)) for a, b in ((stop, start), (start, stop)))
        size = _select(trace, backward, _int64(-step), _int64(step))
        size = _select(trace, (size == 0).ir_value(), Int64(1), size)
    further = high - low - 1
    count = Int64.of(trace.value("arith.divui", (further.ir_value(), size.ir_value()), "i64"), trace.region) + 1
    return _select(trace, (low < high).ir_value(), count, Int64(0))


def _select(trace: Trace, test: Value, then: Int64, orelse: Int64) -> Int64:
    return Int64.of(trace.value("arith.select", (test, then.ir_value(), orelse.ir_value()), "i64"), trace.region)

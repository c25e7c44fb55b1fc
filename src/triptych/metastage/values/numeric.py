"""Numeric values while tracing: what their operators mean, in which type, and where Python must know them now.

Every operator asks the promotion table for its type and `arithmetic` for its operations. The classes themselves
(`Int32`, `Float32` …) are in `scalars`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeAlias, TypeGuard, TypeVar, overload

from triptych.diagnostics.likely_mistakes import NUMBERS
from triptych.hooks import COMPARISONS as COMPARE_PYTHON
from triptych.ir.handles import Value
from triptych.ir.types import is_value
from triptych.metastage.trace.errors import LeakedValueError, OperandTypeError, StaticRequiredError
from triptych.metastage.trace.trace import Region, Trace, active, in_progress, place
from triptych.metastage.values import arithmetic, conversion, promotion
from triptych.metastage.values.arithmetic import known_divisor
from triptych.metastage.values.mlir_types import ArgumentPart, MlirTypeOf, NumericType
from triptych.metastage.values.operators import ForeignOperand, Operators
from triptych.metastage.values.promotion import PYTHON_NUMBERS, TYPES, TypeInfo

if TYPE_CHECKING:
    from triptych.metastage.values.scalars import Boolean, Float32, Int32

N = TypeVar("N", bound="Numeric")

NUMERIC_CLASSES: dict[str, type[Numeric]] = {}
"""Every numeric class by name, filled by `scalars`."""


class Numeric(ForeignOperand, ArgumentPart, Operators, metaclass=NumericType):
    """A number of a fixed type. `Int32(3)` is a run-time value inside a traced function, a typed constant outside."""

    __slots__ = ("_region", "_value")

    _looked_for = NUMBERS
    info: ClassVar[TypeInfo]
    width: ClassVar[int]
    is_integer: ClassVar[bool]
    signed: ClassVar[bool]
    """Whether it has numbers below zero."""
    is_float: ClassVar[bool]
    mlir_type = MlirTypeOf()
    zero: ClassVar[int | float]
    inf: ClassVar[float]
    """As Python writes it; only floats that have infinities have it, and `neg_inf`."""
    neg_inf: ClassVar[float]
    _value: Any
    _region: Region | None

    def __init__(self, value: object) -> None:
        trace = active()
        value = as_number(value)
        if isinstance(value, Numeric):
            value = value.to(type(self))
            self._value, self._region = value._value, value._region
            return
        if trace is not None and is_value(value):
            self._value, self._region = conversion.from_builder(trace, value, self.info), trace.region
            return
        if not isinstance(value, bool | int | float):
            raise OperandTypeError(
                f"{type(value).__name__} cannot become {type(self).__name__}",
                span=place(),
                found=type(value).__name__,
                expected="a number",
            )
        number = conversion.fit(conversion.signed_bits(value, self.info), self.info, explicit=True)
        self._value, self._region = number, None
        if trace is not None:
            self._value, self._region = conversion.constant(trace, number, self.info), trace.region

    @classmethod
    def fitting(cls, value: object) -> Self:
        """As the constructor, where the program has not called it: a literal beyond the range is refused."""
        return cls(conversion.fit(value, cls.info, explicit=True) if isinstance(value, int) else value)

    @classmethod
    def of(cls, value: Value, region: Region) -> Self:
        """Wrap an MLIR value that `region` computes."""
        self = cls.__new__(cls)
        self._value = value
        self._region = region
        return self

    @classmethod
    def constant(cls, number: bool | int | float) -> Self:
        """A typed constant that is not a run-time value yet."""
        self = cls.__new__(cls)
        self._value = number
        self._region = None
        return self

    # reading ----------------------------------------------------------------------------------------------------
    @property
    def is_dynamic(self) -> bool:
        """Whether the number is known only at run time."""
        return self._region is not None

    @classmethod
    def is_same_kind(cls, other: type[Numeric]) -> bool:
        """Whether both types are integers, or both floats."""
        return cls.is_float == other.is_float

    @property
    def dtype(self) -> type[Self]:
        """Its type, which is its class."""
        return type(self)

    def ir_value(self, *, loc: object = None, ip: object = None) -> Value:
        """The MLIR value of a run-time number; a typed constant becomes one where it is used."""
        region = self._region
        if region is None:
            trace = active()
            if trace is None:
                raise LeakedValueError("a typed constant has no MLIR value outside a traced function", span=place())
            return conversion.constant(trace, self._value, self.info)
        if not region.is_readable:
            raise leaked(self, region)
        value: Value = self._value
        return value

    @overload
    def to(self, dtype: type[N], *, saturate: bool = False) -> N: ...
    @overload
    def to(self, dtype: type[bool], *, saturate: bool = False) -> Boolean: ...  # type: ignore[overload-overlap]
    @overload
    def to(self, dtype: type[int], *, saturate: bool = False) -> Int32: ...
    @overload
    def to(self, dtype: type[float], *, saturate: bool = False) -> Float32: ...
    def to(self, dtype: type[Any], *, saturate: bool = False) -> Any:
        """Convert: floats to integers truncate toward zero, narrower integers wrap. `int` is Int32, `float` Float32.

        What is too large for a float type becomes its infinity or NaN, with `saturate` its largest number.
        """
        target = numeric_class(dtype)
        if target is type(self):
            return self
        if self._region is None:
            return target.constant(conversion.wrapped(self._value, target.info, saturate))
        trace = self._region.trace
        value = conversion.convert(trace, self.ir_value(), self.info, target.info, saturate=saturate)
        return target.of(value, trace.region)

    @overload
    def bitcast(self, dtype: type[N]) -> N: ...
    @overload
    def bitcast(self, dtype: type[int]) -> Int32: ...
    @overload
    def bitcast(self, dtype: type[float]) -> Float32: ...
    def bitcast(self, dtype: type[Any]) -> Any:
        """The same bits as another type of the same width."""
        target = numeric_class(dtype)
        trace = trace_of(self)
        return target.of(conversion.bitcast(trace, self.ir_value(), self.info, target.info), trace.region)

    def __repr__(self) -> str:
        return "?" if self._region is not None else f"{type(self).__name__}({self._value!r})"

    def __str__(self) -> str:
        return "?" if self._region is not None else str(self._value)

    def __format__(self, spec: str) -> str:
        return "?" if self._region is not None else format(self._value, spec)

    def __hash__(self) -> int:
        return hash((type(self), self._static("as a key")))

    def __cache_key__(self) -> tuple[str, str]:
        if self._region is not None:
            raise leaked(self, self._region)
        return type(self).__name__, repr(self._value)

    def __tvm_ffi_value__(self) -> bool | int | float:
        """How a typed constant is passed to compiled code."""
        number: bool | int | float = self._static("argument")
        return number

    # places where Python needs the number now ---------------------------------------------------------------------
    def _static(self, use: str) -> Any:
        if self._region is not None:
            raise StaticRequiredError(
                f"a run-time {type(self).__name__} is used where Python needs its value now ({use})",
                span=place(),
                found="a value that is known only at run time",
                expected="a value that is known while the function is traced",
                instead=_STATIC_INSTEAD.get(use, "a Constexpr argument"),
            )
        return self._value

    def __bool__(self) -> bool:
        return bool(self._static("truth value"))

    def __index__(self) -> int:
        number = self._static("index or bound")
        if not isinstance(number, int):
            raise TypeError(f"{type(self).__name__} is not an integer")
        return number

    def __int__(self) -> int:
        return int(self._static("int()"))

    def __float__(self) -> float:
        return float(self._static("float()"))

    def __iter__(self) -> Any:
        raise OperandTypeError(
            f"{type(self).__name__} is one number and cannot be unpacked or iterated",
            span=place(),
            found=type(self).__name__,
            expected="a tuple, or `range(...)` around the number",
        )

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        """A number is what it is: a copy is the same one."""
        return self

    # operators --------------------------------------------------------------------------------------------------
    @staticmethod
    def _operate(op: str, left: object, right: object) -> Any:
        if not (_is_number(left) and _is_number(right)):
            left, right = as_number(left), as_number(right)
            if not (_is_number(left) and _is_number(right)):
                return NotImplemented
        if op in COMPARE_PYTHON:
            return _compare(op, left, right)
        return _power(left, right) if op == "**" else _binary(op, left, right)

    def __neg__(self) -> Any:
        return _unary(arithmetic.negative, self)

    def __pos__(self) -> Any:
        return _counted(self)

    def __invert__(self) -> Any:
        return self ^ -1 if self.info.kind != "uint" else self ^ ((1 << self.width) - 1)

    def __abs__(self) -> Any:
        return _unary(arithmetic.absolute, self)


_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!="}
_STATIC_INSTEAD = {
    "truth value": "`if`, `and`, `or`, `not`, `min` or `max` in the compiled function itself, or a Constexpr argument",
    "as a key": "`if`/`elif`, an index into a list or tuple (which may be a run-time value), or a Constexpr argument",
    "index or bound": "a Constexpr argument, or a `for` loop over `range(n)` in a function decorated with `@jit`",
}


def leaked(value: object, region: Region) -> LeakedValueError:
    """The error for a value whose region has ended, or is the host's while a kernel is traced."""
    kernel = region.trace.kernel
    if kernel is not None and region.trace is in_progress() and region.encloses(kernel.region):
        return LeakedValueError(
            f"the kernel {kernel.name} uses a run-time {type(value).__name__} of the host that is not an argument",
            span=place(),
            found="a value that the host function computes",
            expected="values that the kernel receives or computes",
            instead="pass it as an argument",
        )
    what = "a function that has been compiled already" if region.parent is None else f"a {region.what} that has ended"
    return LeakedValueError(
        f"a run-time {type(value).__name__} is used outside the {region.what} that computes it",
        span=place(),
        found=f"a run-time value of {what}",
        expected="a value computed on every path to this use",
        instead="assign it to a variable that is defined before the branch or loop, or return it",
        related=[(f"the {region.what} it belongs to", region.span)] if region.span else [],
    )


def is_number_class(dtype: object) -> TypeGuard[type[Numeric]]:
    """Whether it is the class of a type of numbers; `Numeric`, which all of them are, says no type."""
    return isinstance(dtype, type) and issubclass(dtype, Numeric) and dtype is not Numeric


def numeric_class(dtype: object) -> type[Numeric]:
    """The numeric class that `dtype` names: itself, or what Python's `bool`, `int` and `float` stand for."""
    if isinstance(dtype, type):
        if is_number_class(dtype):
            return dtype
        if dtype in PYTHON_NUMBERS:
            return NUMERIC_CLASSES[PYTHON_NUMBERS[dtype]]
    raise OperandTypeError(
        f"{dtype!r} is not a numeric type",
        span=place(),
        found=repr(dtype),
        expected="a class such as Int32 or Float32, or `int`, `float`, `bool`",
    )


def materialize(value: Number, info: TypeInfo, trace: Trace) -> Value:
    """A number of any type, or a Python number, as an MLIR value of type `info`."""
    if isinstance(value, Numeric):
        return conversion.convert(trace, value.ir_value(), value.info, info)
    return conversion.constant(trace, conversion.fit(value, info, explicit=False), info)


Number: TypeAlias = Numeric | int | float
_NUMBERS = (Numeric, int, float)
"""A tuple made once: a union is made, and asked in Python, every time."""


def _is_number(value: object) -> TypeGuard[Number]:
    return isinstance(value, _NUMBERS)


def as_number(value: object) -> Any:
    """What stands for a run-time number (an integer of a run-time layout) as that number; all else as it is."""
    converted = getattr(type(value), "__as_number__", None)
    return value if converted is None else converted(value)


def _static(left: Number, right: Number) -> list[Any] | None:
    """Typed constants outside a traced function, as Python's numbers."""
    if active() is not None or _is_dynamic(left) or _is_dynamic(right):
        return None
    return [value._value if isinstance(value, Numeric) else value for value in (left, right)]


def trace_of(*values: object) -> Trace:
    """The trace that computes with some of the values."""
    for value in values:
        if isinstance(value, Numeric) and value._region is not None:
            return value._region.trace
    trace = active()
    if trace is None:
        raise OperandTypeError("typed constants have no such arithmetic outside a traced function", span=place())
    return trace


# One of the two is a Numeric, which no type of each can say.
def _common(left: Any, right: Any, table: Callable[[str, str], str | None]) -> TypeInfo | None:
    """The type in which an operator works; a Python constant adapts to the type beside it."""
    if isinstance(left, Numeric) and isinstance(right, Numeric):
        name = table(left.info.name, right.info.name)
    else:
        number, constant = (left, right) if isinstance(left, Numeric) else (right, left)
        name = number.info.name
        if isinstance(constant, float) and number.info.kind != "float":
            name = promotion.float_for(name)
        elif not isinstance(constant, bool) and number.info.kind == "bool":
            name = PYTHON_NUMBERS[int]
        name = table(name, name)
    return TYPES[name] if name is not None else None


def _binary(op: str, left: Number, right: Number) -> Any:
    info = operator_type(op, left, right)
    if (static := _static(left, right)) and op in conversion.FOLDED:
        return NUMERIC_CLASSES[info.name](conversion.folded(op, info, *static))
    trace = trace_of(left, right)
    if op in ("<<", ">>"):
        return _shift(op, info, left, right, trace)
    divisor = known_divisor(trace, op, info, right)
    left, right = conversion.operand_bits(op, left, info), conversion.operand_bits(op, right, info)
    value = arithmetic.binary(trace, op, info, materialize(left, info, trace), materialize(right, info, trace), divisor)
    return NUMERIC_CLASSES[info.name].of(value, trace.region)


def operator_type(op: str, left: Number, right: Number) -> TypeInfo:
    """The type in which `left op right` works; at least one of them is a Numeric, the other may be a Python number."""
    info = _operator_type(op, left, right)
    if info is None:
        raise _no_operator(op, left, right)
    return info


def _operator_type(op: str, left: Number, right: Number) -> TypeInfo | None:
    match op:
        case "/":
            return _common(left, right, promotion.quotient)
        case "&" | "|" | "^":
            info = _common(left, right, promotion.join)
            return None if info is not None and info.kind == "float" else info
        case "<<" | ">>":
            info = _common(left, left, promotion.arithmetic) if isinstance(left, Numeric) else TYPES["Int32"]
            return None if _is_float(left) or _is_float(right) else info
        case "<" | "<=" | ">" | ">=" | "==" | "!=":
            return _common(left, right, _comparison_type)
        case _:
            return _common(left, right, promotion.arithmetic)


def _shift(op: str, info: TypeInfo, left: Number, right: Number, trace: Trace) -> Any:
    shifted = materialize(left, info, trace)
    if isinstance(right, Numeric):
        value = arithmetic.shift(trace, op, info, shifted, right.ir_value(), right.info)
    elif right < 0:
        raise ValueError("negative shift count")
    else:
        value = arithmetic.shift_by_constant(trace, op, info, shifted, int(right))
    return NUMERIC_CLASSES[info.name].of(value, trace.region)


def _compare(op: str, left: Number, right: Number) -> Any:
    info = operator_type(op, left, right)
    if static := _static(left, right):
        return COMPARE_PYTHON[op](*static)
    trace = trace_of(left, right)
    if info.kind == "float" or not (isinstance(left, Numeric) and isinstance(right, Numeric)):
        exact = _exact_comparison(op, left, right, trace)
        if exact is not None:
            return exact
    value = arithmetic.comparison(trace, op, info, materialize(left, info, trace), materialize(right, info, trace))
    return NUMERIC_CLASSES["Boolean"].of(value, trace.region)


def _exact_comparison(op: str, left: Number, right: Number, trace: Trace) -> Any:
    """An integer compared with what its type, or the float beside it, cannot hold; None where nothing is lost."""
    if not _is_counted(left):
        left, op, right = right, _MIRRORED[op], left
    if not _is_counted(left) or isinstance(right, bool) or _is_counted(right):
        return None
    if isinstance(right, Numeric):
        if left.width <= 32:
            return None
        wide = TYPES["Float64"]
        value = arithmetic.mixed_comparison(trace, op, left.info, left.ir_value(), materialize(right, wide, trace))
        return NUMERIC_CLASSES["Boolean"].of(value, trace.region)
    if isinstance(right, int) and left.info.is_integer and left.info.holds(right):
        return None
    simpler = arithmetic.against_constant(op, left.info, right)
    if isinstance(simpler, bool):
        return NUMERIC_CLASSES["Boolean"](simpler)
    op, constant = simpler
    return _compare(op, _counted(left), constant)


def _is_counted(value: object) -> TypeGuard[Numeric]:
    """Whether it is a number of the program that counts: an integer or a truth value."""
    return isinstance(value, Numeric) and value.info.kind != "float"


def _comparison_type(left: str, right: str) -> str | None:
    """Integers and floats meet in Float64, where 32-bit integers are exact; equal kinds meet in their join."""
    kinds = {TYPES[left].kind, TYPES[right].kind}
    if "float" in kinds and len(kinds) > 1:
        return "Float64"
    return promotion.join(left, right)


def _is_dynamic(value: object) -> bool:
    return isinstance(value, Numeric) and value._region is not None


def _is_float(value: object) -> bool:
    return isinstance(value, float) or (isinstance(value, Numeric) and value.info.kind == "float")


def _counted(number: Numeric) -> Numeric:
    """A Boolean as the number that Python counts it as."""
    counted: Numeric = number.to(int) if number.info.kind == "bool" else number
    return counted


def _unary(emit: Callable[[Trace, TypeInfo, Value], Value], number: Numeric) -> Any:
    number = _counted(number)
    trace = trace_of(number)
    return type(number).of(emit(trace, number.info, number.ir_value()), trace.region)


def _power(base: Number, exponent: Number) -> Any:
    if isinstance(exponent, int) and not isinstance(exponent, bool) and 0 <= exponent <= 64:
        assert isinstance(base, Numeric), "one of the two is a run-time number"
        return _repeated_product(base, exponent)
    info = operator_type("**", base, exponent)
    if info.kind != "float":
        raise _no_operator("**", base, exponent)
    trace = trace_of(base, exponent)
    value = trace.value("math.powf", (materialize(base, info, trace), materialize(exponent, info, trace)), info.mlir)
    return NUMERIC_CLASSES[info.name].of(value, trace.region)


def _repeated_product(base: Numeric, exponent: int) -> Any:
    base = _counted(base)
    result: Any = type(base)(1)
    while exponent:
        if exponent & 1:
            result = result * base
        exponent >>= 1
        if exponent:
            base = base * base
    return result


def _no_operator(op: str, left: object, right: object) -> OperandTypeError:
    names = [type(v).__name__ for v in (left, right)]
    return OperandTypeError(
        f"no operator {op} for {names[0]} and {names[1]}",
        span=place(),
        found=f"{names[0]} {op} {names[1]}",
        expected="two numbers of types that the operator combines",
        instead=f"convert one of them first, for example .to({'Int32' if op in '<<>>&|^' else 'Float32'})",
    )

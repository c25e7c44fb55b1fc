"""Tensor values (`TensorSSA`): one rank-1 MLIR vector, whose elements follow its shape colexicographically.

Input: vectors that loads and constructors make. Output: vectors that stores take. The hierarchical shape is known
while tracing, so every change of shape is a choice of elements. Operators work element by element, in the types and
with the meaning that they have for numbers; shapes meet by NumPy's rule of broadcasting.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self, TypeAlias, cast

from triptych.cute.dynamic.static_values import element_count, positions_of, require_static
from triptych.cute.dynamic.traced_integers import ints, realize
from triptych.cute.memory.addresses import checks_bounds
from triptych.cute.memory.vectors import all_of, extract, extract_dynamic, join, pick, splat, vector_type
from triptych.cute.tensors.broadcasting import broadcast_positions, broadcast_shape
from triptych.cute.tensors.coordinates import check_coordinate, check_inside
from triptych.cute.tensors.reduction import Profile, ReductionOp, fold, plan_reduction
from triptych.cute.tracing.device import tracing
from triptych.cute.tracing.errors import StaticTensorError, TensorShapeError, TensorTruthError
from triptych.diagnostics.likely_mistakes import TENSOR_VALUES
from triptych.ir.handles import Value
from triptych.ir.types import type_text
from triptych.layout import Shape, crd2idx, make_layout, slice_and_offset, text
from triptych.layout.coordinates import has_underscore
from triptych.metastage.trace.errors import OperandTypeError
from triptych.metastage.trace.trace import Region, Trace, place
from triptych.metastage.values import arithmetic, conversion
from triptych.metastage.values.arithmetic import known_divisor
from triptych.metastage.values.coercion import declared_number
from triptych.metastage.values.numeric import leaked, operator_type
from triptych.metastage.values.operators import ForeignOperand, Operators
from triptych.metastage.values.promotion import TYPES, TypeInfo
from triptych.metastage.values.scalars import NUMERIC_CLASSES, Boolean, Numeric, Uint8, materialize, numeric_class

# Meta-stage, arithmetic on vectors: the emitters of scalar operators emit for every element of a vector at once.
# Input: a trace and a number of elements. Output: what stands in for the trace in `arithmetic` and `conversion`, so
# that an operator on tensors means, in every detail, what it means on numbers.

_SCALAR_SUFFIX = re.compile(r"\.(?=(?:i|f|bf)\d)")
"""Before the type in the name of an overloaded intrinsic, as in `llvm.fptosi.sat.i32.f32`."""


def lanes(trace: Trace, count: int) -> Trace:
    """The trace as emitters of operators see it when they work on vectors of `count` elements."""
    return cast(Trace, _Lanes(trace, count))


class _Lanes:
    """The part of a trace that emits operators."""

    def __init__(self, trace: Trace, count: int) -> None:
        self._trace = trace
        self._count = count
        self.builder = trace.builder
        self.contraction = trace.contraction
        self.kernel = None
        """Checks of vectors are made where they are emitted, as those of a host function."""

    def value(
        self, name: str, operands: Sequence[Any], result: str, attributes: Mapping[str, Any] | None = None
    ) -> Any:
        """One operation on vectors; constants are one number for all elements."""
        if name == "arith.constant":
            return splat(self._trace, self._trace.value(name, operands, result, attributes), self._count, result)
        if name == "llvm.call_intrinsic":
            attributes = {**(attributes or {}), "intrin": self._vector_intrinsic(attributes)}
        return self._trace.value(name, operands, vector_type(self._count, result), attributes)

    def operation(self, name: str, operands: Sequence[Any], attributes: Mapping[str, Any] | None = None) -> Any:
        """A run-time check holds when it holds for every element."""
        assert name == "cf.assert", "the only operation without a result is a check"
        holds = [all_of(self._trace, vector) for vector in operands]
        return self._trace.operation(name, holds, attributes=attributes)

    def _vector_intrinsic(self, attributes: Mapping[str, Any] | None) -> Any:
        name = (attributes or {})["intrin"].value
        return self.builder.string(_SCALAR_SUFFIX.sub(f".v{self._count}", name))


_COMPARISONS = frozenset({"<", "<=", ">", ">=", "==", "!="})
_LARGEST_PRODUCT = 64
"""Constant exponents up to this are products, as for numbers."""


_Operand: TypeAlias = "TensorSSA | Numeric | float"


class TensorSSA(ForeignOperand, Operators):
    """A tensor with the semantics of a value: operators make new ones, elements are read and never written."""

    __module__ = "triptych.cute"
    __slots__ = ("_region", "_value", "dtype", "shape")

    _called = "a tensor value"
    _looked_for = TENSOR_VALUES

    def __init__(self, value: object, shape: Shape, dtype: type[Numeric]) -> None:
        self._value: Any = value.ir_value() if hasattr(value, "ir_value") else value
        self._region: Region = tracing().region
        self.shape = require_static(shape)
        self.dtype = dtype
        self._check_type()

    def _check_type(self) -> None:
        found, expected = type_text(self._value.type), vector_type(self.size, self.dtype.info.mlir)
        if found != expected:
            raise OperandTypeError(
                "a tensor value is made of a vector of its elements",
                span=place(),
                found=f"an MLIR value of type {found} for {text(self.shape)} elements of {self.dtype.__name__}",
                expected=f"one of type {expected}",
                instead="`vector.bitcast` to that type, or `TensorSSA.from_elements(numbers, dtype, shape)`",
            )

    @classmethod
    def from_elements(cls, elements: Sequence[Any], dtype: type[Any], shape: Shape | None = None) -> Self:
        """A tensor of given numbers, in colexicographic order of its shape."""
        element, trace = numeric_class(dtype), tracing()
        vector = join(trace, [materialize(number, element.info, trace) for number in elements], element.info.mlir)
        return cls(vector, (len(elements),), element)._with_shape(shape)

    # reading ----------------------------------------------------------------------------------------------------
    @property
    def element_type(self) -> type[Numeric]:
        """The type of the elements."""
        return self.dtype

    @property
    def size(self) -> int:
        """The number of elements."""
        return element_count(self.shape)

    def ir_value(self, *, loc: object = None, ip: object = None) -> Any:
        """The MLIR value, a `vector<NxT>`."""
        region = self._region
        if not region.is_readable:
            raise leaked(self, region)
        return self._value

    def ir_value_int8(self) -> Any:
        """Booleans as memory has them: bytes of 0 and 1."""
        return self.to(Uint8).ir_value()

    def __extract_mlir_values__(self) -> list[Any]:
        return [self.ir_value()]

    def __new_from_mlir_values__(self, values: Sequence[Any]) -> Self:
        return type(self)(values[0], self.shape, self.dtype)

    def __static_part__(self) -> tuple[Any, ...]:
        return self.shape, self.dtype

    def __str__(self) -> str:
        return f"tensor_value<{vector_type(self.size, self.dtype.info.mlir)} o {self.shape}>"

    __repr__ = __str__

    def __bool__(self) -> bool:
        raise TensorTruthError(
            "a tensor is not one truth value",
            span=place(),
            found=str(self),
            expected="one Boolean",
            instead="any_(...) or all_(...), or where(condition, a, b) to choose element by element",
        )

    def __iter__(self) -> Any:
        raise OperandTypeError(
            "a tensor value is not iterated",
            span=place(),
            found=str(self),
            instead="`for i in range_constexpr(x.size)` and x[i]",
        )

    def __len__(self) -> int:
        raise OperandTypeError(
            "a tensor value has no len()",
            span=place(),
            found=str(self),
            expected="a sequence",
            instead="`v.size`, the number of elements, or `v.shape[0]`",
        )

    # choosing elements ------------------------------------------------------------------------------------------
    def __getitem__(self, coord: object, *, loc: object = None, ip: object = None) -> Any:
        """An element by its coordinate or number, or the part that a coordinate with None keeps."""
        where = ints(coord)
        check_inside(where, self.shape, self)
        layout = make_layout(self.shape)
        if has_underscore(where):
            part, offset = slice_and_offset(where, layout)
            return self._picked(positions_of(part, self._known(offset)), part.shape)
        index, trace = realize(crd2idx(where, layout)), tracing()
        element = self.dtype.info.mlir
        if isinstance(index, int):
            return self.dtype.of(extract(trace, self.ir_value(), index, element), trace.region)
        if checks_bounds():
            check_coordinate(where, layout, self)
        return self.dtype.of(extract_dynamic(trace, self.ir_value(), index.ir_value(), element), trace.region)

    def _known(self, offset: object) -> int:
        if isinstance(offset, int):
            return offset
        raise StaticTensorError(
            "a part of a tensor value is chosen while tracing",
            span=place(),
            found="a coordinate with None and a run-time number",
            expected="None and Python ints",
            instead="a tensor in memory, whose parts may be chosen at run time",
        )

    def reshape(self, shape: Shape) -> TensorSSA:
        """The same elements in the same order under another shape."""
        return self._with_shape(shape)

    def broadcast_to(self, target_shape: Shape) -> TensorSSA:
        """Repeat along missing modes and modes of size 1, by NumPy's rule."""
        if target_shape == self.shape:
            return self
        return self._picked(broadcast_positions(self.shape, target_shape), target_shape)

    def _with_shape(self, shape: Shape | None) -> Self:
        if shape is None:
            return self
        if element_count(require_static(shape)) != self.size:
            raise TensorShapeError(
                f"{self.size} elements cannot have the shape {text(shape)}",
                span=place(),
                found=f"shape {text(self.shape)} to shape {text(shape)}",
                expected=f"a shape of {self.size} elements",
            )
        return type(self)(self.ir_value(), shape, self.dtype)

    def _picked(self, positions: Sequence[int], shape: Shape) -> Self:
        vector = pick(tracing(), self.ir_value(), self.size, positions, self.dtype.info.mlir)
        return type(self)(vector, shape, self.dtype)

    # changing types ---------------------------------------------------------------------------------------------
    def to(self, dtype: type[Any], *, saturate: bool = False) -> TensorSSA:
        """Convert each element as a number converts: floats to integers truncate, narrower integers wrap.

        What is too large for a float type becomes its infinity or NaN, with `saturate` its largest number.
        """
        target, trace = numeric_class(dtype), lanes(tracing(), self.size)
        value = conversion.convert(trace, self.ir_value(), self.dtype.info, target.info, saturate=saturate)
        return TensorSSA(value, self.shape, target)

    def bitcast(self, dtype: type[Any]) -> TensorSSA:
        """The same bits as elements of another type; of another width, they are counted anew and lie in one mode."""
        target = numeric_class(dtype)
        if target.width == self.dtype.width:
            value = conversion.bitcast(lanes(tracing(), self.size), self.ir_value(), self.dtype.info, target.info)
            return TensorSSA(value, self.shape, target)
        count, rest = divmod(self.size * self.dtype.width, target.width)
        if rest:
            raise TensorShapeError(
                f"{self.size} elements of {self.dtype.width} bits are no whole number of {target.width} bits",
                span=place(),
                found=f"{self} as {target.__name__}",
                expected="an equal number of bits",
            )
        value = tracing().value("vector.bitcast", (self.ir_value(),), vector_type(count, target.info.mlir))
        return TensorSSA(value, (count,), target)

    # folding ----------------------------------------------------------------------------------------------------
    def reduce(self, op: ReductionOp | str, init_val: object, reduction_profile: Profile = 0) -> Any:
        """Fold the modes at which the profile has a number, starting from `init_val`; None keeps a mode.

        The result is a tensor of what is kept, or one number. `init_val` takes the element type; Booleans count as
        Int32. The order of the fold is fixed: see `tensor_ssa_reduction`.
        """
        op, trace = ReductionOp(op), tracing()
        info = operator_type("+", typed(self), typed(self))
        plan = plan_reduction(self.shape, reduction_profile)
        vector = fold(
            trace,
            self.to(NUMERIC_CLASSES[info.name]).ir_value(),
            plan,
            info.mlir,
            lambda count, left, right: op.combine(lanes(trace, count), info, left, right),
        )
        folded = TensorSSA(vector, plan.kept or (1,), NUMERIC_CLASSES[info.name])
        first = declared_number(init_val, folded.dtype, f"the initial value of a fold of {folded.dtype.__name__}")
        if plan.kept == ():
            value = op.combine(trace, info, first.ir_value(), folded[0].ir_value())
            return folded.dtype.of(value, trace.region)
        start = splat(trace, first.ir_value(), folded.size, info.mlir)
        value = op.combine(lanes(trace, folded.size), info, start, folded.ir_value())
        return TensorSSA(value, plan.kept, folded.dtype)

    def apply_op(self, op: Callable[[Any, Any], Any], other: object, flip: bool = False) -> Any:
        """`op(self, other)`, or `op(other, self)` when flipped."""
        return op(other, self) if flip else op(self, other)

    # operators --------------------------------------------------------------------------------------------------
    @staticmethod
    def _operate(op: str, left: object, right: object) -> Any:
        return power(left, right) if op == "**" else _binary(op, left, right)

    __hash__ = None  # type: ignore[assignment]  # `==` makes a tensor, so a tensor is no key

    if TYPE_CHECKING:  # every operator gives a tensor

        def __add__(self, other: _Operand) -> TensorSSA: ...
        def __radd__(self, other: _Operand) -> TensorSSA: ...
        def __sub__(self, other: _Operand) -> TensorSSA: ...
        def __rsub__(self, other: _Operand) -> TensorSSA: ...
        def __mul__(self, other: _Operand) -> TensorSSA: ...
        def __rmul__(self, other: _Operand) -> TensorSSA: ...
        def __truediv__(self, other: _Operand) -> TensorSSA: ...
        def __rtruediv__(self, other: _Operand) -> TensorSSA: ...
        def __floordiv__(self, other: _Operand) -> TensorSSA: ...
        def __rfloordiv__(self, other: _Operand) -> TensorSSA: ...
        def __mod__(self, other: _Operand) -> TensorSSA: ...
        def __rmod__(self, other: _Operand) -> TensorSSA: ...
        def __lshift__(self, other: _Operand) -> TensorSSA: ...
        def __rlshift__(self, other: _Operand) -> TensorSSA: ...
        def __rshift__(self, other: _Operand) -> TensorSSA: ...
        def __rrshift__(self, other: _Operand) -> TensorSSA: ...
        def __and__(self, other: _Operand) -> TensorSSA: ...
        def __rand__(self, other: _Operand) -> TensorSSA: ...
        def __or__(self, other: _Operand) -> TensorSSA: ...
        def __ror__(self, other: _Operand) -> TensorSSA: ...
        def __xor__(self, other: _Operand) -> TensorSSA: ...
        def __rxor__(self, other: _Operand) -> TensorSSA: ...
        def __lt__(self, other: _Operand) -> TensorSSA: ...
        def __le__(self, other: _Operand) -> TensorSSA: ...
        def __gt__(self, other: _Operand) -> TensorSSA: ...
        def __ge__(self, other: _Operand) -> TensorSSA: ...
        def __pow__(self, other: _Operand, modulus: None = None) -> TensorSSA: ...
        def __eq__(self, other: object) -> TensorSSA: ...  # type: ignore[override]
        def __ne__(self, other: object) -> TensorSSA: ...  # type: ignore[override]

    def __neg__(self) -> TensorSSA:
        return _unary(arithmetic.negative, self)

    def __pos__(self) -> TensorSSA:
        return _counted(self)

    def __invert__(self) -> TensorSSA:
        """All bits turned; of Booleans, as in NumPy, their negation (Python's `~True` is -2, which is true)."""
        ones = {"bool": True, "int": -1}.get(self.dtype.info.kind)
        return self ^ (self.dtype.info.bounds[1] if ones is None else ones)

    def __abs__(self) -> TensorSSA:
        return _unary(arithmetic.absolute, self)


class Elementwise:
    """Numbers and tensors that meet in one operation: emits for numbers as they are, for tensors element by element."""

    def __init__(self, *operands: object) -> None:
        shapes = [operand.shape for operand in operands if isinstance(operand, TensorSSA)]
        self.trace = tracing()
        self.shape: Shape | None = broadcast_shape(*shapes) if shapes else None
        self.emitter = lanes(self.trace, element_count(self.shape)) if self.shape is not None else self.trace

    # Any: a tensor only where there is a shape.
    def lower(self, operand: Any, info: TypeInfo) -> Any:
        """An operand as an MLIR value of the type, a number repeated for every element."""
        if self.shape is None:
            return materialize(operand, info, self.trace)
        if isinstance(operand, TensorSSA):
            return operand.to(NUMERIC_CLASSES[info.name]).broadcast_to(self.shape).ir_value()
        return splat(self.trace, materialize(operand, info, self.trace), element_count(self.shape), info.mlir)

    def wrap(self, value: Value, info: TypeInfo) -> Any:
        """The result as a number or a tensor."""
        dtype = NUMERIC_CLASSES[info.name]
        return dtype.of(value, self.trace.region) if self.shape is None else TensorSSA(value, self.shape, dtype)

    def emit(
        self,
        name: str,
        operands: Sequence[Any],
        info: TypeInfo,
        result: TypeInfo | None = None,
        attributes: Mapping[str, Any] | None = None,
    ) -> Any:
        """One operation on operands of one type; its result has the same type unless another is named."""
        result = result or info
        values = [self.lower(operand, info) for operand in operands]
        return self.wrap(self.emitter.value(name, values, result.mlir, attributes), result)


def typed(operand: object) -> Any:
    """What the table of promotion looks at: a number of the element type in place of a tensor."""
    return operand.dtype.constant(0) if isinstance(operand, TensorSSA) else operand


# Any: with an exponent that is an int, it is a tensor.
def power(base: Any, exponent: object) -> Any:
    """`base ** exponent`: a product for small constant exponents, otherwise the power of floats."""
    if not _is_operand(base) or not _is_operand(exponent):
        return NotImplemented
    if type(exponent) is int and 0 <= exponent <= _LARGEST_PRODUCT:
        return repeated_product(_counted(base), exponent)
    info = operator_type("**", typed(base), typed(exponent))
    if info.kind != "float":
        raise OperandTypeError(
            "integers have no run-time power",
            span=place(),
            found=f"{info.name} ** {info.name}",
            expected=f"an exponent from 0 to {_LARGEST_PRODUCT} that is known while tracing, or floats",
            instead="math.ipowi(base, exponent), or .to(Float32) of the base",
        )
    return Elementwise(base, exponent).emit("math.powf", (base, exponent), info)


def repeated_product(base: Operators, exponent: int) -> Any:
    """`base ** exponent` by squaring."""
    product: Any = None
    while exponent:
        if exponent & 1:
            product = base if product is None else product * base
        exponent >>= 1
        if exponent:
            base = base * base
    return base * 0 + 1 if product is None else product


def _binary(op: str, left: object, right: object) -> Any:
    if not _is_operand(left) or not _is_operand(right):
        return NotImplemented
    info, each = operator_type(op, typed(left), typed(right)), Elementwise(left, right)
    if op in ("<<", ">>"):
        return each.wrap(_shift(each, op, info, left, right), info)
    left, right = conversion.operand_bits(op, left, info), conversion.operand_bits(op, right, info)
    values = each.lower(left, info), each.lower(right, info)
    if op in _COMPARISONS:
        return each.wrap(arithmetic.comparison(each.emitter, op, info, *values), TYPES["Boolean"])
    divisor = known_divisor(each.trace, op, info, right)
    return each.wrap(arithmetic.binary(each.emitter, op, info, *values, divisor), info)


def _shift(each: Elementwise, op: str, info: TypeInfo, left: object, right: object) -> Any:
    shifted = each.lower(left, info)
    if not isinstance(right, int):
        counted = typed(right).info
        return arithmetic.shift(each.emitter, op, info, shifted, each.lower(right, counted), counted)
    if right < 0:
        raise ValueError("negative shift count")
    return arithmetic.shift_by_constant(each.emitter, op, info, shifted, right)


def _unary(emit: Callable[[Trace, TypeInfo, Any], Any], tensor: TensorSSA) -> TensorSSA:
    tensor = _counted(tensor)
    value = emit(lanes(tracing(), tensor.size), tensor.dtype.info, tensor.ir_value())
    return TensorSSA(value, tensor.shape, tensor.dtype)


def _counted(tensor: TensorSSA) -> TensorSSA:
    """Booleans as the numbers that Python counts them as."""
    return tensor.to(int) if tensor.dtype is Boolean else tensor


def _is_operand(value: object) -> bool:
    return isinstance(value, TensorSSA | Numeric | int | float)

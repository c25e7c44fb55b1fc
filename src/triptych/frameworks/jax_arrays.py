"""Arrays of JAX as functions are compiled for them: shape and type, and how a function sees them.

Input: arrays of JAX, or what stands for them while it traces. Output: fake tensors to compile for. Importing this
imports JAX.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from triptych.cute.runtime.fake_tensors import FakeTensor, make_fake_tensor, sym_int
from triptych.cute.runtime.tensor_kinds import implicit_kind
from triptych.diagnostics.tensor_errors import OperatorDeclarationError, UnsupportedTensorError
from triptych.frameworks.xla_structs import ELEMENT_TYPES
from triptych.interop.dlpack import array_type
from triptych.ir.errors import MissingPackageError
from triptych.metastage.arguments.specs import Parameter
from triptych.metastage.values.scalars import NUMERIC_CLASSES, Boolean, Numeric, is_number_class, numeric_class
from triptych.support.dataclass import dataclass
from triptych.support.source import Span
from triptych.support.wording import with_article

try:
    import jax as jax
    import jax.custom_batching
    import jax.export
    import jax.ffi
except ModuleNotFoundError as error:
    if error.name != "jax":  # it is here, and something that it needs is not
        raise
    missing = MissingPackageError(
        "`triptych.jax` needs JAX, which is not installed",
        found="no importable module jax",
        instead="pip install 'triptych[jax]'",
    )
    missing.name = "jax"
    raise missing from None

Tree: TypeAlias = Any
"""Arrays, or their shapes and types, in any of the containers that JAX takes apart."""
Value: TypeAlias = Any
"""An array of JAX, or what stands for one while it traces; JAX is not a dependency, so it has no types here."""

ELEMENTS = {array_type(element): element for element in ELEMENT_TYPES.values()}
"""Our element types by the names of JAX's."""
_ALIGNMENT = 16
"""Bytes that the memory of XLA's arrays is aligned to at least."""


@dataclass(frozen=True, slots=True)
class TensorSpec:
    """How a function sees an array of JAX.

    `mode` is the order of the modes: `(1, 0)` shows a matrix transposed, without copying. With `static` its shape is
    part of the program; else a call tells it. `divisibility` promises, for each mode of the array, a number that its
    extent is a multiple of, None or 1 for no promise; what is promised is checked at each call.
    """

    mode: tuple[int, ...] | None = None
    static: bool | None = None
    divisibility: tuple[int | None, ...] | None = None

    def behind(self, batch: int) -> TensorSpec:
        """The same for an array with modes of a batch in front."""
        if not batch:
            return self
        mode = None if self.mode is None else (*range(batch), *(each + batch for each in self.mode))
        divisibility = None if self.divisibility is None else (*(1,) * batch, *self.divisibility)
        return TensorSpec(mode, self.static, divisibility)


@dataclass(frozen=True, slots=True)
class ArrayFacts:
    """An input or an output without its elements, by the name of its parameter."""

    name: str
    shape: tuple[Any, ...]
    dtype: str
    spec: TensorSpec


def array_facts(name: str, array: Value, spec: TensorSpec | None, batch: int, span: Span | None) -> ArrayFacts:
    """Of an array with modes of a batch in front, which `spec` does not count."""
    element, shape, spec = ELEMENTS.get(str(array.dtype)), tuple(array.shape), spec or TensorSpec()
    if element is None:
        raise UnsupportedTensorError(
            f"elements of type {array.dtype} cannot be elements of a tensor",
            span=span,
            found=f"`{name}`, an array of {array.dtype}",
            expected=f"one of {', '.join(ELEMENTS)}",
        )
    rank = len(shape) - batch
    is_order = spec.mode is None or sorted(spec.mode) == list(range(rank))
    if not is_order or len(spec.divisibility or (1,) * rank) != rank:
        raise OperatorDeclarationError(
            f"the TensorSpec of `{name}` does not fit the array",
            span=span,
            found=f"{spec} for an array of shape {shape[batch:]}",
            expected="as many numbers as the array has modes; in `mode`, each from 0 once",
        )
    return ArrayFacts(name, shape, element, spec.behind(batch))


def fake_tensor(array: ArrayFacts, is_static: bool, span: Span | None) -> FakeTensor:
    """What a function is compiled for. `is_static`: where the spec does not say whether the shape is known."""
    is_static = is_static if array.spec.static is None else array.spec.static
    rank, spec = len(array.shape), array.spec
    if not is_static and spec.mode is None and spec.divisibility is None:
        return FakeTensor(implicit_kind(array.dtype, rank, rank - 1 if rank else None))
    if is_static and not all(isinstance(extent, int) for extent in array.shape):
        raise OperatorDeclarationError(
            f"the shape of `{array.name}` is part of the program, and is not known",
            span=span,
            found=f"the shape {array.shape}",
            expected="a shape of numbers",
            instead="`use_static_tensors=False`: a call tells the shape",
        )
    extents, strides = _static_layout(array) if is_static else _dynamic_layout(array)
    order = spec.mode or tuple(range(rank))
    return make_fake_tensor(
        NUMERIC_CLASSES[array.dtype],
        [extents[mode] for mode in order],
        [strides[mode] for mode in order],
        assumed_align=_ALIGNMENT,
    )


def _static_layout(array: ArrayFacts) -> tuple[list[Any], list[Any]]:
    """Extents and row-major strides."""
    strides = [1] * len(array.shape)
    for mode in reversed(range(len(array.shape) - 1)):
        strides[mode] = strides[mode + 1] * array.shape[mode + 1]
    return list(array.shape), strides


def _dynamic_layout(array: ArrayFacts) -> tuple[list[Any], list[Any]]:
    """Unknowns, with the multiples that are promised: each stride is a multiple of the extents behind it."""
    rank = len(array.shape)
    multiples = [each or 1 for each in array.spec.divisibility or (1,) * rank]
    strides: list[Any] = [1] * rank
    step = 1
    for mode in reversed(range(rank - 1)):
        step *= multiples[mode + 1]
        strides[mode] = sym_int(64, step)
    return [sym_int(32, multiple) for multiple in multiples], strides


def stand_in(parameter: Parameter) -> Any:
    """What a function is compiled for where its parameter is a number, which a call tells."""
    kind: type[Numeric] = parameter.declared
    if kind is Boolean:
        return False
    return 0.0 if kind.is_float else 0


def is_number(parameter: Parameter) -> bool:
    """Whether a parameter is annotated as a number."""
    return isinstance(parameter.declared, type) and is_number_class(parameter.declared)


def as_array(value: Value, parameter: Parameter, function: str, span: Span | None) -> Value:
    """An input as an array of JAX; for a parameter that is a number, one without modes and of its type."""
    try:
        array = jax.numpy.asarray(value)
    except (TypeError, ValueError):
        raise OperatorDeclarationError(
            f"{function} takes arrays, and what is given for `{parameter.name}` is none",
            span=span,
            found=with_article(type(value).__name__),
            expected="an array of JAX or of NumPy, or a number",
            instead=f"`{parameter.name}=...` where the call is declared: then it is part of the program",
        ) from None
    if not is_number(parameter):
        return array
    kind = parameter.declared
    if array.ndim:
        raise OperatorDeclarationError(
            f"`{parameter.name}` of {function} is a number",
            span=span,
            found=f"an array of shape {array.shape}",
            expected=f"one {kind.__name__}: a number, or an array without modes",
        )
    wide = f"float{max(kind.width, 32)}" if kind.is_float else array_type(kind.__name__)
    return array.astype(jax.dtypes.canonicalize_dtype(wide))


def cutlass_to_jax_dtype(dtype: type[Numeric]) -> Any:
    """JAX's element type for one of the language."""
    name = array_type(numeric_class(dtype).__name__)
    if name not in ELEMENTS:
        raise UnsupportedTensorError(
            f"JAX has no arrays of {dtype.__name__} that a call takes",
            found=dtype.__name__,
            expected=", ".join(ELEMENTS.values()),
        )
    return jax.numpy.dtype(name)


def spec_of(specs: Sequence[TensorSpec | None] | None, index: int) -> TensorSpec | None:
    """The spec of an array by its number; fewer specs than arrays leave the last ones as they are."""
    return None if specs is None or index >= len(specs) else specs[index]

"""Meta-stage, numbers on their way into memory: as the element type, or refused when they would not stay the same.

Floats take the precision of the tensor, as everywhere in numerical Python. Nothing else may change silently: a float
is not cut to an integer, and an integer does not wrap.
"""

from __future__ import annotations

from typing import Any

from triptych.cute.current_trace import tracing
from triptych.cute.errors import ElementTypeError
from triptych.metastage import promotion
from triptych.metastage.scalars import Numeric, lift
from triptych.metastage.tracing import place
from triptych.support.articles import with_article


def element_value(value: object, dtype: type[Numeric], what: object) -> Any:
    """A number as an MLIR value of the element type."""
    if isinstance(value, Numeric):
        require_kept(type(value), dtype, what)
    elif not isinstance(value, bool | int | float):
        raise ElementTypeError(
            f"{with_article(type(value).__name__)} cannot be an element",
            span=place(),
            found=f"{with_article(type(value).__name__)} for {what}",
            expected=f"a number that becomes {dtype.__name__}",
        )
    return lift(value, dtype.info, tracing())


def require_kept(source: type[Numeric], dtype: type[Numeric], what: object) -> None:
    """Refuse a conversion that could change the value; `what` names where it should go."""
    kinds = source.info.kind, dtype.info.kind
    if source is dtype or dtype.info.name in promotion.wider(source.info.name):
        return
    if dtype.info.kind == "float" and kinds[0] != "bool":
        return
    raise ElementTypeError(
        f"{source.__name__} does not become {dtype.__name__} by itself",
        span=place(),
        found=f"{source.__name__} for {what}",
        expected=dtype.__name__,
        instead=f"value.to({dtype.__name__})",
    )

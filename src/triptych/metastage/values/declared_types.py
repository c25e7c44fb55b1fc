"""Numbers where a type is declared: as numbers of the type, or refused when they would not stay the same.

Floats take the precision of the type, as everywhere in numerical Python. Nothing else may change silently: a float is
not cut to an integer, and an integer does not wrap. Stores, arguments, annotated variables and every function that
names a type ask here.
"""

from __future__ import annotations

from triptych.metastage.trace.errors import DeclaredTypeError
from triptych.metastage.trace.trace import place
from triptych.metastage.values import promotion
from triptych.metastage.values.describing import describe
from triptych.metastage.values.numeric import materialize, trace_of
from triptych.metastage.values.scalars import Numeric, as_number
from triptych.support.articles import with_article
from triptych.support.errors import TriptychError

Error = type[TriptychError]


def declared_number(value: object, dtype: type[Numeric], what: object, error: Error = DeclaredTypeError) -> Numeric:
    """A number as a run-time number of the type; `what` names where it goes, `error` is how it is refused."""
    number = as_number(value)
    if isinstance(number, Numeric):
        require_kept(type(number), dtype, what, error)
    elif not isinstance(number, bool | int | float):
        raise error(
            f"{with_article(type(value).__name__)} is no {dtype.__name__}",
            span=place(),
            found=f"{describe(value)} for {what}",
            expected=f"a number that becomes {dtype.__name__}",
        )
    trace = trace_of(number)
    return dtype.of(materialize(number, dtype.info, trace), trace.region)


def require_kept(source: type[Numeric], dtype: type[Numeric], what: object, error: Error = DeclaredTypeError) -> None:
    """Refuse a conversion that could change the value."""
    if is_kept(source, dtype):
        return
    raise error(
        f"{source.__name__} does not become {dtype.__name__} by itself",
        span=place(),
        found=f"{source.__name__} for {what}",
        expected=dtype.__name__,
        instead=f"value.to({dtype.__name__})",
    )


def is_kept(source: type[Numeric], dtype: type[Numeric]) -> bool:
    """Whether every number of a type is one of another, but for the precision of floats."""
    if source is dtype or dtype.info.name in promotion.wider(source.info.name):
        return True
    return dtype.info.kind == "float" and source.info.kind != "bool"

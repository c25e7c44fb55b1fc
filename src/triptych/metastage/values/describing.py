"""Values as errors name them: the type of a run-time number, a Python number itself, an aggregate by its parts."""

from __future__ import annotations

from triptych.metastage.values.aggregates import as_expression, is_dynamic_expression, static_part, take_apart
from triptych.metastage.values.promotion import PYTHON_NUMBERS
from triptych.metastage.values.scalars import Numeric
from triptych.support.articles import with_article


def describe(value: object) -> str:
    """A value as an error names it."""
    if isinstance(value, Numeric):
        return type(value).__name__
    if type(value) in PYTHON_NUMBERS:
        return f"the Python {type(value).__name__} {value!r}"
    if value is None:
        return "None"
    if is_dynamic_expression(value) and static_part(as_expression(value)) is not None:
        return str(value)
    parts = take_apart(value)
    if parts is not None:
        return f"{type(value).__name__} of ({', '.join(describe(p) for p in parts.values)})"
    kind = with_article(type(value).__name__)
    return f"{kind} ({value!r})" if isinstance(value, str) else kind

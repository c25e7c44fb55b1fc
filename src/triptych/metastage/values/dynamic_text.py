"""Text of run-time values: what an f-string with a run-time number is while the function is traced.

People read it, in what is printed, logged or raised, with `?` for the number. The program learns nothing of it.
"""

from __future__ import annotations

from typing import Any, NoReturn

from triptych.metastage.trace.errors import StaticRequiredError
from triptych.support.errors import TriptychError


class Refused:
    """A value that a program may hold; what it may not do with it, as to return it, raises `refusal`."""

    __slots__ = ()

    refusal: TriptychError


class DynamicText(Refused):
    """A text that shows a run-time value. It can be shown and joined to others; any other use is `refusal`."""

    __slots__ = ("_text", "refusal")

    refusal: StaticRequiredError

    def __init__(self, text: str, refusal: StaticRequiredError) -> None:
        self._text = text
        self.refusal = refusal

    @property  # type: ignore[misc]
    def __class__(self) -> type[str]:  # type: ignore[override]
        return str

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return repr(self._text)

    def __format__(self, spec: str) -> str:
        return format(self._text, spec)

    def __add__(self, other: object) -> DynamicText:
        return DynamicText(f"{self._text}{self._joined(other)}", self.refusal)

    def __radd__(self, other: object) -> DynamicText:
        return DynamicText(f"{self._joined(other)}{self._text}", self.refusal)

    def _joined(self, other: object) -> str:
        if isinstance(other, str):
            return str(other)
        raise TypeError(f'can only concatenate str (not "{type(other).__name__}") to str')

    def _refuse(self, *_: object, **__: object) -> NoReturn:
        raise self.refusal

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("__") and name in vars(str):
            raise self.refusal
        raise AttributeError(f"'str' object has no attribute '{name}'")

    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __contains__ = _refuse
    __hash__ = __bool__ = __len__ = __iter__ = __getitem__ = _refuse
    __mod__ = __rmod__ = __mul__ = __rmul__ = _refuse

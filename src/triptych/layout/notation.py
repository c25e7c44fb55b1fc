"""Notation of shapes, strides, layouts and swizzles, read from text.

Input: text such as `(4,(2,?{div=4})):(1,(4,1@0))`. Output: nested tuples of integers.
`(4)` is a tuple of one mode and `4` is an integer: the algebra tells them apart, so the notation does.
"""

from __future__ import annotations

import re
from typing import Any, NoReturn

from triptych.layout.basis import Ratio, ScaledBasis
from triptych.layout.errors import NotationError
from triptych.layout.tuples import IntTuple, Stride, compact_stride
from triptych.layout.unknowns import sym_int

_TOKEN = re.compile(r"\s*(-?\d+|\?(?:\{[^}]*\})?|S<[^>]*>|[()\[\],:;@_/o])")
_HINT = re.compile(r"i64|i32|div=\d+")


class Reader:
    """A cursor over the tokens of one text."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = self._tokens()
        self.position = 0

    def _tokens(self) -> list[str]:
        tokens, position = [], 0
        while self.text[position:].strip():
            found = _TOKEN.match(self.text, position)
            if found is None:
                self.fail(f"cannot read {self.text[position:].strip()!r}")
            tokens.append(found.group(1))
            position = found.end()
        return tokens

    def fail(self, reason: str) -> NoReturn:
        """Refuse the text, saying why."""
        raise NotationError(
            "this is not in the layout notation",
            found=f"{self.text!r}: {reason}",
            expected="for example (4,8):(8,1), 8:?{div=4}, S<3,4,3> o 0 o (8,8):(8,1)",
        )

    def peek(self) -> str:
        """The next token, or nothing at the end."""
        return self.tokens[self.position] if self.position < len(self.tokens) else ""

    def take(self, *wanted: str) -> str:
        """The next token, which must be one of those wanted when any are given."""
        token = self.peek()
        if not token or (wanted and token not in wanted):
            self.fail(f"expected {' or '.join(wanted) or 'more'} before {token or 'the end'!r}")
        self.position += 1
        return token

    def skip(self, token: str) -> bool:
        """Step over a token if it is next."""
        found = self.peek() == token
        self.position += found
        return found

    def finish(self) -> None:
        """Refuse what is left over."""
        if self.peek():
            self.fail(f"nothing may follow at {self.peek()!r}")

    def nested(self, *, lower: int | None) -> Any:
        """A nested tuple; `lower` is what its unknowns are known to be at least."""
        if not self.skip("("):
            return self._leaf(lower)
        items: list[Any] = []
        while not self.skip(")"):
            items.append(self.nested(lower=lower))
            if self.peek() != ")":
                self.take(",")
        return tuple(items)

    def _leaf(self, lower: int | None) -> Any:
        token = self.take()
        if token == "_":
            return None
        value: Any
        if token.startswith("?"):
            value = self._unknown(token, lower)
        elif token.lstrip("-").isdigit():
            value = int(token)
        else:
            self.fail(f"expected an integer before {token!r}")
        if self.skip("/"):
            value = Ratio(value, int(self.take()))
        path: list[int] = []
        while self.skip("@"):
            path.insert(0, int(self.take()))
        return ScaledBasis(value, tuple(path)) if path else value

    def _unknown(self, token: str, lower: int | None) -> Any:
        hints = _HINT.findall(token)
        if re.sub(r"[\s,]", "", token[2:-1]) != "".join(hints):
            self.fail(f"unknown hint in {token!r}")
        divisors = [int(hint[4:]) for hint in hints if hint.startswith("div=")]
        return sym_int(64 if "i64" in hints else 32, divisors[0] if divisors else 1, lower=lower)

    def layout(self) -> tuple[IntTuple, Stride]:
        """A shape and its stride; a missing stride is the compact one."""
        shape = self.nested(lower=1)
        return (shape, self.nested(lower=None) if self.skip(":") else compact_stride(shape))

    def swizzle(self) -> tuple[int, int, int]:
        """The three numbers of `S<b,m,s>`."""
        numbers = re.fullmatch(r"S<\s*(\d+)\s*,\s*(\d+)\s*,\s*(-?\d+)\s*>", self.take())
        if numbers is None:
            self.fail("a swizzle is written S<bits,base,shift>")
        bits, base, shift = map(int, numbers.groups())
        return bits, base, shift


def read_layout(text: str) -> tuple[IntTuple, Stride]:
    """The shape and the stride written in a text."""
    reader = Reader(text)
    layout = reader.layout()
    reader.finish()
    return layout


def read_tuple(text: str) -> Any:
    """The nested tuple written in a text; its unknowns may be any integer."""
    reader = Reader(text)
    value = reader.nested(lower=None)
    reader.finish()
    return value

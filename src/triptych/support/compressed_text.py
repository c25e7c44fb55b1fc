"""Compressed text that is read rarely and lives long: the LLVM IR of a compiled function, a megabyte or more."""

from __future__ import annotations

import zlib


class CompressedText:
    """A text that is small while nobody looks at it."""

    __slots__ = ("_bytes", "_text")

    def __init__(self, text: str) -> None:
        self._text: str | None = text
        self._bytes = b""

    def store(self) -> None:
        """From now on keep it compressed: a tenth to a third of its length, at 100 MB and more a second."""
        if self._text is not None:
            self._bytes = zlib.compress(self._text.encode(), 1)
            self._text = None

    def __str__(self) -> str:
        return zlib.decompress(self._bytes).decode() if self._text is None else self._text

"""Wording of messages: the indefinite article before a type name, the known name closest to one that was typed."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from pathlib import Path


def with_article(name: str) -> str:
    """`an Int32`, `a Float32`. A name with `U` is read as `Uint32` is: a `you`."""
    return f"{'an' if name[:1].lower() in 'aeio' else 'a'} {name}"


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name most like `name`, ignoring case; None when nothing is close enough to help."""
    by_folded = {candidate.casefold(): candidate for candidate in known}
    matches = difflib.get_close_matches(name.casefold(), by_folded, n=1)
    return by_folded[matches[0]] if matches else None


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A ready sentence, or nothing: an unhelpful guess is worse than none."""
    guess = nearest(name, known)
    return f"did you mean {guess!r}?" if guess else ""


def did_you_mean_file(path: Path) -> str:
    """The same for a file that is not there: one beside it that is called almost so, not only by its suffix."""
    beside = [other.name for other in path.parent.iterdir() if other.name != path.name] if path.parent.is_dir() else []
    guess = nearest(path.name, [name for name in beside if nearest(path.stem, [Path(name).stem])])
    return f"did you mean {str(path.with_name(guess))!r}?" if guess else ""

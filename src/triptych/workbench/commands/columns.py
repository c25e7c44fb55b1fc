"""Two texts beside each other, so that a stage can be read against the one before it."""

from __future__ import annotations

from itertools import zip_longest

SEPARATOR = " │ "
NARROWEST_COLUMN = 48
CONTINUATION = "  "


def titled(title: str, text: str) -> str:
    """A text under its heading."""
    return f"── {title} ".ljust(40, "─") + f"\n{text.rstrip()}\n"


def beside(left: tuple[str, str], right: tuple[str, str], width: int) -> str:
    """Two titled texts in columns, or under each other when `width` is too small to read two columns."""
    room = width - len(SEPARATOR)
    if room < 2 * NARROWEST_COLUMN:
        return titled(*left) + "\n" + titled(*right)
    longest = max(map(len, left[1].expandtabs(4).splitlines()), default=0)
    left_width = min(max(longest, NARROWEST_COLUMN), room // 2)
    right_width = room - left_width
    rows = zip_longest(_column(left, left_width), _column(right, right_width), fillvalue="")
    return "".join(f"{a:<{left_width}}{SEPARATOR}{b}".rstrip() + "\n" for a, b in rows)


def _column(titled_text: tuple[str, str], width: int) -> list[str]:
    title, text = titled_text
    lines = [f"── {title} ".ljust(width, "─")]
    for line in text.rstrip().expandtabs(4).splitlines():
        lines += _wrapped(line, width)
    return lines


def _wrapped(line: str, width: int) -> list[str]:
    """A long line continues below itself, a little deeper than it started: cutting it would hide code."""
    indent = line[: len(line) - len(line.lstrip())][: width // 2]
    rows, prefix = [], ""
    while len(prefix) + len(line) > width:
        end = _break(line, width - len(prefix), len(indent) if not prefix else 0)
        rows.append(prefix + line[:end].rstrip())
        line, prefix = line[end:].lstrip(), indent + CONTINUATION
    return [*rows, prefix + line]


def _break(line: str, room: int, least: int) -> int:
    """Where to break: after the last blank that leaves the row at least half full, else anywhere."""
    blank = line.rfind(" ", least + room // 2, room + 1)
    return blank if blank > 0 else room

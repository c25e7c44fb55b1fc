"""The table of types in `docs/guides/number-types.md`, made from the data that the compiler uses."""

from __future__ import annotations

from triptych.metastage.values import promotion

SHOWN = (
    *("Boolean", "Int8", "Int32", "Int64", "Uint8", "Uint32", "Uint64"),
    *("Float8E4M3FN", "Float16", "BFloat16", "Float32", "Float64"),
)
"""One of each behaviour: the whole table has 625 entries, and the widths between follow the same rule."""


def promotion_table() -> str:
    """The type of `a + b` for each pair, as Markdown."""
    head = ["+", *SHOWN]
    rows = [[f"**{left}**", *(promotion.arithmetic(left, right) or "-" for right in SHOWN)] for left in SHOWN]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in [head, ["---"] * len(head), *rows])

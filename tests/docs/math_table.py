"""The tables of functions in `docs/guides/mathematics.md`, made from the data that the laws measure."""

from __future__ import annotations

from tests.support.mathematics import OTHERS, PROMISES


def math_tables() -> str:
    """Functions of one number with their errors, and the others, as Markdown."""
    accuracy = [[f"`{p.name}`", p.formula, p.domain, _accuracy(p.ulp)] for p in PROMISES]
    others = [[f"`{name}`", meaning] for name, meaning in OTHERS.items()]
    return (
        f"{_table(['function', 'meaning', 'domain', 'error'], accuracy)}\n\n{_table(['function', 'meaning'], others)}"
    )


def _accuracy(ulp: float) -> str:
    return {0: "exact", 0.5: "correctly rounded"}.get(ulp, f"at most {ulp:g} ulp")


def _table(head: list[str], rows: list[list[str]]) -> str:
    return "\n".join("| " + " | ".join(cells) + " |" for cells in [head, ["---"] * len(head), *rows])

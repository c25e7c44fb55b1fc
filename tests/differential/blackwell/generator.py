"""GEMMs of Blackwell, out of decisions that a kernel can have together."""

from __future__ import annotations

from tests.differential.blackwell.program import KINDS, GemmProgram
from tests.differential.choices import Choices

_ORDERS = ("early", "late", *(f"seed:{seed}" for seed in range(10)))


def generate(choices: Choices) -> GemmProgram:
    """A program of few tiles: the compiler works more than the kernel."""
    kind = choices.choice(tuple(KINDS))
    a, _, _, vector = KINDS[kind]
    ctas = 1 if vector else choices.choice((1, 2))
    rows = CTA_ROWS if vector else choices.choice((128, 64) if ctas == 1 else (256, 128))
    columns = choices.choice((128, 256) if vector else (32, 64, 96, 128, 256))
    wide = 1 if vector else choices.choice((1, 1, 2))
    tall = ctas if vector else ctas * choices.choice((1, 1, 2))
    tiles = tall // ctas * choices.integer(1, 3), wide * choices.integer(1, 2)
    sums = choices.choice((1, 2)) if columns * 2 <= 256 else 1
    majors = ("k", "k")
    if a.width >= 8 and not vector:
        # TF32 along N comes in rows of 32.
        along_n = ("k", "n") if a.width < 32 or columns // ctas % 32 == 0 else ("k",)
        majors = choices.choice(("k", "m")), choices.choice(along_n)
    result = "wide" if kind in ("s8", "u8") else choices.choice(("wide", "f16", "bf16"))
    return GemmProgram(
        kind=kind,
        ctas=ctas,
        shape=(rows, columns),
        cluster=(tall, wide),
        tiles=tiles,
        steps=choices.integer(1, 4),
        stages=choices.integer(1, 3 if vector and columns == 256 else 4),  # of shared memory
        sums=sums,
        roles=choices.choice((2, 1)),
        schedule=choices.choice(("grid", "static", "clc")),
        by_tma=choices.boolean(0.5),
        result=result,
        major=choices.choice(("n", "m")),
        majors=majors,
        factor=choices.integer(1, 3),
        order=choices.choice(_ORDERS),
    )


CTA_ROWS = 128

"""Draws the pictures of the guides "Layouts by picture" and "Tensor cores".

Input: nothing. Output: the SVG files beside the guides; the tests compare them with what the code draws now.
"""

from __future__ import annotations

from pathlib import Path

from triptych.kernel_ir.dialects.mma import WARP_MMAS
from triptych.layout import E, Layout, bank_svg, layout_svg, make_layout_tv, parse, swizzle_svg, thread_value_svg

IMAGES = Path(__file__).with_name("images")
COLUMN = Layout(32, E(0))


def pictures() -> dict[str, str]:
    """The SVG of every picture, by file name."""
    tile, threads_and_values = make_layout_tv(Layout.parse("(4,8):(8,1)"), Layout.parse("(2,2):(2,1)"))
    instruction = WARP_MMAS["m16n8k16.f32.f16.f16.f32"]
    return {
        "mma-left.svg": thread_value_svg(instruction.tv_a, (16, 16)),
        "mma-sums.svg": thread_value_svg(instruction.tv_c, (16, 8)),
        "layout-row-major.svg": layout_svg(Layout.parse("(4,8):(8,1)")),
        "layout-hierarchical.svg": layout_svg(Layout.parse("((2,2),(4,2)):((1,8),(2,16))")),
        "layout-thread-value.svg": thread_value_svg(threads_and_values, tile),
        "layout-swizzle.svg": swizzle_svg(parse("S<3,0,3> o 0 o (8,8):(8,1)")),
        "layout-banks-plain.svg": bank_svg(parse("(32,32):(32,1)"), COLUMN),
        "layout-banks-padded.svg": bank_svg(parse("(32,32):(33,1)"), COLUMN),
        "layout-banks-swizzled.svg": bank_svg(parse("S<5,0,5> o 0 o (32,32):(32,1)"), COLUMN),
    }


def main() -> None:
    """Write every picture."""
    IMAGES.mkdir(exist_ok=True)
    for name, svg in pictures().items():
        (IMAGES / name).write_text(svg + "\n")


if __name__ == "__main__":
    main()

"""First picture of the README: a kernel without its barrier, and what `triptych check` says of it.

`python -m docs.site.first_screen` runs the checker on the kernel and writes the picture; a test compares the two.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from html import escape
from pathlib import Path

PICTURE = Path(__file__).resolve().parents[1] / "images/first-screen.svg"
PROGRAM = """\
import numpy as np
import triptych as tt
from triptych import cute

@tt.kernel
def reverse(x: cute.Tensor, y: cute.Tensor):
    smem = cute.SmemAllocator()
    tile = smem.allocate_tensor(tt.Float32, cute.make_layout(128))
    i, _, _ = cute.arch.thread_idx()
    tile[i] = x[i]
    y[i] = tile[127 - i]

@tt.jit
def launch(x: cute.Tensor, y: cute.Tensor):
    reverse(x, y).launch(grid=1, block=128)

x = np.arange(128, dtype=np.float32)
launch(x, np.empty_like(x))
"""
_LINE, _COLUMN, _EDGE = 18, 7.25, 16
_KEYWORDS = frozenset({"import", "as", "from", "def", "return", "for", "in", "if"})
_STYLE = """\
text { font: 12px ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; white-space: pre; fill: #1f2328; }
.panel { fill: #f6f8fa; stroke: #d0d7de; } .word { fill: #8250df; } .name { fill: #0550ae; } .quiet { fill: #57606a; }
.fault { fill: #cf222e; font-weight: 600; } .fix { fill: #116329; font-weight: 600; }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3; } .panel { fill: #161b22; stroke: #30363d; } .word { fill: #d2a8ff; } .name { fill: #79c0ff; }
.quiet { fill: #9da7b1; } .fault { fill: #ff7b72; } .fix { fill: #7ee787; }
}"""


def checked() -> list[tuple[str, str]]:
    """What the checker prints of the program, as far as a glance goes: both accesses and what to write, with styles."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "reverse.py").write_text(PROGRAM, encoding="utf-8")
        command = [sys.executable, "-m", "triptych", "check", "reverse.py"]
        finished = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    lines = finished.stdout.splitlines()
    caller = next(number for number, line in enumerate(lines) if line.startswith("   = both called from"))
    fix = next(line for line in lines if line.startswith("   = write:"))
    return [
        ("", "$ triptych check reverse.py"),
        *(("fault", line) for line in _folded(lines[0])),
        *(("quiet" if "-->" in line else "fault" if "^" in line else "", line) for line in lines[1:caller]),
        ("fix", fix),
        ("fault", lines[-1]),
    ]


def _folded(line: str, width: int = 66) -> list[str]:
    """A long line in two, the second one indented."""
    cut = line.rfind(" ", 0, width)
    return [line[:cut], "  " + line[cut + 1 :]] if len(line) > width else [line]


def picture() -> str:
    """The two panels side by side, in light and dark."""
    code, terminal = PROGRAM.rstrip().splitlines(), checked()
    height = _LINE * max(len(code), len(terminal)) + 2 * _EDGE
    widths = [max(map(len, lines)) * _COLUMN + 2 * _EDGE for lines in (code, [line for _, line in terminal])]
    panels = [_panel(0, widths[0], height, [_code_line(line) for line in code])]
    panels.append(_panel(widths[0] + _EDGE, widths[1], height, [_styled(*line) for line in terminal]))
    whole = sum(widths) + _EDGE
    title = "<title>A kernel without its barrier, and what triptych check says of it</title>"
    size = f'viewBox="0 0 {whole:.0f} {height}" width="{whole:.0f}" height="{height}"'
    content = f"{title}\n<style>\n{_STYLE}\n</style>\n{''.join(panels)}"
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size}>\n{content}</svg>\n'


def _panel(left: float, width: float, height: int, lines: list[str]) -> str:
    box = f'<rect class="panel" x="{left + 0.5:g}" y="0.5" width="{width - 1:g}" height="{height - 1}" rx="6"/>\n'
    texts = (
        f'<text x="{left + _EDGE:g}" y="{_EDGE + _LINE * (row + 0.75):g}">{line}</text>\n'
        for row, line in enumerate(lines)
        if line
    )
    return box + "".join(texts)


def _code_line(line: str) -> str:
    styles = ("word" if word in _KEYWORDS else "name" if word.startswith("@") else "" for word in line.split(" "))
    return " ".join(map(_styled, styles, line.split(" ")))


def _styled(style: str, text: str) -> str:
    return f'<tspan class="{style}">{escape(text)}</tspan>' if style else escape(text)


if __name__ == "__main__":
    PICTURE.write_text(picture(), encoding="utf-8")
    print(f"wrote {PICTURE}")

"""Drawing a grid as text and as LaTeX.

Input: a grid. Output: lines for a terminal, or a TikZ picture.
"""

from __future__ import annotations

from triptych.layout.picture import Grid

_LATEX_TINTS = 8
"""Steps of colour; print tells no more apart."""


def draw_text(grid: Grid) -> str:
    """A ruled table with row and column numbers."""
    width = max(len(cell.label) for row in grid.cells for cell in row)
    width = max(width, len(str(grid.columns - 1)))
    margin = len(str(grid.rows - 1))
    rule = " " * margin + " +" + ("-" * (width + 2) + "+") * grid.columns
    numbers = " " * (margin + 2) + "".join(f" {column:>{width}}  " for column in range(grid.columns))
    lines = [numbers.rstrip(), rule]
    for number, row in enumerate(grid.cells):
        lines.append(f"{number:>{margin}} |" + "".join(f" {cell.label:>{width}} |" for cell in row))
        lines.append(rule)
    return "\n".join(lines)


def draw_latex(grid: Grid) -> str:
    """A TikZ picture, one node per cell."""
    lines = [
        f"% {grid.title}",
        r"\begin{tikzpicture}[x={(0cm,-1cm)},y={(1cm,0cm)},every node/.style={minimum size=1cm,outer sep=0pt}]",
    ]
    for row, cells in enumerate(grid.cells):
        for column, cell in enumerate(cells):
            fill = "white" if cell.colour is None else _tint(cell.colour, grid.cyclic)
            frame = "draw,very thick" if cell.framed else "draw"
            lines.append(rf"\node[fill={fill},{frame}] at ({row},{column}) {{{cell.label}}};")
    numbers = [rf"\node at ({row},-1) {{\Large\texttt{{{row}}}}};" for row in range(grid.rows)]
    numbers += [rf"\node at (-1,{column}) {{\Large\texttt{{{column}}}}};" for column in range(grid.columns)]
    return "\n".join([*lines, *numbers, r"\end{tikzpicture}"])


def _tint(colour: float, cyclic: bool) -> str:
    step = min(int(colour * _LATEX_TINTS), _LATEX_TINTS - 1)
    if cyclic:
        return f"{('red', 'orange', 'yellow', 'lime', 'green', 'cyan', 'blue', 'violet')[step]}!30"
    return f"blue!{10 + 6 * step}"

"""Memory access pictures, one SVG for each line: the most expensive request of a warp, and its tile.

For shared memory: the words that the warp touches, by row of 128 bytes and by bank; its threads, by the bank that each
asks first; how many different words each bank gives. For global memory: words by sector, and the threads by sector.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from triptych.layout.picture import Cell, Grid, Panel, bar_panel, grid_panel, page
from triptych.ptxsim.counting import BANKS, SECTOR, WORD, CountedLaunch, Request, words_of
from triptych.ptxsim.operands import WARP
from triptych.ptxsim.reading import Instruction, Line

_MOST_ROWS = 64
"""Of the words of a request; the rest of a very scattered one is left out."""
_EMPTY = Cell("", None, "")


def write_pictures(launch: CountedLaunch, folder: Path) -> list[Path]:
    """A file for each line with a request, of the first block that ran. Their names say kernel, line and memory."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for (line, space), (instruction, request) in _dearest(launch).items():
        path = folder / f"{launch.kernel.name}-line{line.number}-{space}.svg"
        path.write_text(picture(request, f"{Path(line.file).name}:{line.number}", instruction), encoding="utf-8")
        written.append(path)
    return written


def picture(request: Request, place: str, instruction: Instruction | None = None) -> str:
    """One request of a warp as an SVG document."""
    what = "" if instruction is None else f", {instruction.name}.{'.'.join(instruction.modifiers)}"
    warp = int(request.threads[0]) // WARP
    head = f"{place}{what}: warp {warp}, {request.width} bytes of each of {len(request.threads)} threads"
    panels = list(_shared(request, head) if request.space == "shared" else _global(request, head))
    return page(panels, vertical=True)


def _dearest(launch: CountedLaunch) -> dict[tuple[Line, str], tuple[Instruction, Request]]:
    found: dict[tuple[Line, str], tuple[Instruction, Request]] = {}
    for block in launch.blocks:
        for place, request in sorted(block.worst.items()):
            line = launch.kernel.lines[place]
            if line is None:
                continue
            known = found.get((line, request.space))
            if known is None or request.cost > known[1].cost:
                found[line, request.space] = launch.kernel.instructions[place], request
    return found


def _shared(request: Request, head: str) -> Iterator[Panel]:
    threads = _threads_of_words(request)
    parts, words = words_of(request)
    in_bank = np.bincount(words % BANKS, minlength=BANKS)
    first = min(words) // BANKS
    rows = sorted({int(word) // BANKS for word in words})[:_MOST_ROWS]
    cells = tuple(
        tuple(_word(row * BANKS + bank, threads, int(in_bank[bank])) for bank in range(BANKS)) for row in rows
    )
    passes = f"{request.cost} wavefronts, at best {len(set(parts.tolist()))}"
    yield grid_panel(Grid(f"{head}: {passes}; columns are banks, rows 128 bytes from {first * BANKS * WORD}", cells))
    asked = [int(address) // WORD % BANKS for address in request.addresses]
    of_threads = [
        Cell(str(bank), float(in_bank[bank]) / WARP, f"thread {int(thread)}: bank {bank}, {int(in_bank[bank])} words")
        for thread, bank in zip(request.threads, asked, strict=True)
    ]
    yield grid_panel(Grid("threads: the first bank of each; dark: many words of it are wanted", (tuple(of_threads),)))
    yield bar_panel("different words of each bank", in_bank.tolist(), "bank")


def _word(word: int, threads: dict[int, list[int]], words_of_bank: int) -> Cell:
    if word not in threads:
        return _EMPTY
    named = threads[word]
    label = str(named[0]) if len(named) == 1 else f"{named[0]}+{len(named) - 1}"
    note = f"byte {word * WORD}, bank {word % BANKS}: threads {', '.join(map(str, named))}"
    return Cell(label, min(words_of_bank / BANKS, 1.0), note)


def _global(request: Request, head: str) -> Iterator[Panel]:
    threads = _threads_of_words(request)
    each = SECTOR // WORD
    sectors = sorted({word // each for word in threads})
    rows = []
    for sector in sectors[:_MOST_ROWS]:
        used = sum(sector * each + i in threads for i in range(each))
        rows.append(tuple(_word_of_sector(sector * each + i, threads, used / each) for i in range(each)))
    yield grid_panel(Grid(f"{head}: {request.cost} sectors; rows are sectors of 32 bytes", tuple(rows)))


def _word_of_sector(word: int, threads: dict[int, list[int]], used: float) -> Cell:
    if word not in threads:
        return _EMPTY
    named = threads[word]
    label = str(named[0]) if len(named) == 1 else f"{named[0]}+{len(named) - 1}"
    return Cell(label, 1 - used, f"threads {', '.join(map(str, named))}")


def _threads_of_words(request: Request) -> dict[int, list[int]]:
    found: dict[int, list[int]] = defaultdict(list)
    for thread, address in zip(request.threads, request.addresses, strict=True):
        for step in range(max(request.width // WORD, 1)):
            found[int(address) // WORD + step].append(int(thread))
    return dict(found)

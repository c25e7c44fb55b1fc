"""Small kernels that are all about order: threads exchange values through shared memory, and every exchange is ordered.

`generate(choices)` makes one. Accesses go by patterns of which it is known how far they reach (the thread's own cell,
cells of its warp, cells of the block), and whenever two that conflict come together, an order is written between them
that is just wide enough, or wider. So a finding of the checkers in such a kernel is false.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum

from tests.differential.choices import Choices
from tests.differential.kernels.exchanges import EXCHANGES
from tests.differential.kernels.program import Buffer, KernelProgram

_WARP = 32
_DTYPES = ("Float32", "Int32", "Int8", "Float16", "Int64")


class Reach(IntEnum):
    """Whose cells an access touches."""

    OWN = 0
    WARP = 1
    BLOCK = 2


@dataclass(slots=True)
class _Cells:
    """A buffer of shared memory, and how far its accesses reach since a barrier of the warp, and of the block."""

    name: str
    dtype: str
    reads: dict[Reach, Reach] = field(default_factory=lambda: dict.fromkeys((Reach.WARP, Reach.BLOCK), Reach.OWN))
    writes: dict[Reach, Reach] = field(default_factory=lambda: dict.fromkeys((Reach.WARP, Reach.BLOCK), Reach.OWN))
    is_read: dict[Reach, bool] = field(default_factory=lambda: dict.fromkeys((Reach.WARP, Reach.BLOCK), False))
    is_written: dict[Reach, bool] = field(default_factory=lambda: dict.fromkeys((Reach.WARP, Reach.BLOCK), False))

    def needed(self, reach: Reach, *, writes: bool) -> Reach:
        """The order that must come before an access."""
        for order in (Reach.BLOCK, Reach.WARP):
            widest = self.writes[order] if self.is_written[order] else Reach.OWN
            conflicts = self.is_written[order]
            if writes and self.is_read[order]:
                widest, conflicts = max(widest, self.reads[order]), True
            if conflicts and max(widest, reach) >= order:
                return order
        return Reach.OWN

    def note(self, reach: Reach, *, writes: bool) -> None:
        kept, done = (self.writes, self.is_written) if writes else (self.reads, self.is_read)
        for order in kept:
            kept[order], done[order] = max(kept[order], reach), True

    def order(self, order: Reach) -> None:
        for each in (Reach.WARP, Reach.BLOCK):
            if each <= order:
                self.reads[each] = self.writes[each] = Reach.OWN
                self.is_read[each] = self.is_written[each] = False


class _Writer:
    """Writes the body of a kernel."""

    def __init__(self, choices: Choices, threads: int) -> None:
        self._choices, self._threads = choices, threads
        self._lines: list[str] = []
        self._indent = 1
        self._cells = [_Cells(f"s{n}", choices.choice(_DTYPES)) for n in range(choices.integer(1, 2))]

    def body(self) -> list[str]:
        """Allocations, steps, and what is left."""
        self._lines += ["    allocator = SmemAllocator()", "    v = Int32(t)"]
        for cells in self._cells:
            layout = f"cute.make_layout({self._threads})"
            self._line(f"{cells.name} = allocator.allocate_tensor({cells.dtype}, {layout})")
        for cells in self._cells:
            self._write(cells, self._pattern()[0], "x[t]")
        for _ in range(self._choices.integer(1, 4)):
            self._step()
        self._order(Reach.BLOCK)
        if self._choices.boolean(0.5):
            exchange = self._choices.choice(EXCHANGES)
            self._lines += [f"    {line}" for line in exchange(self._choices, self._threads)]
        self._line("out[g] = Float32(v)")
        return self._lines

    def _step(self) -> None:
        kind = self._choices.below(5)
        if kind < 3:
            self._access()
        elif kind == 3 and self._indent == 1:
            self._order(Reach.BLOCK)
            name = f"i{len(self._lines)}"
            self._nested(f"for {name} in range({self._choices.choice(('3', 'b + 1', '2', 'n0'))}):")
        elif self._indent == 1:
            self._order(Reach.BLOCK)
            self._nested(self._choices.choice(("if b % 2 == 0:", "if n0 > 1:", "if x[0] > 0.5:")))

    def _nested(self, head: str) -> None:
        """A loop or a branch that the block takes as one: nothing is pending when it begins and when it ends."""
        self._line(head)
        self._indent += 1
        for _ in range(self._choices.integer(1, 3)):
            self._access()
        self._order(Reach.BLOCK)
        self._indent -= 1

    def _access(self) -> None:
        cells = self._choices.choice(self._cells)
        if self._choices.boolean(0.5):
            self._write(cells, self._pattern()[0], "v")
        else:
            index, reach = self._pattern(reads=True)
            self._before(cells, reach, writes=False)
            self._line(f"v = v + Int32({cells.name}[{index}])")

    def _write(self, cells: _Cells, index: str, value: str) -> None:
        reach = _reach(index)
        self._before(cells, reach, writes=True)
        self._line(f"{cells.name}[{index}] = {cells.dtype}({value})")

    def _before(self, cells: _Cells, reach: Reach, *, writes: bool) -> None:
        """Whatever order the access needs, and sometimes one that it does not need."""
        needed = cells.needed(reach, writes=writes)
        if self._choices.boolean(0.1):
            needed = max(needed, self._choices.choice((Reach.WARP, Reach.BLOCK)))
        self._order(needed)
        cells.note(reach, writes=writes)

    def _pattern(self, *, reads: bool = False) -> tuple[str, Reach]:
        count = self._threads
        whole = count % _WARP == 0
        patterns = ["t", f"{count - 1} - t", f"(t + {self._choices.integer(1, count)}) % {count}"]
        patterns += [f"t ^ {self._choices.choice((1, 2, 16, 31))}"] if whole else []
        patterns += [f"t // 32 * 32 + {self._choices.below(min(count, _WARP))}", "0"] if reads and whole else []
        index = self._choices.choice(patterns)
        return index, _reach(index)

    def _order(self, order: Reach) -> None:
        if order is Reach.OWN:
            return
        whole = self._threads % _WARP == 0
        ways = ["cute.arch.sync_threads()", "cute.arch.barrier()"]
        if whole:
            ways.append(
                f"cute.arch.barrier(barrier_id={self._choices.integer(1, 7)}, number_of_threads={self._threads})"
            )
        if order is Reach.WARP:
            lanes = "cute.arch.sync_warp()" if whole else "cute.arch.sync_threads()"
            ways = [lanes, lanes, *ways]
        text = self._choices.choice(ways)
        self._line(text)
        for cells in self._cells:
            cells.order(Reach.WARP if text.endswith("sync_warp()") else Reach.BLOCK)

    def _line(self, text: str) -> None:
        self._lines.append("    " * self._indent + text)


def _reach(index: str) -> Reach:
    if index == "t":
        return Reach.OWN
    return Reach.WARP if index.startswith(("t ^", "t // 32")) else Reach.BLOCK


def generate(choices: Choices) -> KernelProgram:
    """Make the kernel that these decisions describe."""
    threads = choices.choice((64, 32, 96, 128, 7, 33, 100, 256))
    grid = choices.choice((1, 2, 5))
    body = _Writer(choices, threads).body()
    buffers = (
        Buffer("x", "Float32", (4 * threads,), (1, 2, 3, 0, 5)),
        Buffer("out", "Float32", (grid * threads,), (0,)),
    )
    head = ["t, _, _ = cute.arch.thread_idx()", "b, _, _ = cute.arch.block_idx()", f"g = b * {threads} + t"]
    taken = "x: cute.Tensor, out: cute.Tensor, n0: Int32"
    kernel = ["@kernel", f"def fuzzed({taken}):", *(f"    {line}" for line in head), *body]
    host = ["@jit", f"def launch({taken}):", f"    fuzzed(x, out, n0).launch(grid={grid}, block={threads})"]
    text = "\n".join([*kernel, "", "", *host]) + "\n"
    return KernelProgram(text, (grid, 1, 1), (threads, 1, 1), False, buffers, ("n0",), ((choices.integer(0, 4),), (1,)))

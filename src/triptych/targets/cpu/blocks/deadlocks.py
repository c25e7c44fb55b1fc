"""Deadlock detection: a round in which no warp advanced; what each waits for is stored, and the launch fails.

Input: the state words of the warps. Output: code that copies them for `runtime.waiting_warps`, which tells the user.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict

from triptych.diagnostics.check_facts import pack
from triptych.diagnostics.kernel_errors import DeadlockError
from triptych.ir.builder import FACTS_ATTRIBUTE
from triptych.ir.handles import Attribute, Operation, Value
from triptych.ir.location import place_of
from triptych.kernel_ir.analysis.spin_loops import spins
from triptych.kernel_ir.dialects.smem_symbols import barrier_names
from triptych.targets.cpu.abi.abi import KERNEL_WAITING, MOST_WAITING, WAITING_ENTRY, WAITING_HEAD, WAITING_WORDS
from triptych.targets.cpu.emit.barrier_state import loop, when
from triptych.targets.cpu.emit.cluster_states import ClusterStates
from triptych.targets.cpu.emit.lane_builder import LaneBuilder
from triptych.targets.cpu.emit.launch_frame import LaunchFrame
from triptych.targets.cpu.emit.mbarriers import Word
from triptych.targets.cpu.emit.warp import Position

_TITLE = "threads wait here for others that never come"
_RANK = 7
"""The last word of an entry."""
_EXPECTED = "every thread that is waited for to arrive, and every byte that is expected to be copied"


class DeadlockReport:
    """Writes the code that ends a launch whose warps wait for ever."""

    def __init__(
        self,
        code: LaneBuilder,
        kernel: Operation,
        sites: Sequence[Operation],
        partings: Sequence[str],
        frame: LaunchFrame,
        states: ClusterStates,
    ) -> None:
        self._code, self._kernel, self._sites, self._frame, self._states = code, kernel, sites, frame, states
        self._partings = partings
        self._words = frame.memory.allocate(code.type(f"!llvm.array<{WAITING_WORDS} x i32>"), 1)

    def write(self, launch: Value, first: Position, end: Callable[[], None]) -> None:
        """`first` is where the first block is; `end` writes what must happen before the function returns."""
        code = self._code
        zero, one = code.constant(0, "i32"), code.constant(1, "i32")
        self._set(0, zero)
        self._set(4, self._states.warps)
        for word in range(WAITING_HEAD, WAITING_HEAD + WAITING_ENTRY):
            self._set(word, zero)
        loop(code, zero, self._states.warps, one, self._look)
        block = self._frame.block_of_cluster(first, self._get(WAITING_HEAD + _RANK)).block_ids
        for word, value in enumerate(block, start=1):
            self._set(word, value)
        thread = code.value("arith.muli", (self._get(WAITING_HEAD), code.constant(code.width, "i32")), "i32")
        self._frame.memory.write_fault(block, thread)
        code.call(KERNEL_WAITING, [launch, self._words])
        end()
        code.operation("cf.assert", (code.constant(0, "i1"),), attributes=self._facts())

    def _facts(self) -> dict[str, Attribute]:
        """What the error says by itself, and what `waiting_warps` needs to say more."""
        here, builder = place_of(self._kernel), self._code
        spans = [place_of(site) for site in self._sites]
        tables = {
            "sites": [span and asdict(span) for span in spans],
            "partings": list(self._partings),
            "looks": [spins(site) for site in self._sites],
            "barriers": {str(offset): name for offset, name in barrier_names(self._kernel).items()},
        }
        attributes = builder.check_attributes(DeadlockError, _TITLE, span=here, expected=_EXPECTED)
        text = pack(_TITLE, span=here, expected=_EXPECTED, tables=tables)
        return {**attributes, FACTS_ATTRIBUTE: builder.string(text)}

    def _look(self, number: Value) -> None:
        """Note a warp that waits, as long as there is room."""
        code = self._code
        site = self._states.waiting(number)
        waits = code.compare("sge", site, code.constant(0, "i32"))
        fits = code.compare("slt", self._get(0), code.constant(MOST_WAITING, "i32"))
        when(code, code.both(waits, fits, "i1"), lambda: self._note(number, site))

    def _note(self, number: Value, site: Value) -> None:
        code = self._code
        rank, within = self._states.of_warp(number)
        state, count = self._states.state(rank), self._get(0)
        step = code.value("arith.muli", (count, code.constant(WAITING_ENTRY, "i32")), "i32")
        entry = code.offset(code.offset(self._words, WAITING_HEAD, "i32"), code.resized(step, "i64"), "i32")
        pointer = code.load(state.place(state.of_warp(within, 2)), "!llvm.ptr", 8)
        address, base = (code.value("llvm.ptrtoint", (p,), "i64") for p in (pointer, self._states.shared(rank)))
        known = code.compare("ne", address, code.constant(0, "i64"))
        parity = code.select(known, state.get(state.of_warp(within, 1)), code.constant(-1, "i32"), "i32")
        offset = code.value("arith.trunci", (code.value("arith.subi", (address, base), "i64"),), "i32")
        nothing = code.constant(0, "i32")
        for index, value in enumerate((within, site, parity, offset, nothing, nothing, nothing, rank)):
            code.store(value, code.offset(entry, index, "i32"), 4)
        when(code, known, lambda: self._counts(entry, pointer))
        self._set(0, code.value("arith.addi", (count, code.constant(1, "i32")), "i32"))

    def _counts(self, entry: Value, pointer: Value) -> None:
        code, word = self._code, Word(self._code, pointer)
        for index, value in enumerate((word.pending(), word.expected(), word.tx()), start=4):
            code.store(code.value("arith.trunci", (value,), "i32"), code.offset(entry, index, "i32"), 4)

    def _set(self, word: int, value: Value) -> None:
        self._code.store(value, self._code.offset(self._words, word, "i32"), 4)

    def _get(self, word: int) -> Value:
        return self._code.load(self._code.offset(self._words, word, "i32"), "i32", 4)

"""A simulated GPU: memory, loaded modules, and launches of their kernels, one cluster of blocks after another."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from triptych.ptxsim.blocks import Block, Launch
from triptych.ptxsim.clusters import Cluster, Order
from triptych.ptxsim.counting import CountedLaunch, Counting
from triptych.ptxsim.launch_control import Unstarted
from triptych.ptxsim.memory import Memory
from triptych.ptxsim.operands import Dims
from triptych.ptxsim.reading import Kernel, Module, Variable, read

GLOBAL_START = 1 << 58
"""No address of the CPU is as large."""


class Gpu:
    """Memory and modules."""

    def __init__(self, order: Order = "late", counting: Counting | None = None) -> None:
        self.order = order
        self.counting = counting
        self.memory = Memory(GLOBAL_START)
        self.printed: list[str] = []
        self.clock = itertools.count(1)

    def load(self, text: str) -> LoadedModule:
        """A module, with its variables in memory."""
        module = read(text)
        variables = [variable for variable in module.variables if variable.space in ("global", "const")]
        rooms = {variable.name: self.memory.allocate(variable.size or 0) for variable in variables}
        places = {name: room.base for name, room in rooms.items()}
        for variable in variables:
            numbers = [places[first] if isinstance(first, str) else first for first in variable.first]
            bits = [number % (1 << 8 * variable.each) for number in numbers]
            words = np.array(bits, f"u{variable.each}").view(np.uint8)
            rooms[variable.name].bytes[0, : variable.size] = 0
            rooms[variable.name].bytes[0, : len(words)] = words
        return LoadedModule(self, module, places)


@dataclass(slots=True)
class LoadedModule:
    """Kernels that can be launched."""

    gpu: Gpu
    module: Module
    places: dict[str, int]

    def launch(
        self,
        name: str,
        grid: Dims,
        block: Dims,
        shared_bytes: int,
        arguments: Sequence[bytes],
        cluster: Sequence[int] = (),
    ) -> None:
        """The clusters of a grid one after another; the kernel may say itself how many blocks they have."""
        kernel = self.module.kernels[name]
        x, y, z = cluster or kernel.cluster or (1, 1, 1)
        if (kernel.cluster and kernel.cluster != (x, y, z)) or grid[0] % x or grid[1] % y or grid[2] % z:
            raise LaunchError(f"clusters of {(x, y, z)} blocks, {kernel.cluster} required, in a grid of {grid}")
        running = Cluster((x, y, z), self.gpu.order)
        launch = Launch(self.gpu, self.module, self.places, kernel, grid, block, shared_bytes, arguments)
        counting = self.gpu.counting
        if counting is not None:
            shared = shared_bytes + sum(each.size or 0 for each in self._shared_variables(kernel))
            if not counting.begin(CountedLaunch(kernel, grid, block, (x, y, z), shared)):
                return
        with np.errstate(all="ignore"):
            for rank in range(x * y * z):
                running.blocks.append(Block(launch, running, rank))
            number = grid[0] // x * (grid[1] // y) * (grid[2] // z)
            chosen = range(number) if counting is None else counting.choose(number)
            running.unstarted = Unstarted(chosen, grid, (x, y, z))
            while (first := running.unstarted.take()) is not None:
                running.run(first)
        if counting is not None:
            counting.end()

    def _shared_variables(self, kernel: Kernel) -> list[Variable]:
        return [each for each in (*self.module.variables, *kernel.variables) if each.space == "shared"]


class LaunchError(Exception):
    """A launch that a driver refuses."""

"""Host side of public programs: the GPU that they are told of on a machine that has none.

Programs ask how many multiprocessors there are and which generation, and choose grids and code paths by it. The answer
is a row of a table, chosen by the setting `gpu`, so that a program takes the same path on every machine.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from triptych.support.config import config
from triptych.support.errors import TriptychError

_GIB = 1 << 30
_MIB = 1 << 20
MOST_BLOCKS_OF_A_CLUSTER = 16


class ModelledGpuError(TriptychError, ValueError):
    """A program asked for a GPU, or for clusters, that the modelled machine does not have."""

    code = "TT0711"
    failing = "from triptych.utils import HardwareInfo\n\nprint(HardwareInfo().get_max_active_clusters(64))"
    fixed = "from triptych.utils import HardwareInfo\n\nprint(HardwareInfo().get_max_active_clusters(4))"


@dataclass(frozen=True, slots=True)
class ModelledGpu:
    """What host code may ask of a GPU."""

    name: str
    generation: int
    """100 of sm_100."""
    multiprocessors: int
    memory: int
    """Bytes."""
    cache: int
    """Bytes of the second level."""
    threads: int = 2048
    """The most that a multiprocessor holds."""
    shared: int = 228 << 10
    """Bytes of shared memory of a multiprocessor."""

    @property
    def capability(self) -> tuple[int, int]:
        """(10, 0) of sm_100."""
        return self.generation // 10, self.generation % 10

    @property
    def has_clusters(self) -> bool:
        """Blocks that run together and reach each other's shared memory came with generation 90."""
        return self.generation >= 90

    def active_clusters(self, blocks: object) -> int:
        """How many clusters of so many blocks run at the same time, a block on each multiprocessor."""
        most = MOST_BLOCKS_OF_A_CLUSTER if self.has_clusters else 1
        if not isinstance(blocks, int) or not 1 <= blocks <= most:
            raise ModelledGpuError(
                f"{self.name} has no clusters of {blocks} blocks",
                found=f"a cluster of {blocks} blocks",
                expected=f"1 to {most} blocks" if most > 1 else "1 block: clusters came with generation 90",
                instead="a smaller `cluster_shape_mn`, or another GPU by the setting TRIPTYCH_GPU",
            )
        return self.multiprocessors // blocks


_MODELS = {
    "a100": ModelledGpu("NVIDIA A100", 80, 108, 80 * _GIB, 40 * _MIB, shared=164 << 10),
    "a10": ModelledGpu("NVIDIA A10", 86, 72, 24 * _GIB, 6 * _MIB, threads=1536, shared=100 << 10),
    "l40s": ModelledGpu("NVIDIA L40S", 89, 142, 48 * _GIB, 96 * _MIB, threads=1536, shared=100 << 10),
    "h100": ModelledGpu("NVIDIA H100", 90, 132, 80 * _GIB, 50 * _MIB),
    "b200": ModelledGpu("NVIDIA B200", 100, 148, 180 * _GIB, 126 * _MIB),
    "b300": ModelledGpu("NVIDIA B300", 103, 148, 270 * _GIB, 126 * _MIB),
    "rtx5090": ModelledGpu("NVIDIA GeForce RTX 5090", 120, 170, 32 * _GIB, 96 * _MIB, threads=1536, shared=100 << 10),
}
"""By the words of the setting `gpu`, which `support.config` repeats."""

_USUAL = "b200"


def modelled_gpu() -> ModelledGpu:
    """The one that the setting names: "h100", or "h100:8" for one with 8 multiprocessors."""
    name, _, count = (config().gpu or _USUAL).lower().partition(":")
    model = _MODELS[name]
    return replace(model, multiprocessors=int(count)) if count else model


def check_device_number(number: int) -> int:
    """There is one GPU, number 0."""
    if number != 0:
        raise ModelledGpuError(
            f"there is no GPU number {number}",
            found=f"GPU {number}",
            expected="GPU 0: one GPU is modelled",
            instead="0, or a machine with several GPUs",
        )
    return number

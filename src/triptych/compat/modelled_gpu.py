"""GPU properties as public host programs ask for them: of a modelled GPU, on a machine that has none.

Programs ask how many multiprocessors there are and which generation, and choose grids and code paths by it. The answer
is a row of a table, chosen by the setting `gpu`, so that a program takes the same path on every machine.
"""

from __future__ import annotations

from triptych.cute.tracing.eager import eager
from triptych.support.config import config
from triptych.support.dataclass import dataclass
from triptych.support.device_model import PRODUCTS
from triptych.support.errors import TriptychError
from triptych.support.processors import processors

_GIB = 1 << 30
_MIB = 1 << 20
MOST_BLOCKS_OF_A_CLUSTER = 16


class ModelledGpuError(TriptychError, ValueError):
    """A program asked for a GPU, or for clusters, that the modelled machine does not have."""

    code = "TT0711"


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
    threads: int
    """The most that a multiprocessor holds."""
    shared: int
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


_MULTIPROCESSORS = {80: (2048, 164), 90: (2048, 228), 100: (2048, 228), 103: (2048, 228)}
_SMALL = (1536, 100)
"""Threads and kilobytes of shared memory, by generation, and of all others."""
_NEWEST = "b200"
"""The newest whose public programs run here."""


def modelled_gpu() -> ModelledGpu:
    """The one that the setting names: "h100", or "h100:8" for one with 8 multiprocessors; without it one that runs
    what is compiled for, or the newest."""
    name, _, count = (config().gpu or _of_target(config().target)).lower().partition(":")
    product = PRODUCTS[name]
    threads, shared = _MULTIPROCESSORS.get(product.generation, _SMALL)
    return ModelledGpu(
        product.title,
        product.generation,
        int(count) if count else product.multiprocessors,
        product.memory * _GIB,
        product.cache * _MIB,
        threads,
        shared << 10,
    )


def _of_target(target: str) -> str:
    """The first GPU of the architecture of a target, `nvptx:sm_90a`."""
    _, _, architecture = target.partition(":sm_")
    generation = architecture.rstrip("af")
    found = (name for name, product in PRODUCTS.items() if str(product.generation) == generation)
    return next(found, _NEWEST)


def check_device_number(number: int) -> int:
    """The number of one of the GPUs that there are."""
    count = config().gpus
    if not 0 <= number < count:
        many = f"GPU 0 to {count - 1}: {count} GPUs are modelled"
        raise ModelledGpuError(
            f"there is no GPU number {number}",
            found=f"GPU {number}",
            expected=many if count > 1 else "GPU 0: one GPU is modelled",
            instead=f"`triptych run --gpus {max(number, 1) + 1} SCRIPT`, or another number",
        )
    return number


class HardwareInfo:
    """The modelled GPU, as the setting `gpu` names it. Blocks that would run together there may run in turn here."""

    @eager
    def __init__(self, device_id: int = 0) -> None:
        self.device = check_device_number(device_id)

    def __repr__(self) -> str:
        return f"HardwareInfo({modelled_gpu().name})"

    @eager
    def get_max_active_clusters(self, cluster_size: int, stream: object = None) -> int:
        """How many clusters of so many blocks run at the same time, a block on each multiprocessor. On the CPU there
        are so many of those that the largest clusters have one for each thread of the pool, unless the setting says
        how many there are: programs have memory for as many blocks as clusters of one would be. Each of several GPUs
        has one for each thread: blocks that wait for other ranks have all begun.
        """
        most = modelled_gpu().active_clusters(cluster_size)
        settings = config()
        if ":" in settings.gpu or settings.target.partition(":")[0] not in ("", "cpu"):
            return most
        threads = settings.threads or processors()
        if settings.gpus > 1:
            return min(most, threads)
        return min(most, threads * MOST_BLOCKS_OF_A_CLUSTER // cluster_size)

    @eager
    def get_device_multiprocessor_count(self) -> int:
        """How many multiprocessors there are."""
        return modelled_gpu().multiprocessors

    @eager
    def get_l2_cache_size_in_bytes(self) -> int:
        """Bytes of the cache that all multiprocessors share."""
        return modelled_gpu().cache

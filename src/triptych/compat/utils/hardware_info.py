"""Hardware queries of host code before a launch: how many multiprocessors, how many clusters at a time."""

from __future__ import annotations

from triptych.compat.modelled_gpu import MOST_BLOCKS_OF_A_CLUSTER, check_device_number, modelled_gpu
from triptych.cute.tracing.eager import eager
from triptych.support.config import config
from triptych.support.processors import processors


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
        how many there are: programs have memory for as many blocks as clusters of one would be.
        """
        most = modelled_gpu().active_clusters(cluster_size)
        settings = config()
        if ":" in settings.gpu or settings.target not in ("", "cpu"):
            return most
        blocks = (settings.threads or processors()) * MOST_BLOCKS_OF_A_CLUSTER
        return min(most, blocks // cluster_size)

    @eager
    def get_device_multiprocessor_count(self) -> int:
        """How many multiprocessors there are."""
        return modelled_gpu().multiprocessors

    @eager
    def get_l2_cache_size_in_bytes(self) -> int:
        """Bytes of the cache that all multiprocessors share."""
        return modelled_gpu().cache

"""Memory of three ranks in one process, which is rank 0 and fills that of the others itself; and processes as ranks."""

from __future__ import annotations

import ctypes
import multiprocessing
import os
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from triptych.ranks import group
from triptych.ranks.heap import SymmetricHeap

RANKS = 3


@cache
def heap_of_three() -> SymmetricHeap:
    """One for the process: its addresses are taken from then on. The group is not joined, since nobody else comes."""
    folder = group.make_folder()
    group._make_files(folder, RANKS)
    return SymmetricHeap(group.Group(folder, 0))


def array_at(address: int, count: int, dtype: Any) -> Any:
    """Memory as an array."""
    size = count * np.dtype(dtype).itemsize
    return np.frombuffer((ctypes.c_char * size).from_address(address), dtype)


def _as_rank(rank: int, size: int, folder: str, results: Any, body: Callable[..., Any], given: Sequence[Any]) -> None:
    there = SymmetricHeap(group.join(Path(folder), rank, size))
    try:
        results.put((rank, body(there, *given)))
    except Exception as error:
        results.put((rank, f"{type(error).__name__}: {error}"))


def run_ranks(size: int, body: Callable[..., Any], *given: Any) -> list[Any]:
    """What a function of a module gives in each of so many processes; the text of its error where it raises one."""
    context = multiprocessing.get_context("spawn")
    results, folder = context.Queue(), str(group.make_folder())
    processes = [
        context.Process(target=_as_rank, args=(rank, size, folder, results, body, given)) for rank in range(size)
    ]
    for process in processes:
        process.start()
    found = dict(results.get(timeout=240) for _ in processes)
    for process in processes:
        process.join()
    assert not os.path.exists(folder)
    return [found[rank] for rank in range(size)]

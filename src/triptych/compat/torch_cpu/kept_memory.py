"""Allocator lifetime: CUDA's allocator retains the memory of freed tensors, and some programs still write to it.

A program that hands addresses to a kernel, as numbers, and lets the tensors go, works on a GPU: nobody else gets the
memory in between. On the CPU it would be that of something else. So the latest tensors stay, up to a number of bytes.
"""

from __future__ import annotations

from collections import deque
from typing import Any

MOST_BYTES = 256 << 20


class KeptMemory:
    """The latest tensors that were made."""

    def __init__(self) -> None:
        self._tensors: deque[Any] = deque()
        self._bytes = 0

    def keep(self, tensor: Any) -> None:
        """Keep a tensor until many later ones have been made."""
        self._tensors.append(tensor)
        self._bytes += tensor.nbytes
        while self._bytes > MOST_BYTES:
            self._bytes -= self._tensors.popleft().nbytes


KEPT = KeptMemory()

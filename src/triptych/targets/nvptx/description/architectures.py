"""The architectures that kernels can be compiled for: what each GPU has, and the PTX that it begins with."""

from __future__ import annotations

from triptych.support.dataclass import dataclass

NEWEST_PTX = 90
"""The newest version of PTX, times ten, that LLVM writes."""
WARP = 32
"""Threads of a warp, on all of them."""
REGISTERS = 65536
"""Of a multiprocessor; it gives them to warps in pieces of 256."""
REGISTER_PIECE = 256
RESERVED_SHARED = 1024
"""Bytes of shared memory that the system takes for each block."""

SHARED_PIECE = 128
"""Bytes in which shared memory is given to blocks."""


@dataclass(frozen=True, slots=True)
class Architecture:
    """One kind of GPU. `sm_90a` is `sm_90` with the instructions that no later one promises to have."""

    name: str
    oldest_ptx: int
    """The first version of PTX, times ten, that knows it."""
    threads: int
    """The most that a multiprocessor holds."""
    blocks: int
    """The most that a multiprocessor holds."""
    shared: int
    """Bytes of shared memory of a multiprocessor."""

    @property
    def generation(self) -> int:
        """90 of `sm_90a`."""
        return int(self.name.removeprefix("sm_").rstrip("a"))

    @property
    def is_specific(self) -> bool:
        """Whether code for it runs on this one kind of GPU only."""
        return self.name.endswith("a")

    @property
    def shared_of_a_block(self) -> int:
        """The most bytes of shared memory that one block can have."""
        return self.shared - RESERVED_SHARED


_KIB = 1024
ARCHITECTURES = {
    architecture.name: architecture
    for architecture in (
        Architecture("sm_80", 70, threads=2048, blocks=32, shared=164 * _KIB),
        Architecture("sm_86", 71, threads=1536, blocks=16, shared=100 * _KIB),
        Architecture("sm_89", 78, threads=1536, blocks=24, shared=100 * _KIB),
        Architecture("sm_90", 78, threads=2048, blocks=32, shared=228 * _KIB),
        Architecture("sm_90a", 80, threads=2048, blocks=32, shared=228 * _KIB),
        Architecture("sm_100a", 86, threads=2048, blocks=32, shared=228 * _KIB),
        Architecture("sm_103a", 88, threads=2048, blocks=32, shared=228 * _KIB),
        Architecture("sm_120a", 87, threads=1536, blocks=24, shared=100 * _KIB),
    )
}

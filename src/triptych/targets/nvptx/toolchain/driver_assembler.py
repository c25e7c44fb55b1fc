"""The assembler that is part of NVIDIA's driver: it is given PTX in the place of a cubin, when a kernel is loaded.

Nothing need be installed for it, and nothing is known beforehand of registers. It knows the newest PTX that LLVM
writes; a driver that is older refuses the kernel.
"""

from __future__ import annotations

from triptych.targets.nvptx.description.architectures import Architecture
from triptych.targets.nvptx.toolchain.assembler import Assembled, AssemblerOptions


class DriverAssembler:
    """PTX as it is. A driver wants it to end with a zero."""

    name = "driver"

    def version(self) -> tuple[int, int]:
        return 13, 0

    def assemble(self, ptx: str, architecture: Architecture, options: AssemblerOptions) -> Assembled:
        return Assembled(ptx.encode() + b"\0", "")

"""Which of NVIDIA's tools this machine has: tests that need one say so when they are skipped."""

from __future__ import annotations

import pytest

from triptych.objectstage.device_errors import MissingToolError
from triptych.targets.nvptx.toolchain.assembling import ASSEMBLERS
from triptych.targets.nvptx.toolchain.locate import find_program, libdevice


def _has_libdevice() -> bool:
    try:
        return bool(libdevice())
    except MissingToolError:
        return False


INSTALLED = [assembler for assembler in ASSEMBLERS if assembler.version() is not None]
HAS_ASSEMBLER = bool(INSTALLED) and _has_libdevice()

needs_assembler = pytest.mark.skipif(
    not HAS_ASSEMBLER,
    reason="needs NVIDIA's assembler and libdevice: pip install 'triptych[cuda]'",
)
needs_disassembler = pytest.mark.skipif(
    find_program("nvdisasm") is None, reason="needs nvdisasm: pip install 'triptych[cuda-tools]'"
)

"""Disassembly of a cubin as readable SASS, by the program `nvdisasm`."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

from triptych.targets.nvptx.description.errors import AssemblerError
from triptych.targets.nvptx.toolchain.locate import program


def disassemble(cubin: bytes, *options: str) -> str:
    """Every kernel's instructions; `-g` among the options shows the lines they come from."""
    with tempfile.TemporaryDirectory(prefix="triptych-") as folder:
        file = Path(folder, "kernels.cubin")
        file.write_bytes(cubin)
        done = subprocess.run(
            [program("nvdisasm"), "-c", *options, str(file)], capture_output=True, text=True, check=False
        )
    if done.returncode != 0:
        raise AssemblerError("the disassembler refused the cubin", found=done.stderr.strip())
    return done.stdout

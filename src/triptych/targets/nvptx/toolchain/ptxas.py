"""The assembler as the program `ptxas`: a process of its own, so that nothing it does can harm this one."""

from __future__ import annotations

import re
import subprocess
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from triptych.support.config import config
from triptych.targets.nvptx.architectures import Architecture
from triptych.targets.nvptx.toolchain.assembler import Assembled, AssemblerOptions, refused
from triptych.targets.nvptx.toolchain.locate import find_program, program

_RELEASE = re.compile(r"release (\d+)\.(\d+)")


@dataclass(frozen=True, slots=True)
class Ptxas:
    """The program, from the package `nvidia-cuda-nvcc` or a toolkit."""

    name: str = "ptxas"

    def version(self) -> tuple[int, int] | None:
        return _version()

    def assemble(self, ptx: str, architecture: Architecture, options: AssemblerOptions) -> Assembled:
        with tempfile.TemporaryDirectory(prefix="triptych-") as folder:
            source, output = Path(folder, "kernels.ptx"), Path(folder, "kernels.cubin")
            source.write_text(ptx, encoding="utf-8")
            words = [f"-arch={architecture.name}", f"-O{options.opt_level}", "-v", "-o", str(output)]
            words += ["-lineinfo"] if options.line_info else []
            try:
                done = _run([*words, str(source)])
            except subprocess.TimeoutExpired:
                raise refused(architecture, "it took longer than the time limit `worker_timeout`") from None
            if done.returncode != 0:
                raise refused(architecture, done.stderr.replace(f"{folder}/", "") or f"exit status {done.returncode}")
            return Assembled(output.read_bytes(), done.stderr)


@cache
def _version() -> tuple[int, int] | None:
    if find_program("ptxas") is None:
        return None
    found = _RELEASE.search(_run(["--version"]).stdout)
    return (int(found[1]), int(found[2])) if found else None


def _run(words: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [program("ptxas"), *words],
        capture_output=True,
        text=True,
        check=False,
        timeout=config().worker_timeout,
    )

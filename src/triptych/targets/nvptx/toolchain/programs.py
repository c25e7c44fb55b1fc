"""Programs of NVIDIA's toolkit, `ptxas` and `nvdisasm`, each a process of its own."""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import tempfile
from functools import cache
from pathlib import Path

from triptych.artifact_store.configured import default_store
from triptych.artifact_store.record import JSON, Entry, NotAnEntry
from triptych.objectstage.device_errors import AssemblerError
from triptych.support.config import config
from triptych.support.dataclass import dataclass
from triptych.targets.nvptx.description.architectures import Architecture
from triptych.targets.nvptx.toolchain.assembler import Assembled, AssemblerOptions, refused
from triptych.targets.nvptx.toolchain.locate import find_program, program

# The assembler as the program `ptxas`: a process of its own, so that nothing it does can harm this one.

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
            words += [*(["-lineinfo"] if options.line_info else []), *options.more]
            try:
                done = _run([*words, str(source)])
            except subprocess.TimeoutExpired:
                raise refused(architecture, "it took longer than the time limit `worker_timeout`") from None
            if done.returncode != 0:
                raise refused(architecture, done.stderr.replace(f"{folder}/", "") or f"exit status {done.returncode}")
            return Assembled(output.read_bytes(), done.stderr)


@cache
def _version() -> tuple[int, int] | None:
    """Asked once for all processes that share a store: a process that finds its kernels there starts no program."""
    path = find_program("ptxas")
    if path is None:
        return None
    store = default_store()
    if store is None:
        return _asked()
    file = os.stat(path)
    made_of = json.dumps(["version of ptxas", os.path.realpath(path), file.st_size, file.st_mtime_ns])

    def make() -> tuple[tuple[int, int] | None, Entry | None]:
        found = _asked()
        facts: dict[str, JSON] = {"function": "version of ptxas", "target": "nvptx", "version": found}
        return found, None if found is None else Entry(facts, {})

    return store.find_or_make(hashlib.sha256(made_of.encode()).hexdigest(), _kept, make)


def _kept(entry: Entry) -> tuple[int, int]:
    match entry.facts.get("version"):
        case [int(major), int(minor)]:
            return major, minor
    raise NotAnEntry("no version of ptxas")


def _asked() -> tuple[int, int] | None:
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


# Disassembly of a cubin as readable SASS, by the program `nvdisasm`.


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

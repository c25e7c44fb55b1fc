"""Doctor report as data: packages, targets, GPUs, and which kernels have run on which hardware.

Nothing is claimed of hardware that has not run: a kernel that was only compiled says so.
"""

from __future__ import annotations

import importlib.metadata
import platform
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, field
from typing import Any

import triptych
from triptych.objectstage.target import TARGETS
from triptych.support.dataclass import dataclass
from triptych.support.errors import TriptychError
from triptych.support.processors import processor_model
from triptych.targets.nvptx.description.architectures import ARCHITECTURES
from triptych.targets.nvptx.runtime import driver
from triptych.targets.nvptx.toolchain.assembling import ASSEMBLERS
from triptych.workbench.doctor.worker import SUITE
from triptych.workbench.processes import Answer, ask
from triptych.workbench.progress import Progress

PACKAGES = {
    "": ("numpy", "ml_dtypes", "llvmlite", "torch-mlir", "apache-tvm-ffi"),
    "torch": ("torch",),
    "cuda": ("cuda-bindings", "cuda-pathfinder", "nvidia-nvjitlink", "nvidia-nvvm"),
    "cuda-tools": ("nvidia-cuda-nvcc", "nvidia-cuda-nvdisasm"),
    "viz": ("matplotlib",),
    "progress": ("rich",),
}
"""By the extra that brings them; those of no extra are needed."""
FIRST = "softmax"
"""The one kernel that is tried everywhere: shared memory, shuffles, mathematics."""
UNTOLD = "sm_90"
"""What is compiled for where no GPU says what it is."""
PATIENCE = 600.0
WORKS, FAILS, ABSENT, COMPILES, SKIPPED = "works", "FAILS", "not there", "compiles", "not for it"


@dataclass(frozen=True, slots=True)
class Run:
    """One kernel on one target."""

    kernel: str
    target: str
    hardware: str
    """What it has run on; empty if nothing has run."""
    state: str
    detail: str = ""
    difference: float | None = None
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Gpu:
    """A GPU that the driver tells of."""

    name: str
    architecture: str
    driver: str


@dataclass(slots=True)
class Report:
    """All of it; `asdict` of it is the file to send."""

    triptych: str
    python: str
    system: str
    processor: str
    packages: dict[str, str]
    assemblers: dict[str, str]
    targets: list[str]
    gpus: list[Gpu]
    no_gpu: str
    """Why there is none; empty if there is one."""
    runs: list[Run] = field(default_factory=list)

    @property
    def is_well(self) -> bool:
        """Whether everything that is there works."""
        return all(run.state != FAILS for run in self.runs) and not self.missing()

    def missing(self) -> list[str]:
        """Packages that are needed and not there."""
        return [name for name in PACKAGES[""] if not self.packages[name]]

    def statement(self) -> str:
        """What may be said of GPUs after this."""
        if not self.gpus:
            return f"No kernel has run on a GPU: {self.no_gpu}."
        on_gpu = [run for run in self.runs if run.target.startswith("nvptx") and run.state in (WORKS, FAILS)]
        right = sum(run.state == WORKS for run in on_gpu)
        return f"{right} of {len(on_gpu)} kernels ran on {self.gpus[0].name} and agree with the CPU target."

    def text(self) -> str:
        """The tables, and what may be said of GPUs."""
        return _text(self)

    def data(self) -> dict[str, Any]:
        """All of it, to be kept as JSON."""
        return {**asdict(self), "statement": self.statement()}


OURS = frozenset({"amdgpu", "cpu", "nvptx", "spirv"})
"""The package's own targets: those for AMD's chips and for OpenCL run no product here, and are left out."""


def examine(bar: Progress, *, everything: bool = False) -> Report:
    """Look at this machine, and run what it can."""
    gpus, no_gpu = _gpus()
    report = Report(
        triptych.__version__,
        platform.python_version(),
        f"{sys.platform} {platform.machine()}",
        processor_model(),
        {name: _version(name) for names in PACKAGES.values() for name in names},
        {one.name: ".".join(map(str, one.version() or ())) for one in ASSEMBLERS},
        sorted(TARGETS.names()),
        gpus,
        no_gpu,
    )
    if not report.missing():
        report.runs += [_on_cpu(name, report.processor, bar) for name in (SUITE if everything else (FIRST,))]
        report.runs += _on_gpu(gpus[0], bar) if gpus else [_compiled(bar)]
        report.runs += [_elsewhere(name, bar) for name in report.targets if name not in OURS]
    return report


def _version(distribution: str) -> str:
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return ""


def _gpus() -> tuple[list[Gpu], str]:
    """Those that there are, or why there are none."""
    try:
        found = driver.find_driver()
        if found is None:
            return [], "no NVIDIA driver is installed here"
        version = "{}.{}".format(*divmod(found.version() // 10, 100))
        return [
            Gpu(found.name_of(number), "sm_{}{}".format(*found.capability_of(number)), f"CUDA {version}")
            for number in range(found.devices())
        ], "the NVIDIA driver finds none"
    except TriptychError as error:
        return [], error.title


def target_of(gpu: Gpu) -> str:
    """The architecture to compile for: one with instructions of the GPU's own is preferred; empty if there is none."""
    return next((name for name in (f"{gpu.architecture}a", gpu.architecture) if name in ARCHITECTURES), "")


def _on_cpu(name: str, hardware: str, bar: Progress) -> Run:
    return _run(name, "cpu", hardware, ask("doctor", {"kernel": name, "target": "cpu"}, PATIENCE, bar=bar))


def _on_gpu(gpu: Gpu, bar: Progress) -> Iterable[Run]:
    architecture = target_of(gpu)
    if not architecture:
        yield Run(FIRST, "nvptx", "", FAILS, f"there is no target for {gpu.architecture}")
        return
    for name, entry in SUITE.items():
        target = f"nvptx:{architecture}"
        if entry.runs_on(architecture):
            yield _run(name, target, gpu.name, ask("doctor", {"kernel": name, "target": target}, PATIENCE, bar=bar))
        else:
            yield Run(name, target, "", SKIPPED, f"needs {entry.needs or f'sm_{entry.since}'}")


def _compiled(bar: Progress) -> Run:
    """Without a GPU: what can be made of a kernel for one."""
    target = f"nvptx:{UNTOLD}"
    request = {"kernel": FIRST, "target": target, "compile_only": True}
    answer = ask("doctor", request, PATIENCE, bar=bar)
    if answer.result is None:
        return Run(FIRST, target, "", FAILS, _why(answer))
    return Run(FIRST, target, "", COMPILES, f"to {' and '.join(answer.result['made'])}; it has not run")


def _elsewhere(name: str, bar: Progress) -> Run:
    """A target of another package, whose memory is taken to be that of the host."""
    answer = ask("doctor", {"kernel": FIRST, "target": name}, PATIENCE, bar=bar)
    return _run(FIRST, name, f"what the target {name} runs on", answer)


def _run(kernel: str, target: str, hardware: str, answer: Answer) -> Run:
    if answer.result is None:
        return Run(kernel, target, hardware, FAILS, _why(answer))
    found: Mapping[str, Any] = answer.result
    state = WORKS if found["agrees"] else FAILS
    detail = "" if found["agrees"] else f"differs by {found['difference']:.1e} of the largest number"
    return Run(kernel, target, hardware, state, detail, found["difference"], round(found["seconds"], 3))


def _why(answer: Answer) -> str:
    """In one line."""
    return re.sub(r"\s+", " ", answer.error or f"{answer.ended} during {answer.doing}")[:300]


def _text(report: Report) -> str:
    facts = [
        ("triptych", report.triptych),
        ("Python", report.python),
        ("system", report.system),
        ("processor", report.processor),
        *(("GPU", f"{gpu.name}, {gpu.architecture}, driver for {gpu.driver}") for gpu in report.gpus),
    ]
    for extra, names in PACKAGES.items():
        absent = f"{ABSENT}; pip install 'triptych[{extra}]'" if extra else f"{ABSENT}, and needed"
        facts += [(name, report.packages[name] or absent) for name in names]
    facts += [(f"assembler {name}", version or ABSENT) for name, version in report.assemblers.items()]
    runs = [("kernel", "target", "has run on", "state", "")]
    for run in report.runs:
        took = f"{run.difference:.1e} apart, {run.seconds:.1f} s" if run.seconds is not None else ""
        runs.append((run.kernel, run.target, run.hardware or "-", run.state, run.detail or took))
    return "\n\n".join((_table(facts), _table(runs), report.statement()))


def _table(rows: Sequence[tuple[str, ...]]) -> str:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)

"""`KernelPlan`: a family of kernels by its problem's dimensions, with inputs, a reference, and a command line.

Subclass it as a dataclass whose fields are the dimensions; `PLAN = MyPlan()` makes the file a contract. Its
`CuteKernel` is a launch with its tensors and its tiling, ready to be run, kept as files, tuned and verified.
"""

from __future__ import annotations

import argparse
import dataclasses
import inspect
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Any, ClassVar

from triptych.cute.tuning.rows import Config, Row
from triptych.cute.tuning.search import search_named
from triptych.cute.tuning.trying import try_all
from triptych.support.config import Config as Settings
from triptych.support.config import config, override
from triptych.support.dataclass import dataclass
from triptych.workbench.arrays import Array
from triptych.workbench.contracts.contract import Contract
from triptych.workbench.devices import HOST, device
from triptych.workbench.errors import PlanError
from triptych.workbench.measurement.benching import BenchOptions, bench
from triptych.workbench.measurement.clocks import HostClock
from triptych.workbench.measurement.sampling import Figure, figure, warm_up
from triptych.workbench.tuning.tuned_calls import chosen_for, keep_choice
from triptych.workbench.units import time_text
from triptych.workbench.verification.verifying import VerifyOptions, verify


@dataclass(slots=True)
class CuteKernel:
    """What `KernelPlan.plan` gives."""

    kernel_fn: Any
    """The kernel itself, for its name."""
    launch_fn: Callable[[Any], object]
    """`launch_fn(tiling)` launches it on the tensors."""
    input_tensors: list[Array]
    output_tensors: list[Array]
    tiling: Any = None
    autotune_configs: Sequence[Any] = ()
    algorithmic_flops_bytes_fn: Callable[..., tuple[float, float]] | None = None
    tuned: dict[str, str] = field(default_factory=dict)
    """After `autotune`: what came of each configuration."""

    @property
    def name(self) -> str:
        """Of the kernel."""
        return str(getattr(self.kernel_fn, "__name__", "kernel"))

    def run(self) -> Any:
        """Launch it, and hand over its outputs: one, or a tuple."""
        self.launch_fn(self.tiling)
        return self.output_tensors[0] if len(self.output_tensors) == 1 else tuple(self.output_tensors)

    def compile(self, directory: str | Path) -> list[Path]:
        """Compile it anew, and keep every stage there (for a GPU also PTX, cubin and resources); the files."""
        folder = Path(directory)
        folder.mkdir(parents=True, exist_ok=True)
        with override(keep=str(folder), cache=False):
            self.launch_fn(self.tiling)
        return sorted(path for path in folder.rglob("*") if path.is_file())

    def bench(self, seconds: float = 1.0) -> Figure:
        """How long a launch takes."""
        warm_up(self._launch)
        return figure(self._launch, HostClock(), seconds)

    def autotune(self, seconds: float = 0.2) -> Any:
        """Take the fastest of `autotune_configs`. What cannot run is left out, with its reason in `tuned` and told."""
        if not self.autotune_configs:
            raise PlanError(
                f"{self.name} has nothing to choose from",
                found="no configurations",
                expected="CuteKernel(autotune_configs=[...]), or a plan with _autotune_configs()",
            )
        tilings = list(self.autotune_configs)
        configs = [{"tiling": str(tiling)} for tiling in tilings]
        before = self.tiling

        def sample(config: Config, count: int) -> list[float]:
            self.tiling = tilings[configs.index(dict(config))]
            if not count:
                return self.bench(seconds).samples
            self._launch()
            return [_CLOCK.seconds(self._launch, 1) for _ in range(count)]

        search = search_named("auto", dict(enumerate(configs)), 0, None)
        try:
            best, rows = try_all(search, configs, sample, self.name)
        except BaseException:
            self.tiling = before
            raise
        self.tuned = {row.config["tiling"]: _told(row) for row in rows}
        self.tiling = tilings[best]
        return self.tiling

    def _launch(self) -> None:
        self.launch_fn(self.tiling)


_CLOCK = HostClock()


def _told(row: Row) -> str:
    return time_text(row.best) if row.state == "measured" else f"{row.state}: {row.reason}"


_SECONDS = 0.2
"""For the figure of a tiling that was chosen."""
PROFILES = ("disabled", "annotation", "nsys", "ncu")
_COMMANDS = {
    "nsys": "nsys profile --capture-range=cudaProfilerApi -o {name}",
    "ncu": "ncu --set full --kernel-name regex:{name} -o {name}",
}


@dataclass(frozen=True, slots=True)
class _Known:
    """A choice, and what it was looked up for: looking takes milliseconds, comparing these less than one thousandth."""

    settings: Settings
    autotune: bool
    tiling: Any
    changeable: dict[str, Any]
    chosen: Any
    """The tiling that is kept for the problem; None: the kernel's own."""


class KernelPlan:
    """What a kernel needs beside its kernel."""

    REQUIRES: ClassVar[str] = ""
    """The architecture that it is for, as `sm_100a`; empty: any."""
    tiling: Any = None
    _known: ClassVar[_Known | None] = None
    """What the last call has looked up, until an attribute is assigned; of the instance, and no field of it."""

    def plan(self, *inputs: Any) -> CuteKernel:
        """The kernel for these inputs."""
        raise PlanError(f"{type(self).__name__} has no plan", instead="def plan(self, *inputs): return CuteKernel(...)")

    def reference(self, *inputs: Any) -> Any:
        """What it should compute."""
        raise PlanError(f"{type(self).__name__} has no reference", instead="def reference(self, *inputs): ...")

    def prepare_inputs(self, seed: int = 0) -> list[Any]:
        """New inputs of the plan's dimensions."""
        raise PlanError(f"{type(self).__name__} has no prepare_inputs", instead="def prepare_inputs(self, seed=0): ...")

    def _autotune_configs(self) -> Sequence[Any]:
        """Tilings to choose from."""
        return ()

    def _algorithmic_flops_bytes(self, *inputs: Any) -> tuple[float, float]:
        """What any kernel must compute and move; unknown: zeros."""
        return 0.0, 0.0

    def buckets(self) -> dict[str, Any]:
        """The problem as choices are kept for it: its dimensions. Round them, and problems share their tiling."""
        return {name: getattr(self, name) for name in self._numbers(self)}

    def planned(self, *inputs: Any, autotune: bool = False) -> CuteKernel:
        """The kernel with the tiling that is kept for this problem, else with its own.

        It is tuned where nothing is kept by `autotune=True` or `TRIPTYCH_TUNE=1`. A tiling that was given to this plan
        counts more than any that is kept.
        """
        kernel = self.plan(*inputs)
        settings, tiling = config(), self.tiling
        known = self._known
        if (
            known is None
            or known.settings is not settings
            or known.autotune is not autotune
            or known.tiling is not tiling
            or (known.changeable and known.changeable != _changeable(tiling))
        ):
            chosen = self._choose(kernel, inputs, autotune or settings.tune)
            known = _Known(settings, autotune, tiling, _changeable(tiling), chosen)
            object.__setattr__(self, "_known", known)
        if known.chosen is not None:
            kernel.tiling = known.chosen
        return kernel

    def __setattr__(self, name: str, value: object) -> None:
        """Another problem: what was looked up for the one before counts no more."""
        object.__setattr__(self, name, value)
        object.__setattr__(self, "_known", None)

    def _choose(self, kernel: CuteKernel, inputs: Sequence[Any], tune: bool) -> Any:
        """The tiling that is kept for the problem as it is now; None: the kernel's own."""
        tilings = list(self._autotune_configs())
        if not tilings or self._has_tiling_of_its_own():
            return None
        file = Path(inspect.getfile(type(self)))
        chosen = chosen_for(file, self.buckets())
        if chosen is not None:
            return next((tiling for tiling in tilings if tiling.parameters() == chosen), None)
        if tune:
            kernel.autotune_configs = kernel.autotune_configs or tilings
            kernel.autotune()
            row = Row(0, kernel.tiling.parameters(), "measured", "measured", [kernel.bench(_SECONDS).median])
            keep_choice(self.contract(file), list(inputs), device(config().target or HOST), row)
            return kernel.tiling
        return None

    def _has_tiling_of_its_own(self) -> bool:
        """Whether it is another than the class says."""
        usual = next((row.default for row in _fields(type(self)) if row.name == "tiling"), type(self).tiling)
        return usual is not dataclasses.MISSING and self.tiling != usual

    def contract(self, file: Path) -> Contract:
        """The plan as the workbench's commands take it."""
        known = type(self)._algorithmic_flops_bytes is not KernelPlan._algorithmic_flops_bytes
        return Contract(
            file,
            lambda *inputs: self.planned(*inputs).run(),
            self.reference,
            self.prepare_inputs,
            work=self._algorithmic_flops_bytes if known else None,
            requires=self.REQUIRES,
            format="plan",
            configs=[tiling.parameters() for tiling in self._autotune_configs()],
            configured=self._configured,
            config_problems=lambda config, device: self._tiling(config).problems(self, device),
            bucket=lambda *_: self.buckets(),
            called=type(self).__name__,
        )

    def _tiling(self, config: Mapping[str, Any]) -> Any:
        return next(tiling for tiling in self._autotune_configs() if tiling.parameters() == config)

    def _configured(self, config: Mapping[str, Any]) -> Callable[..., Any]:
        def kernel(*inputs: Any) -> Any:
            planned = self.plan(*inputs)
            planned.tiling = self._tiling(config)
            return planned.run()

        return kernel

    def benchmark_kernel_argparse(self, argv: Sequence[str] | None = None) -> int:
        """The command line of this plan: `--b=32 --check --prof_type=disabled --tiling.tile_m=64`; the exit code."""
        chosen = self._parser().parse_args(argv)
        made = self._with(vars(chosen))
        if made.REQUIRES and device(HOST).architecture != made.REQUIRES:
            print(f"SKIPPED: {type(made).__name__} needs {made.REQUIRES}, and this machine has {HOST}")
            return 0
        contract = made.contract(Path(sys.argv[0]))
        if chosen.autotune:
            kernel = made.plan(*made.prepare_inputs())
            made.tiling = kernel.autotune()
            for config, what in kernel.tuned.items():
                print(f"{config}: {what}")
        if chosen.check:
            found = verify(contract, VerifyOptions(seeds=1))
            print(found.verdict.upper(), *(finding.text for finding in found.findings))
            if found.verdict == "fail":
                return 1
        if chosen.prof_type in _COMMANDS:
            print(_profile(chosen.prof_type, type(made).__name__))
            return 0
        answer = bench(contract, type(made).__name__, {}, BenchOptions(chosen.seconds, with_roofs=False))
        hot, cold = (time_text(answer[kind]["median"]) for kind in ("hot", "cold"))
        print(f"{answer['case']}: {hot} hot, {cold} cold")
        return 0

    def _parser(self) -> argparse.ArgumentParser:
        parser = argparse.ArgumentParser(description=(type(self).__doc__ or "").partition("\n")[0])
        for row in self._numbers(self):
            parser.add_argument(f"--{row}", type=type(getattr(self, row)), default=getattr(self, row))
        for row in self._numbers(self.tiling):
            value = getattr(self.tiling, row)
            parser.add_argument(f"--tiling.{row}", type=type(value), default=value)
        parser.add_argument("--check", action="store_true", help="verify it first")
        parser.add_argument("--autotune", action="store_true", help="choose the tiling by trying")
        parser.add_argument("--prof_type", choices=PROFILES, default="disabled")
        parser.add_argument("--seconds", type=float, default=1.0)
        return parser

    def _with(self, chosen: dict[str, Any]) -> KernelPlan:
        replaced: Any = dataclasses.replace
        made: KernelPlan = replaced(self) if dataclasses.is_dataclass(type(self)) else self
        for name in self._numbers(self):
            object.__setattr__(made, name, chosen[name])
        if dataclasses.is_dataclass(self.tiling):
            tiles = {name: chosen[f"tiling.{name}"] for name in self._numbers(self.tiling)}
            object.__setattr__(made, "tiling", replaced(self.tiling, **tiles))
        return made

    @staticmethod
    def _numbers(thing: Any) -> list[str]:
        rows = dataclasses.fields(thing) if dataclasses.is_dataclass(thing) else ()
        return [row.name for row in rows if type(getattr(thing, row.name)) in (int, float, str)]


def _changeable(tiling: Any) -> dict[str, Any]:
    """What may be assigned in a tiling, copied; nothing of one that is frozen."""
    made: Any = getattr(type(tiling), "__dataclass_params__", None)
    if tiling is None or (made is not None and made.frozen):
        return {}
    return {row.name: getattr(tiling, row.name) for row in _fields(type(tiling))} or dict(vars(tiling))


def _fields(kind: Any) -> Sequence[dataclasses.Field[Any]]:
    return dataclasses.fields(kind) if dataclasses.is_dataclass(kind) else ()


def _profile(tool: str, name: str) -> str:
    """The command for a machine that has the profiler."""
    command = f"{_COMMANDS[tool].format(name=name)} {sys.executable} {' '.join(sys.argv)}"
    where = "run" if shutil.which(tool) else f"{tool} is not installed here; where it is, run"
    return f"{where}: {command}"

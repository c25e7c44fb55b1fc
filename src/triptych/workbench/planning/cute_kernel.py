"""`CuteKernel`: a launch with its tensors and its tiling, ready to be run, kept as files, tuned and verified."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from triptych.cute.tuning.rows import Config, Row
from triptych.cute.tuning.search import search_named
from triptych.cute.tuning.trying import try_all
from triptych.support.config import override
from triptych.workbench.arrays import Array
from triptych.workbench.errors import PlanError
from triptych.workbench.measurement.clocks import HostClock
from triptych.workbench.measurement.sampling import Figure, figure, warm_up
from triptych.workbench.units import time_text


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

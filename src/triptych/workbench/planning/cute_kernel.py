"""`CuteKernel`: a launch with its tensors and its tiling, ready to be run, kept as files, tuned and verified."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from triptych.support.config import override
from triptych.workbench.arrays import Array
from triptych.workbench.errors import PlanError
from triptych.workbench.measurement.clocks import HostClock
from triptych.workbench.measurement.sampling import Figure, figure, warm_up


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
        """Take the fastest of `autotune_configs`. What cannot run is left out, with its reason in `tuned`."""
        times: list[tuple[float, Any]] = []
        for config in self.autotune_configs:
            self.tiling = config
            try:
                found = self.bench(seconds)
            except Exception as error:  # of one configuration, which ends in the table
                self.tuned[str(config)] = f"failed: {type(error).__name__}: {str(error).splitlines()[0]}"
                continue
            self.tuned[str(config)] = f"{found.median * 1e6:.4g} µs"
            times.append((found.median, config))
        if not times:
            raise PlanError(
                f"none of {len(self.autotune_configs)} configurations of {self.name} can run",
                found="; ".join(self.tuned.values()) or "no configurations",
                expected="at least one that runs",
            )
        self.tiling = min(times, key=lambda pair: pair[0])[1]
        return self.tiling

    def _launch(self) -> None:
        self.launch_fn(self.tiling)

"""`cuda.core` without a driver: the device and the streams that host programs begin with."""

from __future__ import annotations

from typing import Any, NoReturn

from triptych.compat.cuda_bindings.handles import new_number
from triptych.compat.errors import CudaCallError
from triptych.compat.modelled_gpu import check_device_number, modelled_gpu
from triptych.support.dataclass import dataclass

__all__ = ["ComputeCapability", "Device", "Stream"]

_CHOSEN: list[int] = []


def __getattr__(name: str) -> NoReturn:
    if name.startswith("_"):
        raise AttributeError(f"module 'cuda.core' has no attribute {name!r}")
    raise CudaCallError(
        f"`cuda.core.{name}` has no meaning where kernels run on the CPU",
        found=f"cuda.core.{name}",
        expected=f"one of {', '.join(__all__)}",
    )


@dataclass(frozen=True, slots=True)
class ComputeCapability:
    """(10, 0) of sm_100."""

    major: int
    minor: int

    def __iter__(self) -> Any:
        return iter((self.major, self.minor))


class Stream:
    """A queue of work, by its handle; what runs on it has run when a call returns."""

    def __init__(self) -> None:
        self.handle = new_number()

    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, self.handle

    def sync(self) -> None:
        """Wait for its work."""

    def close(self) -> None:
        """Give it back."""


class Device:
    """A modelled GPU by its number; without one, the GPU in use."""

    def __init__(self, device_id: int | None = None) -> None:
        self.device_id = check_device_number(device_id) if device_id is not None else _CHOSEN[-1] if _CHOSEN else 0

    def __int__(self) -> int:
        return self.device_id

    def __repr__(self) -> str:
        return f"<Device {self.device_id} ({self.name})>"

    @property
    def name(self) -> str:
        """As CUDA calls it."""
        return modelled_gpu().name

    @property
    def compute_capability(self) -> ComputeCapability:
        """The generation."""
        return ComputeCapability(*modelled_gpu().capability)

    @property
    def arch(self) -> str:
        """The generation as text, "100"."""
        return str(modelled_gpu().generation)

    def set_current(self, context: object = None) -> None:
        """Use it from now on."""
        _CHOSEN[:] = [self.device_id]

    def create_stream(self, obj: object = None, *, options: object = None) -> Stream:
        """A new stream."""
        return Stream()

    def sync(self) -> None:
        """Wait for all work."""

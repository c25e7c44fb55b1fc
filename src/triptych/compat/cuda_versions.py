"""CUDA version that programs ask for: the one whose PTX is made and whose driver is modelled."""

from __future__ import annotations

from typing import NamedTuple


class CudaVersion(NamedTuple):
    """A version of CUDA; versions compare as their numbers do."""

    major: int
    minor: int

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}"


CUDA_VERSION = CudaVersion(13, 0)


def target_version(
    exact_version: str | None = None, *, min_version: str | None = None, max_version: str | None = None
) -> bool:
    """Whether code is made for a version of CUDA, "13.1", or for one in a range of them with both ends."""
    exact, low, high = (None if text is None else _read(text) for text in (exact_version, min_version, max_version))
    return (
        (exact is None or exact == CUDA_VERSION)
        and (low is None or low <= CUDA_VERSION)
        and (high is None or high >= CUDA_VERSION)
    )


def _read(text: str) -> CudaVersion:
    major, _, minor = text.partition(".")
    return CudaVersion(int(major), int(minor or 0))

"""The version of CUDA that programs ask for."""

from __future__ import annotations

import pytest

import triptych as tt


@pytest.mark.parametrize(
    ("given", "holds"),
    [
        ({}, True),
        ({"exact_version": "13.0"}, True),
        ({"exact_version": "12.9"}, False),
        ({"min_version": "13.1"}, False),
        ({"min_version": "12", "max_version": "13.0"}, True),
        ({"max_version": "12.9"}, False),
    ],
)
def test_ranges_of_versions(given: dict[str, str], holds: bool) -> None:
    assert tt.target_version(**given) is holds


def test_the_version_has_numbers() -> None:
    assert (tt.CUDA_VERSION.major, tt.CUDA_VERSION.minor) == (13, 0)
    assert str(tt.CUDA_VERSION) == "13.0"

"""What GPUs' conversion instructions are made into gives the numbers of the formats, whatever the architecture.

No GPU is needed: the instructions are replaced by formulas, and all that is built around them runs on the CPU.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from tests.laws.floats.elementwise import elementwise
from tests.laws.floats.nvidia_instructions import FORMATS, EmulatedFloats
from tests.laws.floats.oracles import interesting, numbers, patterns, rounded, same
from tests.laws.test_narrow_floats import check, convert, without_ml_dtypes_exceptions
from triptych.support.float_formats import FLOAT_FORMATS
from triptych.targets.cpu.passes import narrow_floats
from triptych.targets.nvptx.description.architectures import ARCHITECTURES

SATURATE = "{triptych.saturate}"
each_format = pytest.mark.parametrize("name", FORMATS.values())
lanes_even_and_odd = pytest.mark.parametrize("lanes", [None, 1, 16])


@pytest.fixture(params=["sm_80", "sm_89", "sm_90a", "sm_100a"], autouse=True)
def architecture(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The CPU expands as the architecture would."""
    machine = EmulatedFloats(ARCHITECTURES[request.param])
    monkeypatch.setattr(narrow_floats, "CpuFloats", lambda: machine)
    elementwise.cache_clear()
    yield
    elementwise.cache_clear()


@lanes_even_and_odd
@each_format
def test_every_pattern_widens_exactly(name: str, lanes: int | None) -> None:
    (found,) = elementwise(convert("extf", name, "f32"), (name,), ("f32",), lanes)(patterns(name))
    assert same(found, numbers(patterns(name), name)).all()


@lanes_even_and_odd
@pytest.mark.parametrize("name", [*FORMATS.values(), "f16", "bf16"])
def test_rounding_overflowing_and_saturating(name: str, lanes: int | None) -> None:
    form = FLOAT_FORMATS[name]
    values = without_ml_dtypes_exceptions(interesting(name), name)
    body = convert("truncf", "f32", name, SATURATE)
    results: list[Any] = [name]
    if form.width < 16:
        body += convert("truncf", "f32", name, result="%r1")
        results.append(name)
    finite, *plain = elementwise(body, ("f32",), tuple(results), lanes)(values)
    largest = np.float32(form.decode(form.largest))
    check(finite, rounded(np.clip(values, -largest if form.signed else None, largest), name), name, values)
    for found in plain:
        check(found, rounded(values, name), name, values)


@pytest.mark.parametrize("name", [name for name in FORMATS.values() if FLOAT_FORMATS[name].nan is None])
def test_nan_becomes_the_largest_number_where_there_is_no_nan(name: str) -> None:
    values = np.array([np.nan, -np.nan], np.float32)
    (found,) = elementwise(convert("truncf", "f32", name), ("f32",), (name,), 1)(values)
    assert list(found) == [FLOAT_FORMATS[name].largest] * 2


@lanes_even_and_odd
def test_tf32_has_zeros_where_float32_goes_on(lanes: int | None) -> None:
    form = FLOAT_FORMATS["tf32"]
    values = np.random.default_rng(3).integers(0, 1 << 32, 20_000, dtype=np.uint32)
    values[::2] &= np.uint32(0xFFFFE000)
    values[::4] |= np.uint32(0x1000)
    values[:4] = 0x7F7FFFFF, 0xFF7FFFFF, 0x7F800000, 0x7FC00001
    floats = values.view(np.float32)
    body = convert("truncf", "f32", "tf32") + convert("truncf", "f32", "tf32", SATURATE, "%r1")
    found, finite = elementwise(body, ("f32",), ("tf32", "tf32"), lanes)(floats)
    expected = np.array([form.round(float(value)) for value in floats], np.float32)
    assert same(found, expected).all()
    largest = np.float32(form.decode(form.largest))
    assert same(finite, np.clip(expected, -largest, largest)).all()
    assert not (np.concatenate([found, finite]).view(np.uint32) & 0x1FFF).any()

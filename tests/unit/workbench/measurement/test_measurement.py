"""Measuring, with clocks and samples that are made up: what the statistics promise holds, and nothing waits."""

from __future__ import annotations

import gc
import importlib.util
import json
import math
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from tests.unit.workbench import corpus
from triptych.workbench.commands.bench import sweep_of
from triptych.workbench.errors import ContractError, ImpossibleTimeError, RecordError
from triptych.workbench.measurement.benching import check_time, chosen_cases, floor_of
from triptych.workbench.measurement.candidate import cold_sets
from triptych.workbench.measurement.clocks import GpuClock, HostClock, clock_for
from triptych.workbench.measurement.records import new_record, read_record
from triptych.workbench.measurement.sampling import (
    compared,
    figure,
    figure_of,
    in_turns,
    median_interval,
    paired_interval,
)
from triptych.workbench.measurement.worker import moved
from triptych.workbench.pictures import roofline, sweep, write_picture


class FakeClock:
    """Tells for each call what that call says."""

    name = "fake"
    cost = 1e-7

    def __init__(self) -> None:
        self.measured: list[int] = []

    def seconds(self, call: Callable[[], Any], repeats: int) -> float:
        self.measured.append(repeats)
        return sum(float(call()) for _ in range(repeats))

    def evict(self) -> None:
        """Nothing is kept."""


def noisy(seconds: float, seed: int, spread: float = 0.05) -> Callable[[], float]:
    """A call with heavy tails above, as on a busy machine."""
    random = np.random.default_rng(seed)
    return lambda: float(seconds * (1 + spread * random.standard_exponential()))


@pytest.mark.parametrize("n", [6, 10, 25, 150, 1001])
def test_the_interval_of_a_median_is_the_widest_that_is_allowed(n: int) -> None:
    interval = median_interval(np.arange(n, dtype=float))
    k = int(interval.low)
    outside = [sum(math.comb(n, i) for i in range(ranks)) / 2**n for ranks in (k + 1, k + 2)]
    assert outside[0] <= 0.025 < outside[1]
    assert interval.high == n - 1 - k


def test_five_samples_say_nothing() -> None:
    assert median_interval(np.arange(5.0)).high == math.inf
    assert paired_interval(np.arange(3.0)).high == math.inf


def test_intervals_of_pairs_hold_what_they_promise() -> None:
    random = np.random.default_rng(1)
    missed = 0
    for _ in range(300):
        interval = paired_interval(0.02 + 0.05 * random.standard_t(2, 60))
        missed += not interval.low <= 0.02 <= interval.high
    assert missed <= 9  # 1 % of 300 are 3


def tenths_of_seconds() -> Callable[[], float]:
    """A time that passes by being asked for."""
    times: Iterator[float] = iter(np.arange(0.0, 20.0, 0.1))
    return lambda: next(times)


def verdict(slower: float, seed: int) -> str:
    random = np.random.default_rng(seed)
    drift = np.exp(np.cumsum(0.02 * random.standard_normal(400)))
    first, second, again, too = (drift * (1 + 0.08 * random.standard_exponential(400)) for _ in range(4))
    return compared(first, second * (1 + slower), again, too * (1 + slower)).verdict


def test_rounds_of_one_process_find_five_percent_and_never_two() -> None:
    assert sum(verdict(0.0, seed) in ("faster", "slower") for seed in range(100)) <= 1  # 0.2 are to be expected
    assert not any(verdict(0.02, seed) in ("faster", "slower") for seed in range(100))
    assert sum(verdict(0.05, seed) == "slower" for seed in range(100)) >= 99
    assert sum(verdict(-0.05, seed) == "faster" for seed in range(100)) >= 99


def test_sampling_stops_when_the_median_is_known_or_the_time_is_over() -> None:
    steady = figure(lambda: 1e-4, FakeClock(), 10.0, now=tenths_of_seconds())
    assert (len(steady.samples), steady.is_narrow, steady.median) == (16, True, 1e-4)
    restless = figure(noisy(1e-4, 0, 5.0), FakeClock(), 2.0, now=tenths_of_seconds())
    assert (len(restless.samples), restless.is_narrow) == (20, False)


def test_what_python_collects_before_takes_none_of_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    now = tenths_of_seconds()
    monkeypatch.setattr(gc, "collect", lambda: [now() for _ in range(50)])
    assert len(figure(noisy(1e-4, 0, 5.0), FakeClock(), 2.0, now=now).samples) == 20


def test_short_calls_are_measured_together() -> None:
    clock = FakeClock()
    found = figure(lambda: 1e-8, clock, 1.0)
    assert found.batch == 200
    assert clock.measured[-1] == 200
    assert found.median == pytest.approx(1e-8)


def test_two_sides_in_turns() -> None:
    assert in_turns(noisy(1e-4, 1), noisy(1.05e-4, 2), FakeClock(), 0.1).verdict == "slower"
    assert in_turns(noisy(1e-4, 1), noisy(0.9e-4, 2), FakeClock(), 0.1).verdict == "faster"
    same = in_turns(noisy(1e-4, 1, 0.01), noisy(1e-4, 2, 0.01), FakeClock(), 0.1)
    assert same.verdict == "same"
    assert same.text().startswith("same within 0.")


def test_the_host_clock_and_what_it_evicts() -> None:
    clock = HostClock(1 << 16)
    clock.evict()
    assert 0 < clock.cost < 1e-3
    assert clock.seconds(lambda: None, 10) > 0


def test_a_gpu_is_emptied_outside_of_what_is_measured() -> None:
    told: list[str] = []

    class Event:
        def __init__(self, enable_timing: bool) -> None:
            assert enable_timing

        def record(self) -> None:
            told.append("event")

        def elapsed_time(self, _: object) -> float:
            return 3.0

    spare = SimpleNamespace(zero_=lambda: told.append("evict"))
    cuda = SimpleNamespace(
        Event=Event,
        synchronize=lambda: told.append("wait"),
    )
    torch = SimpleNamespace(cuda=cuda, int8="int8", empty=lambda size, dtype, device: spare)
    clock = GpuClock(torch, 50 << 20, give_back=lambda: told.append("no persisting lines"))
    clock.evict()
    assert clock.seconds(lambda: told.append("call"), 2) == pytest.approx(3e-3)
    expected = "no persisting lines, evict, wait, wait, event, call, call, event, wait"
    assert ", ".join(told) == expected


def test_arguments_on_a_gpu_are_measured_by_its_events(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []

    class Tensor:
        device = SimpleNamespace(type="cuda")

        def untyped_storage(self) -> SimpleNamespace:
            return SimpleNamespace(device=self.device)

    cuda = SimpleNamespace(get_device_properties=lambda _: SimpleNamespace(L2_cache_size=40 << 20))
    fake = SimpleNamespace(cuda=cuda, Tensor=Tensor, int8="int8", empty=lambda size, dtype, device: made.append(size))
    monkeypatch.setitem(sys.modules, "torch", fake)
    assert clock_for([Tensor()]).name == "gpu"
    assert clock_for([Tensor()], graph=True).name == "gpu graph"
    assert made == [80 << 20, 80 << 20]
    assert clock_for([np.zeros(3)]).name == "host"
    with pytest.raises(ContractError, match="--graph is for kernels on a GPU"):
        clock_for([np.zeros(3)], graph=True)


def test_a_sweep_shows_rates_and_where_caches_are_full() -> None:
    work = {"flops": 8.0, "bytes": 96e3, "gflops": 1.0}
    cases = [case("8", 1e-4, work=work, bytes_touched=1 << 16), case("32", 2e-4, work=work, bytes_touched=1 << 18)]
    level = {"level": 2, "bytes": 1 << 16, "count": 2}
    axes = sweep({"file": "add.py", "cases": cases, "machine": {"caches": [level]}}, "n")
    assert axes.labels == ("n", "GB/s")
    (mark,) = [words for words in axes.words if words.text == "L2 128 KB"]
    assert mark.point[0] == pytest.approx(16 * 1.05)


def test_cold_arguments_are_more_than_the_cache_or_evicted() -> None:
    inputs = [np.zeros(1 << 10, np.uint8)]
    assert len(cold_sets(inputs, {"cache": 1 << 16, "room": 1 << 20})) == 130
    assert len(cold_sets(inputs, {"cache": 1 << 16, "room": 1 << 10})) == 1


ROOFS = {
    "levels": [
        {"name": "L1", "bytes": 1 << 16, "bandwidth": 1e11},
        {"name": "memory", "bytes": 1 << 62, "bandwidth": 1e10},
    ],
    "flops": {"float32": 1e11},
}


def test_what_is_faster_than_the_machine_is_an_error() -> None:
    floor, why = floor_of((10.0, 1e6), ROOFS, 1 << 20, "float32")
    assert (floor, why) == (1e-4, "1 MB at 10 GB/s (memory)")
    assert floor_of((1e9, 1e6), ROOFS, 1 << 20, "float32")[0] == 1e-2
    check_time(1e-4, floor, why)
    with pytest.raises(ImpossibleTimeError, match="less time than its work needs"):
        check_time(1e-6, floor, why)


@pytest.mark.parametrize(
    ("text", "values"),
    [("n=1024:16384:*2", [1024, 2048, 4096, 8192, 16384]), ("n=1:9:+4", [1, 5, 9]), ("n=3,5", [3, 5])],
)
def test_sweeps(text: str, values: list[int]) -> None:
    assert sweep_of(text) == {"n": values}


def test_a_sweep_that_leads_nowhere() -> None:
    with pytest.raises(ContractError, match="cannot be read"):
        sweep_of("n=1:9:*1")


def test_a_sweep_over_what_is_no_parameter() -> None:
    contract = corpus.contract(corpus.relu, corpus.relu, corpus.matrix)
    assert list(chosen_cases(contract, [], {"rows": [2, 4]})) == ["rows=2", "rows=4"]
    with pytest.raises(ContractError, match="no parameter 'row' to sweep over") as error:
        chosen_cases(contract, [], {"row": [2, 4]})
    assert "did you mean 'rows'?" in error.value.text()


def case(name: str, median: float, **more: Any) -> dict[str, Any]:
    hot = figure_of([median] * 20)
    figures = {"median": hot.median, "low": hot.low, "high": hot.high, "samples": hot.samples}
    return {"case": name, "parameters": {"n": int(name)}, "hot": figures, "cold": figures, "noise": 0.01, **more}


def test_records_are_read_back_and_checked(tmp_path: Path) -> None:
    file = tmp_path / "kernel.py"
    file.write_text("x = 1\n", encoding="utf-8")
    record = new_record(file, [case("8", 1e-4)], {"seconds": 1.0}, ["bench"])
    stored = tmp_path / "record.json"
    stored.write_text(json.dumps(record), encoding="utf-8")
    assert read_record(stored)["digest"] == record["digest"]
    stored.write_text(json.dumps({**record, "source": "x = 2\n"}), encoding="utf-8")
    with pytest.raises(RecordError, match="not the one that was measured"):
        read_record(stored)
    stored.write_text("{}", encoding="utf-8")
    with pytest.raises(RecordError, match="no record of this version"):
        read_record(stored)


def test_a_baseline_that_moved_decides_nothing() -> None:
    assert moved(case("8", 1e-4), [1.01e-4] * 9) == ""
    assert "moved by +50.0 %" in moved(case("8", 1e-4), [1.5e-4] * 9)


def test_pictures_are_svg(tmp_path: Path) -> None:
    work = {"flops": 1e6, "bytes": 1e6, "gflops": 10.0, "roofs": ROOFS}
    record = {"file": "add.py", "cases": [case("8", 1e-4, work=work), case("16", 2e-4, work=work)]}
    for text in (roofline(record).svg(), sweep(record, "n").svg()):
        assert ElementTree.fromstring(text).tag.endswith("svg")
    write_picture(tmp_path / "roof.svg", roofline(record))
    with pytest.raises(RecordError, match=r"an \.svg"):
        write_picture(tmp_path / "roof.bmp", roofline(record))
    with pytest.raises(RecordError, match="nothing to draw"):
        roofline({"file": "add.py", "cases": []})


def test_a_png_is_drawn_by_matplotlib_or_the_line_that_installs_it_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = {"flops": 1e6, "bytes": 1e6, "gflops": 10.0, "roofs": ROOFS}
    drawn = roofline({"file": "add.py", "cases": [case("8", 1e-4, work=work)]})
    file = tmp_path / "roof.png"
    if importlib.util.find_spec("matplotlib") is not None:
        write_picture(file, drawn)
        assert file.read_bytes().startswith(b"\x89PNG")
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(RecordError, match=r'pip install "triptych\[viz\]"'):
        write_picture(file, drawn)

"""Performance page: pictures, page and README say what the file of figures says, and it names no path of a machine."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from benchmarks import report, report_sections
from benchmarks.rows import Row

from docs.site import performance
from docs.site.bar_chart import Chart, number, svg

FIGURES = performance.figures()
WRITTEN = dict(performance.written(FIGURES))


@pytest.mark.parametrize("path", WRITTEN, ids=lambda path: path.name)
def test_what_is_committed_is_what_the_figures_give(path: Path) -> None:
    assert path.read_text(encoding="utf-8") == WRITTEN[path], "run `python -m benchmarks.report --draw`"


def test_each_section_is_measured_and_says_how() -> None:
    assert set(FIGURES) == set(performance.SECTIONS)
    for name, measured in FIGURES.items():
        assert measured["command"].startswith(f"python -m benchmarks.report {name}")
        assert re.fullmatch(r"\d{4}-\d\d-\d\d", measured["date"])
        assert re.search(r", \d+ cores, \d+ GiB$", measured["machine"])
        assert {"triptych", "Python"} < set(measured["versions"])
        assert "/" not in str(measured["machine"])


def test_regeneration_is_short() -> None:
    assert sum(measured["seconds"] for measured in FIGURES.values()) <= 12 * 60


def test_readme_has_one_measured_sentence_with_the_three_ratios() -> None:
    (found,) = performance.MEASURED.findall(performance.README.read_text(encoding="utf-8"))
    for ratio in performance.ratios(FIGURES).values():
        assert f" {number(ratio)} of " in found


def test_another_figure_is_another_sentence() -> None:
    changed = {name: dict(measured) for name, measured in FIGURES.items()}
    changed["call-overhead"]["bars"] = {"compiled(int, float)": {performance.OURS: 7.77}}
    assert "costs 7.77 of" in performance.sentence(changed)


def test_bars_are_as_long_as_their_numbers_and_cut_at_the_limit() -> None:
    chart = Chart("t", {"a": {"x": 1.0, "y": 2.0}, "b & c": {"x": 8.0}}, limit=4.0, line=1.0, line_says="equal")
    tree = ET.fromstring(svg(chart))
    bars = [each for each in tree.iter("{http://www.w3.org/2000/svg}rect") if each.get("height") == "14"]
    assert [float(bar.get("width", "")) for bar in bars] == [95.0, 190.0, 380.0]
    said = [each.text for each in tree.iter("{http://www.w3.org/2000/svg}text")]
    assert {"1.00", "2.00", "… 8.00", "b & c", "equal"} <= set(said)


def test_the_line_of_equality_is_inside_even_if_all_bars_are_shorter() -> None:
    tree = ET.fromstring(svg(Chart("t", {"a": {"x": 0.5}}, line=1.0)))
    (line,) = tree.iter("{http://www.w3.org/2000/svg}line")
    assert float(line.get("x1", "")) < float(tree.get("width", ""))


def test_every_section_has_a_measurement_and_versions() -> None:
    measured = [*report_sections.SECTIONS, *report_sections.ON_PUBLIC_EXAMPLES]
    assert sorted(measured) == sorted(performance.SECTIONS) == sorted(report.PACKAGES)


def test_what_is_missing_is_said_before_anything_is_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report, "runtime", lambda: None)
    assert report.missing(["call-overhead"], None) == ""
    assert "--public FOLDER" in report.missing(["sass"], None)
    assert "--public FOLDER" in report.missing(["sass"], tmp_path)
    (tmp_path / "cute").mkdir()
    assert report.missing(["sass"], tmp_path) == ""
    assert "pip install pyopencl" in report.missing(["cpu-kernels"], None)


def test_bars_are_chosen_from_rows_of_a_benchmark(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [
        Row("kernels: softmax: time / NumPy", 0.5, "times"),
        Row("kernels: softmax: time / OpenCL, int indices", 0.25, "times"),
        Row("kernels: softmax: time / OpenCL, size_t indices", 0.3, "times"),
        Row("kernels: softmax: load average", 9.0, "processes"),
    ]
    monkeypatch.setattr(report_sections, "rows_of", lambda name: rows)
    assert report_sections.cpu_kernels() == {"softmax": {"time / NumPy": 0.5, "time / OpenCL": 0.3}}

"""The statistics of measurements against SciPy, where it is installed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from triptych.workbench.measurement.sampling import mean_interval, median_interval, paired_interval, student_quantile


@pytest.fixture(scope="module")
def stats() -> Any:
    return pytest.importorskip("scipy.stats")


@pytest.mark.parametrize("freedom", [1, 2, 3, 5, 8, 31])
def test_quantiles_of_students_distribution(stats: Any, freedom: int) -> None:
    for probability in (0.6, 0.975, 0.995, 0.999):
        assert student_quantile(probability, freedom) == pytest.approx(stats.t.ppf(probability, freedom), rel=1e-9)


def test_the_interval_of_few_means(stats: Any) -> None:
    values = np.random.default_rng(3).normal(0.02, 0.01, 6)
    found = mean_interval(values, 0.998)
    low, high = stats.t.interval(0.998, 5, values.mean(), stats.sem(values))
    assert found.low == pytest.approx(low)
    assert found.high == pytest.approx(high)


@pytest.mark.parametrize("n", [6, 17, 100, 733])
def test_the_interval_of_a_median_is_that_of_the_binomial_distribution(stats: Any, n: int) -> None:
    values = np.random.default_rng(n).standard_exponential(n)
    found, ordered = median_interval(values), np.sort(values)
    k = int(stats.binom.ppf(0.025, n, 0.5))  # the first rank whose tail is more than 2.5 %
    assert (found.low, found.high) == (ordered[k - 1], ordered[n - k])


@pytest.mark.parametrize("n", [25, 60, 200])
def test_the_interval_of_pairs_is_where_wilcoxons_test_changes_its_mind(stats: Any, n: int) -> None:
    values = 0.01 + 0.05 * np.random.default_rng(n).standard_t(3, n)
    found = paired_interval(values, 0.99)
    inside, outside = found.low + 1e-9, found.low - 1e-3

    def doubt(centre: float) -> float:
        return float(stats.wilcoxon(values - centre, method="approx", correction=False).pvalue)

    assert doubt(outside) < 0.01
    assert doubt(inside) > 0.0085
    assert doubt(found.estimate) > 0.9

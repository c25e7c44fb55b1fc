"""Verification refuses what is wrong for the right reason, and nothing that is honest."""

from __future__ import annotations

import dataclasses
import os
from typing import Any

import numpy as np
import pytest

from tests.unit.workbench import corpus
from triptych.workbench.contracts.contract import Contract, Tolerance
from triptych.workbench.verification import plausibility
from triptych.workbench.verification.findings import Verification
from triptych.workbench.verification.verifying import VerifyOptions, verify

LOOSE = Tolerance(1e-3, 1e-3)


def verified(contract: Contract, seeds: int = 1, tolerance: Tolerance | None = None) -> Verification:
    return verify(contract, VerifyOptions(tolerance, seeds=seeds))


@pytest.mark.parametrize("wrong", corpus.WRONG, ids=lambda wrong: wrong.name)
def test_wrong_kernels_are_refused_for_their_reason(wrong: corpus.Wrong) -> None:
    found = verified(wrong.contract())
    for process in corpus.LEFT:
        process.kill()
        process.wait()
    corpus.LEFT.clear()
    assert found.verdict == "fail"
    assert found.reasons[0] in wrong.reasons, found.findings


def test_a_plain_check_accepts_many_of_them() -> None:
    accepted = [wrong.name for wrong in corpus.WRONG if corpus.plain_check_accepts(wrong)]
    assert len(corpus.WRONG) >= 24
    assert {"pointer-keyed cache", "lazy result", "half-precision sums"} & set(accepted)
    assert len(accepted) >= 8


@pytest.mark.parametrize("name", corpus.HONEST)
def test_honest_kernels_pass(name: str) -> None:
    found = verified(corpus.contract(*corpus.HONEST[name]), seeds=2)
    assert found.verdict == "pass", found.findings


def test_a_tolerance_that_accepts_zeros_is_weak() -> None:
    honest = corpus.contract(corpus.softmax, corpus.softmax, corpus.wide)
    cheat = corpus.contract(np.zeros_like, corpus.softmax, corpus.wide)
    assert verified(honest).verdict == "pass"
    for contract in (honest, cheat):
        found = verified(contract, tolerance=LOOSE)
        assert (found.verdict, found.reasons) == ("weak", ["weak"])
        assert "zeros would pass" in found.findings[0].text
    assert verify(honest, VerifyOptions(LOOSE, seeds=1, allow_weak=True)).verdict == "pass"


def test_where_the_wrong_ones_lie() -> None:
    def kernel(x: np.ndarray) -> Any:
        return corpus.set_to(corpus.relu(x), slice(32, 48), 7.0)

    (finding,) = verified(corpus.contract(kernel, corpus.relu, corpus.matrix)).findings
    assert "rows 32–47, every column" in finding.text
    assert "1536 of 4608 elements are wrong" in finding.text


def test_results_that_change_in_the_last_bit_are_not_deterministic() -> None:
    calls: list[int] = []

    def kernel(x: np.ndarray) -> Any:
        calls.append(0)
        return corpus.softmax(x) * np.float32(1 + 1.2e-7 * (len(calls) % 2))

    found = verified(corpus.contract(kernel, corpus.softmax, corpus.matrix))
    assert found.verdict == "pass"
    assert [finding.reason for finding in found.findings] == ["not deterministic"]


def test_a_kernel_may_change_what_it_says_it_changes() -> None:
    def double(x: np.ndarray) -> None:
        x *= 2

    contract = dataclasses.replace(corpus.contract(double, double, corpus.matrix), mutates=frozenset({0}))
    assert verified(contract).verdict == "pass"


def test_an_error_bound_and_a_check_of_the_file() -> None:
    def approximate(x: np.ndarray) -> Any:
        return corpus.softmax(x) * np.float32(1.001)

    def check(outputs: list[Any], *_: Any) -> bool:
        return bool(np.all(outputs[0].sum(axis=1) < 1.0005))

    contract = corpus.contract(approximate, corpus.softmax, corpus.matrix)
    bounded = dataclasses.replace(contract, error_bound=lambda x: 0.002 * corpus.softmax(x))
    assert verified(bounded).verdict == "pass"
    assert verified(dataclasses.replace(bounded, check=check)).reasons == ["check"]


def test_what_a_machine_does_not_have_is_skipped() -> None:
    contract = dataclasses.replace(corpus.contract(corpus.raises, corpus.softmax, corpus.matrix), requires="sm_100a")
    found = verified(contract)
    assert found.verdict == "skipped"
    assert "sm_100a" in found.findings[0].text


def test_a_kernel_may_refuse_odd_extents() -> None:
    def kernel(x: np.ndarray) -> Any:
        if x.shape[1] % 2:
            raise ValueError("an even number of columns")
        return corpus.relu(x)

    found = verified(corpus.contract(kernel, corpus.relu, corpus.matrix))
    assert found.verdict == "pass"
    assert [finding.reason for finding in found.findings] == ["refused"]


def test_counts_that_agree_by_chance_are_not_weak() -> None:
    """Two counts are equal, or those of another seed, now and then: that says nothing of the tolerance."""

    def inputs(seed: int = 0) -> list[np.ndarray]:
        return [np.random.default_rng(seed).integers(0, 2, 4)]

    def counts(x: np.ndarray) -> Any:
        return np.array([(x == 0).sum(), (x == 1).sum()])

    for seed in range(12):
        found = verified(corpus.contract(counts, counts, lambda seed=0, by=seed: inputs(seed + 100 * by)))
        assert found.verdict == "pass", (seed, found.findings)
    always = corpus.contract(np.sign, np.sign, lambda seed=0: [np.random.default_rng(seed).random(8) + 1])
    assert verified(always).reasons == ["weak"]


def test_a_number_that_cancels_is_not_refused_and_a_small_one_is_not_excused() -> None:
    """A normalised number near zero is off by a part of one; a small probability is off by a part of itself."""
    contract = corpus.contract(corpus.norm_one_pass, corpus.norm, lambda seed=0: corpus.matrix(seed + 7919 * 38))
    assert verified(contract).verdict == "pass"

    def kernel(x: np.ndarray) -> Any:
        result = corpus.softmax(x)
        smallest = np.unravel_index(result.argmin(), result.shape)
        return corpus.set_to(result, smallest, float(result[smallest]) * 1.001)

    assert verified(corpus.contract(kernel, corpus.softmax, corpus.matrix)).reasons == ["numbers"]


def test_a_process_that_is_about_to_run_another_program_counts_as_that(monkeypatch: pytest.MonkeyPatch) -> None:
    """Between fork and exec a worker of ours has the command of whoever starts it."""
    seen = iter(["python kernel.py", "python triptych/worker.py"])
    monkeypatch.setattr(plausibility, "_command", lambda pid: "python kernel.py" if pid == os.getpid() else next(seen))
    monkeypatch.setattr(plausibility, "_children", set)
    left = plausibility.Leftovers()
    monkeypatch.setattr(plausibility, "_children", lambda: {-1})
    assert list(left.problems()) == []

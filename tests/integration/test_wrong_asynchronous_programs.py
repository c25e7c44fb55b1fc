"""Asynchronous programs with one rule left out: each is named at its line, by the texts beside this file.

How it is found: by the report of a deadlock or the counts of a barrier, in any build; by the checking build; or, where
nothing is wrong on the way, by a result that depends on the order.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.golden import Golden
from tests.support.wrong_clusters import shared_of
from tests.support.wrong_pipelines import result_of
from tests.support.wrong_products import cluster_of, product_of
from triptych.cute.tracing.errors import BoxCopyError
from triptych.diagnostics.kernel_errors import AsyncAccessError, ClusterError, DeadlockError, MbarrierError
from triptych.support.config import override
from triptych.support.errors import TriptychError

Program = Callable[[str], bool]
TEXTS = Path(__file__).parent / "wrong_asynchronous_programs"
ALWAYS: dict[str, Any] = {}
CHECKING = {"debug": "async"}
LATE, BY_CHANCE = {"async_": "late"}, {"async_": "seed:1"}
RIGHT = [*((result_of, each) for each in (LATE, BY_CHANCE, CHECKING)), (product_of, LATE), (product_of, CHECKING)]

WRONG: list[tuple[Program, str, dict[str, Any], type[TriptychError], str]] = [
    (result_of, "wait", ALWAYS, DeadlockError, "the producer waits"),
    (result_of, "expect_tx", CHECKING, AsyncAccessError, "the arithmetic"),
    (result_of, "release", ALWAYS, DeadlockError, "the producer waits"),
    (result_of, "fence_proxy", CHECKING, AsyncAccessError, "the store"),
    (result_of, "phase", ALWAYS, DeadlockError, "the producer waits"),
    (result_of, "tx_count too large", ALWAYS, DeadlockError, "the consumer waits"),
    (result_of, "tx_count too small", ALWAYS, DeadlockError, "the consumer waits"),
    (result_of, "arrive count", ALWAYS, DeadlockError, "the producer waits"),
    (result_of, "stage reused early", CHECKING, MbarrierError, "expected at once"),
    (result_of, "store wait", CHECKING, AsyncAccessError, "the arithmetic"),
    (product_of, "fence_proxy", CHECKING, AsyncAccessError, "the product"),
    (product_of, "wgmma fence", CHECKING, AsyncAccessError, "the product"),
    (product_of, "wgmma commit", CHECKING, AsyncAccessError, "the result"),
    (product_of, "wgmma wait", CHECKING, AsyncAccessError, "the result"),
    (product_of, "factors overwritten", CHECKING, AsyncAccessError, "the next factors"),
    (cluster_of, "cluster barrier", ALWAYS, ClusterError, "the other block"),
    (shared_of, "tail", ALWAYS, ClusterError, "the release"),
    (result_of, "swizzle", ALWAYS, BoxCopyError, "the load"),
]


@pytest.mark.parametrize(
    ("program", "wrong", "settings", "error", "line"), WRONG, ids=[f"{row[0].__name__}-{row[1]}" for row in WRONG]
)
def test_a_rule_that_is_left_out_is_named(
    program: Program, wrong: str, settings: dict[str, Any], error: type[TriptychError], line: str, golden: Golden
) -> None:
    with override(**settings), pytest.raises(error) as caught:
        program(wrong)
    span = caught.value.span
    assert span is not None
    source = Path(span.file)
    assert f"# {line}" in source.read_text(encoding="utf-8").splitlines()[span.line - 1]
    text = str(caught.value).replace(str(source.parent), "").replace("/wrong_", "wrong_")
    golden.check(TEXTS / f"{program.__name__}-{wrong.replace(' ', '_')}.txt", f"{text}\n")


@pytest.mark.parametrize(("program", "settings"), [*RIGHT, (cluster_of, ALWAYS), (shared_of, LATE)])
def test_the_right_program_is_right_in_every_order(program: Program, settings: dict[str, Any]) -> None:
    with override(**settings):
        assert program("")


def test_what_is_wrong_only_late_is_seen_late() -> None:
    assert result_of("store wait")
    with override(**LATE):
        assert not result_of("store wait")

"""The matcher itself: each directive accepts what it should, and refuses everything else."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.ir.filecheck import CheckFailedError, check, directives

TEXT = """func @f(%a: i32) {
  %0 = addi %a, %a
  %1 = muli %0, %a
  %2 = addi %1, %0
  return %2
}
"""


def lines(*texts: str) -> str:
    return "".join(f"    # {text}\n" for text in texts)


@pytest.mark.parametrize(
    "expected",
    [
        ["CHECK: addi", "CHECK: muli", "CHECK: addi"],
        ["CHECK: func @f", "CHECK-NEXT: addi", "CHECK-NEXT: muli"],
        ["CHECK-COUNT-2: addi", "CHECK-NOT: addi"],
        ["CHECK: muli", "CHECK-NOT: muli", "CHECK: return"],
        ["CHECK-NOT: subi"],
        ["CHECK: %{{[0-9]+}} = muli", "CHECK-NEXT: %2 =   addi %{{.}}, %0"],
        ["CHECK: (%a: i32) {"],
    ],
)
def test_fulfilled(expected: list[str]) -> None:
    check(TEXT, directives(lines(*expected)))


@pytest.mark.parametrize(
    ("expected", "failing"),
    [
        (["CHECK: subi"], 1),
        (["CHECK: muli", "CHECK: muli"], 2),
        (["CHECK: func @f", "CHECK-NEXT: muli"], 2),
        (["CHECK: func", "CHECK-NEXT: @f"], 2),
        (["CHECK-COUNT-3: addi"], 1),
        (["CHECK: func", "CHECK-NOT: muli", "CHECK: return"], 2),
        (["CHECK-NOT: muli", "CHECK: return"], 1),
        (["CHECK: muli", "CHECK-NOT: return"], 2),
        (["CHECK: return", "CHECK: func"], 2),
        (["CHECK: a.di"], 1),
    ],
)
def test_not_fulfilled(expected: list[str], failing: int) -> None:
    with pytest.raises(CheckFailedError) as failure:
        check(TEXT, directives(lines(*expected)))
    assert failure.value.directive.line == failing


@pytest.mark.parametrize("line", ["CHEKC: a", "CHECK-COUNT: a", "CHECK-4: a", "CHECK-NXT: a", "CHECK:"])
def test_a_misspelt_directive_is_an_error(line: str) -> None:
    with pytest.raises(ValueError, match="CHECK line"):
        directives(lines(line))


WORDS = st.lists(st.sampled_from(["add", "mul", "(%x)", "a.b", "[0]"]), min_size=1, max_size=12)


@given(WORDS, st.data())
def test_every_subsequence_of_the_lines_is_found(words: list[str], data: st.DataObject) -> None:
    kept = data.draw(st.lists(st.integers(0, len(words) - 1), unique=True, min_size=1).map(sorted))
    check("\n".join(words), directives(lines(*(f"CHECK: {words[i]}" for i in kept))))


@given(WORDS, st.sampled_from(["add", "mul", "(%x)"]), st.integers(1, 12))
def test_counting_agrees_with_python(words: list[str], word: str, count: int) -> None:
    expected = directives(lines(f"CHECK-COUNT-{count}: {word}", f"CHECK-NOT: {word}"))
    if words.count(word) == count:
        check("\n".join(words), expected)
    else:
        with pytest.raises(CheckFailedError):
            check("\n".join(words), expected)

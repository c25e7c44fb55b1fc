"""Facts of run-time errors survive the way through the compiled program."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from triptych.diagnostics.check_errors import pack, unpack
from triptych.diagnostics.runtime_errors import AssertionFailedError
from triptych.support.source import Span

TEXTS = st.text(st.characters(codec="utf-8"))
SPANS = st.builds(
    Span, TEXTS, st.integers(1), st.integers(0), st.none() | st.integers(1), st.none() | st.integers(0), TEXTS
)
FACTS = st.fixed_dictionaries(
    {"title": TEXTS, "span": st.none() | SPANS, "found": TEXTS, "expected": TEXTS, "instead": TEXTS}
    | {"notes": st.lists(TEXTS), "related": st.lists(st.tuples(TEXTS, SPANS))}
)


@given(FACTS)
def test_an_error_made_of_the_unpacked_facts_is_the_error(facts: dict[str, object]) -> None:
    text = pack(**facts)  # type: ignore[arg-type]
    assert text.isascii()  # compiled code carries bytes that end with a zero
    assert "\0" not in text
    assert AssertionFailedError(**unpack(text)).as_dict() == AssertionFailedError(**facts).as_dict()  # type: ignore[arg-type]


@given(TEXTS.filter(lambda text: not text.startswith("{")))
def test_a_text_that_is_no_record_is_a_title(text: str) -> None:
    assert unpack(text) == {"title": text}

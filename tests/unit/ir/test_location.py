from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from triptych.ir import bindings
from triptych.ir.bindings import context
from triptych.ir.location import Locations, spans_of
from triptych.support.source import Span

places = st.builds(
    Span,
    file=st.sampled_from(["kernel.py", "a folder/helper.py", "<stdin>"]),
    line=st.integers(1, 10_000),
    column=st.integers(0, 200),
    function=st.sampled_from(["", "f", "Class.method", "<lambda>"]),
)


@st.composite
def ranged(draw: st.DrawFn) -> Span:
    start = draw(places)
    return Span(
        start.file,
        start.line,
        start.column,
        end_line=start.line + draw(st.integers(0, 5)),
        end_column=start.column + draw(st.integers(1, 50)),
        function=start.function,
    )


@given(st.lists(places | ranged(), max_size=4).map(tuple))
def test_a_chain_of_spans_survives_the_round_trip(chain: tuple[Span, ...]) -> None:
    assert spans_of(Locations(context()).of(chain)) == chain


def test_equal_chains_share_one_location() -> None:
    locations = Locations(context())
    assert locations.of((Span("a.py", 1),)) is locations.of((Span("a.py", 1),))


def test_fused_locations_give_all_their_spans() -> None:
    location = bindings.mlir().Location
    with context():
        fused = location.fused([location.file("a.py", 1, 1), location.file("b.py", 2, 3)])
        assert [str(span) for span in spans_of(fused)] == ["a.py:1:1", "b.py:2:3"]

"""F-strings with run-time numbers: people may read them, the program may not."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from typing import Any

import pytest

import triptych as tt
from triptych.metastage.trace.errors import StaticRequiredError, TraceTimeEffectError

LOGGER = logging.getLogger("of a program")


def log(message: str) -> None:
    LOGGER.info(message)


@tt.jit
def logged(n: tt.Int32) -> Any:
    total = tt.Int32(0)
    log(f"from {n = }" + " to the sum")
    for i in range(n):
        if LOGGER.isEnabledFor(logging.DEBUG):
            LOGGER.debug("often")
        log(f"at {i:>5}")
        if i > 2:
            log(f"added {(total, 1)!r}")
            total += i
    return total


@tt.jit
def logged_once(n: tt.Int32) -> Any:
    log(f"from {n = }" + " to the sum")
    return n


def test_a_log_that_nobody_hears_takes_any_text_anywhere() -> None:
    assert [logged(10), logged(4)] == [42, 3]


def test_a_log_shows_the_run_time_value_as_unknown(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, LOGGER.name):
        assert logged_once(3) == 3
    assert caplog.messages == ["from n = ? to the sum"]


def test_a_log_in_a_loop_is_refused_once_somebody_listens(caplog: pytest.LogCaptureFixture) -> None:
    assert logged(4) == 3
    with caplog.at_level(logging.INFO, LOGGER.name), pytest.raises(TraceTimeEffectError, match="`info` inside a loop"):
        logged(4)
    assert logged(4) == 3


@tt.jit
def raised(n: tt.Int32) -> Any:
    text = f"of {n}"
    raise ValueError(text)


@tt.jit
def printed(n: tt.Int32) -> Any:
    text = f"of {n}"
    print(text, f"<{text}>")
    return n


def test_what_is_printed_and_raised_may_be_made_before(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ValueError, match=re.escape("of ?")):
        raised(1)
    assert printed(1) == 1
    assert capsys.readouterr().out == "of ? <of ?>\n"


_USES: list[Callable[[Any], Any]] = [
    lambda text: text == "<3>",
    lambda text: text != "<3>",
    lambda text: "3" in text,
    lambda text: text in ["<3>"],
    lambda text: text in {"<3>": 1},
    lambda text: (text, 1) == ("<3>", 1),
    lambda text: text < "a",
    lambda text: 1 if text else 0,
    lambda text: len(text),
    lambda text: hash(text),
    lambda text: text[0],
    lambda text: [each for each in text],  # noqa: C416
    lambda text: text.upper(),
    lambda text: text * 2,
    lambda text: {text: 1},
    lambda text: {"<3>": 1}.get(text, 5),
    lambda text: str(text),
    lambda text: "%s" % text,  # noqa: UP031
    lambda text: "".join(["a", text]),
    lambda text: re.match("<", text) is None,
    lambda text: type(text) is str,
    lambda text: f"a{text}" == "a<3>",
    lambda text: "a" + text == "a<3>",
    lambda text: tt.printf(text),
    lambda text: text,
    lambda text: (1, text),
]


@pytest.mark.parametrize("use", _USES, ids=range(len(_USES)))
def test_the_program_learns_nothing_of_it(use: Callable[[Any], Any]) -> None:
    @tt.jit
    def asks(n: tt.Int32) -> Any:
        return use(f"<{n}>")

    with pytest.raises(StaticRequiredError, match="a run-time value in"):
        asks(3)


def test_the_text_is_a_string() -> None:
    @tt.jit
    def asks(n: tt.Int32) -> Any:
        text = f"<{n}>"
        return isinstance(text, str), text is None

    assert asks(3) == (True, False)


@pytest.mark.parametrize("width", [0, 7])
def test_texts_of_what_is_known_are_those_of_python(width: int) -> None:
    x, items = 2.5, (1, "a")

    def texts() -> str:
        return f"{x:{width}.3f}|{1}|{items!r:>{width}}|{'b':^5}{{}}" + f"{width}" + f"{'é'!a}" + f""  # noqa: F541

    assert tt.jit(texts)() == texts()

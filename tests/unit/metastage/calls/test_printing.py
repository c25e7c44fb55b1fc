"""`printf` prints what C or Python would print, at run time; without a trace it prints the same at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import triptych as tt
from tests.unit.metastage.compiled import compiled
from triptych.metastage.trace.errors import PrintFormatError

Captured = pytest.CaptureFixture[str]


def printed(capfd: Captured, function: Callable[..., Any], *typed: tuple[str, Any]) -> str:
    native = compiled(function, *(name for name, _ in typed))
    assert capfd.readouterr().out == ""
    native(*(value for _, value in typed))
    return capfd.readouterr().out


C_FORMATS: list[tuple[str, str, Any]] = [
    ("%d", "Int8", -128),
    ("%d", "Int64", -(2**63)),
    ("%u", "Uint64", 2**64 - 1),
    ("%5d|", "Int32", 42),
    ("%-5d|", "Int32", 42),
    ("%05d", "Int32", 42),
    ("%+d", "Int32", 42),
    ("%x", "Uint32", 48879),
    ("%X", "Uint8", 171),
    ("%o", "Int32", 64),
    ("%f", "Float32", 1.5),
    ("%.2f", "Float64", 3.14159),
    ("%e", "Float64", 12345.678),
    ("%g", "Float64", 0.0001),
    ("%8.3f|", "Float16", 0.5),
    ("100%% of %d", "Int32", 3),
]


@pytest.mark.parametrize(("template", "name", "value"), C_FORMATS)
def test_c_formats(capfd: Captured, template: str, name: str, value: Any) -> None:
    def show(x: Any) -> None:
        tt.printf(template, x)

    assert printed(capfd, show, (name, value)) == template % value


BRACE_FORMATS: list[tuple[str, str, Any]] = [
    ("{}", "Int32", -7),
    ("{}", "Uint64", 2**64 - 1),
    ("{:5d}|", "Int32", 42),
    ("{:05d}", "Int32", 42),
    ("{:x}", "Int32", 255),
    ("{:.3f}", "Float64", 2.0 / 3.0),
    ("{:8.2f}|", "Float32", 1.25),
    ("{:e}", "Float64", 12345.678),
    ("{:.1f}", "Int32", 3),
    ("{{}} {}%", "Int32", 5),
]


@pytest.mark.parametrize(("template", "name", "value"), BRACE_FORMATS)
def test_brace_formats(capfd: Captured, template: str, name: str, value: Any) -> None:
    def show(x: Any) -> None:
        tt.printf(template, x)

    assert printed(capfd, show, (name, value)) == template.format(value) + "\n"


def test_several_arguments_numbered_fields_and_tuples(capfd: Captured) -> None:
    def show(a: Any, b: Any) -> None:
        tt.printf("{1} {0}\n", a, b)
        tt.printf("{} {}", (a, b), "text")
        tt.printf(a, b)
        tt.printf("%d of %s\n", a, "many")

    assert printed(capfd, show, ("Int32", 1), ("Int32", 2)) == "2 1\n(1,2) text\n1 2\n1 of many\n"


def test_constants_print_too(capfd: Captured) -> None:
    assert printed(capfd, lambda _: tt.printf("%d %f\n", 3, 0.5), ("Int32", 1)) == "3 0.500000\n"


def test_prints_happen_in_the_order_and_number_of_the_run(capfd: Captured) -> None:
    def countdown(n: Any) -> None:
        while n > 0:
            if n % 2 == 0:
                tt.printf("even %d\n", n)
            else:
                tt.printf("odd %d\n", n)
            n -= 1

    assert printed(capfd, countdown, ("Int32", 3)) == "odd 3\neven 2\nodd 1\n"


def test_python_print_runs_while_tracing(capfd: Captured) -> None:
    def show(n: Any) -> None:
        print("traced", n)
        tt.printf("run %d\n", n)

    native = tt.compile(show, 1)
    assert capfd.readouterr().out == "traced ?\n"
    native(5)
    native(6)
    assert capfd.readouterr().out == "run 5\nrun 6\n"


@pytest.mark.parametrize(("template", "name", "value"), [*C_FORMATS, *BRACE_FORMATS])
def test_untraced_printf_prints_the_same(capfd: Captured, template: str, name: str, value: Any) -> None:
    def show(x: Any) -> None:
        tt.printf(template, x)

    expected = printed(capfd, show, (name, value))
    show(value)
    assert capfd.readouterr().out == expected


@pytest.mark.parametrize(
    ("template", "count"), [("%d", 0), ("%d %d", 1), ("%d", 2), ("{} {}", 1), ("{}", 2), ("{1}", 1), ("{2}", 2)]
)
def test_wrong_number_of_arguments(template: str, count: int) -> None:
    with pytest.raises(PrintFormatError):
        tt.compile(lambda n: tt.printf(template, *([n] * count)), 1)


@pytest.mark.parametrize("template", ["%f", "%s", "{:s}", "{:>5}", "{:b}", "{:q}"])
def test_format_that_does_not_fit_the_type(template: str) -> None:
    with pytest.raises(PrintFormatError):
        tt.compile(lambda n: tt.printf(template, n), 1)

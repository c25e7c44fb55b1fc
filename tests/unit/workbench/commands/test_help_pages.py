"""Help pages as a user reads them: a purpose, examples that the command line accepts, and related commands."""

from __future__ import annotations

import argparse
import shlex

import pytest

from triptych.workbench.commands.cli import main, parser_with_commands
from triptych.workbench.commands.command_line import PAGES, parsed


def actions(parser: argparse.ArgumentParser, name: str = "") -> list[str]:
    """Every command and every action of one."""
    found = []
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for word, command in action.choices.items():
                found += [f"{name} {word}".strip(), *actions(command, f"{name} {word}".strip())]
    return found


def test_every_command_has_a_page_and_every_page_a_command() -> None:
    assert sorted(actions(parser_with_commands()[0])) == sorted(PAGES)


@pytest.mark.parametrize("name", PAGES)
def test_a_page_has_purpose_examples_and_relatives(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    page = PAGES[name]
    assert page.purpose[0].isupper()
    assert page.purpose.endswith(".")
    assert page.examples
    assert page.related
    assert set(page.related) <= set(PAGES) - {name}
    with pytest.raises(SystemExit) as stop:
        main([*name.split(), "--help"])
    assert stop.value.code == 0
    shown = capsys.readouterr().out
    assert all(part in shown for part in (page.purpose, "examples:", *(line for line, _ in page.examples)))


@pytest.mark.parametrize("line", [line for page in PAGES.values() for line, _ in page.examples])
def test_the_command_line_accepts_each_example(line: str) -> None:
    program, *words = shlex.split(line)
    assert program == "triptych"
    assert parsed(*parser_with_commands(), words).command == words[0]


def test_every_option_says_what_it_does() -> None:
    _, commands = parser_with_commands()
    silent = [
        (name, action.dest) for name, command in commands.items() for action in command._actions if not action.help
    ]
    assert [pair for pair in silent if pair[1] != "action"] == []


def test_the_bare_command_lists_all_of_them(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    shown = capsys.readouterr()
    assert all(f"  {name} " in shown.out or f"  {name}\n" in shown.out for name in PAGES if " " not in name)
    assert "first steps:" in shown.out
    assert shown.err == ""


@pytest.mark.parametrize("command", ["cache", "devlog"])
def test_a_command_of_actions_alone_is_its_page(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([command]) == 0
    printed = capsys.readouterr().out
    with pytest.raises(SystemExit):
        main([command, "--help"])
    assert printed == capsys.readouterr().out

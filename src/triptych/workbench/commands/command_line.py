"""Command line parser. A command, a choice or an option that is almost right is answered with what is right,
and a number that would make a command do nothing is refused: what has not run has not passed.
"""

from __future__ import annotations

import argparse
import math
import re
from collections.abc import Mapping, Sequence
from typing import NoReturn

from triptych.support.nearest import did_you_mean

_CHOICE = re.compile(r"invalid choice: '?([^' ]*)'? \(choose from (.*)\)")


class CommandLine(argparse.ArgumentParser):
    """A parser, and its commands."""

    def error(self, message: str) -> NoReturn:
        """End with the usage of the command, and with what was likely meant."""
        found = _CHOICE.search(message)
        guess = did_you_mean(found[1], re.findall(r"[\w-]+", found[2])) if found else ""
        super().error(f"{message}; {guess}" if guess else message)


def parsed(
    parser: CommandLine, commands: Mapping[str, argparse.ArgumentParser], argv: Sequence[str] | None
) -> argparse.Namespace:
    """The arguments. What is left over is told by the command that does not take it."""
    arguments, rest = parser.parse_known_args(argv)
    if rest:
        command = commands[arguments.command]
        known = [option for action in command._actions for option in action.option_strings]
        name = next((each for each in rest if each.startswith("-")), "").partition("=")[0]
        guess = did_you_mean(name, known) if name else ""
        said = f"there is no option {name}" if name else f"one argument too many: {rest[0]}"
        command.error(f"{said}; {guess}" if guess else said)
    return arguments


def count(text: str) -> int:
    """A number of things: at least one."""
    return int(_at_least(int(text), 1, text))


def count_or_none(text: str) -> int:
    """A number of things, or 0."""
    return int(_at_least(int(text), 0, text))


def seconds(text: str) -> float:
    """A stretch of time."""
    given = float(text)
    if given <= 0 or math.isnan(given):
        raise argparse.ArgumentTypeError(f"{text} is no time: more than 0 seconds are needed")
    return given


def bound(text: str) -> float:
    """Of a difference: a number that is not negative."""
    return _at_least(float(text), 0, text)


def _at_least(given: float, least: int, text: str) -> float:
    if not given >= least:
        raise argparse.ArgumentTypeError(f"{text} is too few: at least {least}")
    return given

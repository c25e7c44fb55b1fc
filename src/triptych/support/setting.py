"""Setting: its default, its bounds, the environment variables that set it, and how their text is read."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from triptych.support.dataclass import dataclass
from triptych.support.errors import TriptychError
from triptych.support.wording import nearest

PREFIX = "TRIPTYCH_"
BOOLEANS = {"1": True, "true": True, "on": True, "0": False, "false": False, "off": False}

Value = bool | int | float | str
Environment = Mapping[str, str]


class SettingError(TriptychError, ValueError):
    """A setting was given a name or a value that does not exist."""

    code = "TT0703"


@dataclass(frozen=True, slots=True)
class Alias:
    """A foreign variable that means one of ours; `translate` turns its text into ours."""

    variable: str
    translate: Callable[[str, Environment], str] = lambda text, environment: text


@dataclass(frozen=True, slots=True)
class Setting:
    """A row of the table. The type of the default is the type of the setting."""

    name: str
    default: Value
    help: str
    low: float | None = None
    high: float | None = None
    aliases: tuple[Alias, ...] = ()
    words: tuple[str, ...] = ()
    """The words that a text is made of; empty: any text."""
    form: str = ""
    """How the words make a text, as a regular expression; empty: one of them is all."""
    mistake_in: Callable[[str], str] = lambda text: ""
    """What keeps a text from being a value; empty: nothing."""
    shown: Callable[[Any], Any] = lambda value: value
    """The value as people may see it."""

    @property
    def variable(self) -> str:
        """`opt_level` is set by `TRIPTYCH_OPT_LEVEL`; `_` at the end of a name keeps it from being Python's word."""
        return PREFIX + self.name.removesuffix("_").upper()

    def find(self, environment: Environment) -> tuple[str, str] | None:
        """The variable that sets this and its text; our own name wins over aliases, an empty text sets nothing."""
        for alias in (Alias(self.variable), *self.aliases):
            given = environment.get(alias.variable, "").strip()
            text = alias.translate(given, environment) if given else ""
            if text:
                return alias.variable, text
        return None

    def parse(self, variable: str, text: str) -> Value:
        """Environment text to a checked value."""
        try:
            value = BOOLEANS[text.lower()] if isinstance(self.default, bool) else type(self.default)(text)
        except (KeyError, ValueError):
            raise self._refusal(variable, text) from None
        return self.check(value, variable)

    def check(self, value: Value, name: str) -> Value:
        """The value itself when it has the right type and lies within the bounds."""
        accepted = (int, float) if isinstance(self.default, float) else type(self.default)
        fits = isinstance(value, accepted) and isinstance(value, bool) == isinstance(self.default, bool)
        if fits and isinstance(value, int | float):
            fits = (self.low is None or value >= self.low) and (self.high is None or value <= self.high)
        if fits and isinstance(value, str) and (self.words or self.form):
            fits = value == "" or re.fullmatch(self.form or "|".join(self.words), value, re.IGNORECASE) is not None
        if not fits:
            raise self._refusal(name, value)
        if value and isinstance(value, str) and (mistake := self.mistake_in(value)):
            raise SettingError(
                f"{name} has no usable value: {mistake}", found=repr(self.shown(value)), expected=self.help
            )
        return value

    def _refusal(self, name: str, found: Value) -> SettingError:
        return SettingError(
            f"{name} has no usable value", found=repr(found), expected=self._expectation(), instead=self._guess(found)
        )

    def _guess(self, found: Value) -> str:
        """The text with each unknown word replaced by the one that it most resembles."""
        unknown = [word for word in re.findall(r"[a-z_]+", str(found), re.IGNORECASE) if word not in self.words]
        guesses = [(word, guess) for word in unknown if (guess := nearest(word, self.words)) is not None]
        text = str(found)
        for word, guess in guesses:
            text = text.replace(word, guess)
        return f"did you mean {text!r}?" if guesses and text != found else self.help

    def _expectation(self) -> str:
        if isinstance(self.default, bool):
            return f"one of {', '.join(BOOLEANS)}"
        if self.words:
            return f"nothing, or {'made of' if self.form else 'one of'}: {', '.join(self.words)}"
        if self.form:
            return self.help
        kind = {int: "a whole number", float: "a number", str: "text"}[type(self.default)]
        bounds = [f"at least {self.low}"] if self.low is not None else []
        bounds += [f"at most {self.high}"] if self.high is not None else []
        return f"{kind} {' and '.join(bounds)}".strip()

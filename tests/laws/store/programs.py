"""`Choices -> StoreProgram`: a compiled function, the same in Python, and what both leave behind."""

from __future__ import annotations

from dataclasses import dataclass

from tests.differential.choices import Choices
from tests.laws.store.pieces import EFFECTS, LIBRARY, ORDERS, PROCESS, Piece

MOST = 3

ROUTES = (
    "{jit}\ndef {name}(x: tt.Int32):\n    r = 0\n{lines}\n    return x + r\n",
    "def {name}_helper():\n    r = 0\n{lines}\n    return r\n"
    "{jit}\ndef {name}(x: tt.Int32):\n    return x + {name}_helper()\n",
    "class {name}_Kernel:\n    def read(self):\n        r = 0\n{deep}\n        return r\n    {jit}\n"
    "    def run(self, x: tt.Int32):\n        return x + self.read()\n{name} = {name}_Kernel().run\n",
)


@dataclass(frozen=True, slots=True)
class StoreProgram:
    """`source` defines `compiled(x)`, `plain(x)`, and `left()`, which gives what each has left behind."""

    source: str


def generate(choices: Choices, number: int) -> StoreProgram:
    """The program these decisions describe; `number` is in all of its names."""
    pieces = [choices.choice(choices.choice((EFFECTS, ORDERS, PROCESS)))]
    pieces += [choices.choice(choices.choice((EFFECTS, ORDERS))) for _ in choices.several(MOST - 1, 0.4)]
    route = choices.choice(ROUTES)
    made = [_made(piece, f"{number}_{index}") for index, piece in enumerate(pieces)]
    sides = [_side(route, pieces, number, side) for side in ("c", "p")]
    shown = [_named(piece.shown, piece, f"{number}_{index}", "#") for index, piece in enumerate(pieces)]
    left = ", ".join(f"({', '.join(text.replace('#', side) for text in shown)},)" for side in ("c", "p"))
    text = "\n".join([*made, *sides, f"def left{number}(): return {left}", ""])
    return StoreProgram(text)


def _side(route: str, pieces: list[Piece], number: int, side: str) -> str:
    lines = [_named(piece.lines, piece, f"{number}_{i}", side) for i, piece in enumerate(pieces)]
    single = [part for line in lines for part in (line.split("; ") if not line.startswith("for ") else [line])]
    names = sorted({word for i, piece in enumerate(pieces) if _rebinds(piece) for word in [f"{side}{number}_{i}"]})
    declared = [f"global {', '.join(names)}"] if names else []
    body = [*declared, *single]
    jit = "@jit" if side == "c" else "@as_it_is"
    texts = {"lines": "\n".join(f"    {line}" for line in body), "deep": "\n".join(f"        {line}" for line in body)}
    return route.format(jit=jit, name=f"{side}{number}", **texts)


def _rebinds(piece: Piece) -> bool:
    """Whether a piece assigns its variable, and not what that holds."""
    return any(part.startswith("E ") and "=" in part for part in piece.lines.split("; "))


def _made(piece: Piece, place: str) -> str:
    if piece in ORDERS or piece in PROCESS:
        return f"b{place} = {piece.made}"
    return "\n".join(f"{side}{place} = {piece.made}" for side in ("c", "p"))


def _named(text: str, piece: Piece, place: str, side: str) -> str:
    """The text with the names of its objects; what is only read is one object for both sides."""
    own = f"b{place}" if piece in ORDERS or piece in PROCESS else f"{side}{place}"
    out = []
    for index, letter in enumerate(text):
        before, after = text[index - 1 : index], text[index + 1 : index + 2]
        alone = not (before.isalnum() or before in ("_", "'", ".")) and not (after.isalnum() or after in ("_", "'"))
        out.append(own if letter in "ES" and alone else letter)
    return "".join(out)


HEAD = """
import store_library
from store_library import *
jit = tt.jit(opt_level=0)
def as_it_is(function): return function
"""

RUN = """
import importlib, sys
import triptych as tt

def outcome(function):
    try: return function(1)
    except tt.TriptychError as error: return f"refused {error.code}"
    except Exception as error: return f"raises {type(error).__name__}"

def judge(number):
    made = vars(importlib.import_module(f"program_{number}"))
    compiled, plain, left = (made[f"{name}{number}"] for name in ("c", "p", "left"))
    found, expected = outcome(compiled), outcome(plain)
    if str(found).startswith("refused"): return found
    ours, theirs = left()
    right = found == expected and ours == theirs
    return "right" if right else f"WRONG {found} instead of {expected}, left {ours} instead of {theirs}"

if __name__ == "__main__":
    for number in range(int(sys.argv[1])):
        print(number, judge(number))
"""


def files(programs: list[StoreProgram]) -> dict[str, str]:
    """A module for each, which is read once where it is compiled, and the script that runs them all."""
    own = {f"program_{number}.py": HEAD + program.source for number, program in enumerate(programs)}
    return {"store_library.py": LIBRARY, "run.py": RUN, **own}

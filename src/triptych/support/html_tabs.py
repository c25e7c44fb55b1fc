"""Texts as tabs of a notebook, in plain HTML and CSS: the stages of a compiled function.

Input: texts by the names of stages. Output: one element that needs no script and changes nothing around it.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from html import escape

MOST_LINES = 2000
"""Lines of a stage that a notebook is given; files of notebooks have all that they show."""

_STYLE = """
.{own} input {{ position: absolute; opacity: 0; }}
.{own} label {{ display: inline-block; padding: 0.2em 0.8em; cursor: pointer; border-bottom: 2px solid transparent; }}
.{own} input:checked + label {{ border-bottom-color: currentColor; font-weight: bold; }}
.{own} input:focus-visible + label {{ outline: 1px solid currentColor; }}
.{own} pre {{ display: none; max-height: 30em; overflow: auto; text-align: left; white-space: pre; }}
"""


def html_tabs(title: str, stages: Mapping[str, str]) -> str:
    """The element. Stages without a text are left out."""
    own = f"triptych-tabs-{secrets.token_hex(6)}"  # a notebook has what earlier processes have shown, too
    style, tabs, texts = [_STYLE.format(own=own)], [], []
    for i, (name, text) in enumerate((name, text) for name, text in stages.items() if text):
        tab = f"{own}-{i}"
        checked = "" if i else " checked"
        tabs.append(f'<input type="radio" name="{own}" id="{tab}"{checked}><label for="{tab}">{escape(name)}</label>')
        texts.append(f'<pre class="{tab}">{escape(_shortened(text))}</pre>')
        style.append(f"#{tab}:checked ~ .{tab} {{ display: block; }}\n")
    head = f"<style>{''.join(style)}</style><code>{escape(title)}</code><br>"
    return f'<div class="{own}">{head}{"".join(tabs + texts)}</div>'


def _shortened(text: str) -> str:
    lines = text.splitlines()
    left = len(lines) - MOST_LINES
    return text if left <= 0 else "\n".join([*lines[:MOST_LINES], f"… and {left} more lines"])

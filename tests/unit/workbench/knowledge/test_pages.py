"""What is wrong with a knowledge page is said; what is right is not."""

from __future__ import annotations

from pathlib import Path

import pytest

from triptych.workbench.knowledge.pages import COUNTED, GPU, HEADINGS, KnowledgePage, problems, table_text, with_table

_TABLE = "\n\n| version | sectors |\n|---|---:|\n| a | 1,024 |\n\n"
_SECTIONS = dict.fromkeys(HEADINGS, "Words.")


def page(tmp_path: Path, title: str = "# Title", **changed: str) -> KnowledgePage:
    sections = {"Performance Evidence": f"<!-- {COUNTED} -->{_TABLE}<!-- end of evidence -->"}
    sections = _SECTIONS | sections | {name.replace("_", " "): text for name, text in changed.items()}
    parts = [f"## {heading}\n\n{text}" for heading, text in sections.items() if text]
    file = tmp_path / "page.md"
    file.with_suffix(".py").touch()
    return KnowledgePage(file, "optimizations", "", "\n\n".join([title, *parts]) + "\n")


def test_a_page_as_it_should_be(tmp_path: Path) -> None:
    allowed = "Of 1,024 sectors; `n = 77`, SM90, sm_80, 2-D, [there](page.py).\n\n1. First.\n\n```text\n33\n```"
    assert list(problems(page(tmp_path, Mechanism=allowed))) == []


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"Mechanism": ""}, "its headings are When to Apply, Affected Metrics"),
        ({"Mechanism": "It is 3.5 times faster."}, "the number 3.5 in a sentence stands in no table"),
        ({"Mechanism": "30 % less."}, "the number 30 in a sentence"),
        ({"Source": "[x](gone.md#a)"}, "it links to gone.md, which is not there"),
        ({"Pitfalls": "word " * 900}, "words, more than 900"),
        ({"title": "Title"}, "it does not begin with a title"),
        ({"Performance_Evidence": "None."}, "it has no evidence"),
        ({"Performance_Evidence": f"<!-- {COUNTED} -->\n<!-- end of evidence -->"}, "has no table"),
        ({"Source": "<!-- count -->"}, "the comment 'count' begins or ends no evidence"),
        (
            {"Performance_Evidence": f"<!-- {GPU} -->\n\n| c | r |\n|---|---|\n| fast |\n<!-- end of evidence -->"},
            "the row '| fast |' is no command and its result",
        ),
    ],
)
def test_what_is_wrong(tmp_path: Path, changed: dict[str, str], said: str) -> None:
    found = list(problems(page(tmp_path, **changed)))
    assert len(found) == 1
    assert said in found[0]


def test_a_table_needs_its_script(tmp_path: Path) -> None:
    made = page(tmp_path)
    made.script.unlink()
    assert list(problems(made)) == ["there is no script page.py beside it"]


def test_a_table_is_replaced_and_others_stay(tmp_path: Path) -> None:
    table = table_text([{"version": "a", "sectors": 2048, "ratio": "0.50"}], "Below.")
    made = page(tmp_path)
    text = with_table(made.text, COUNTED, table)
    assert KnowledgePage(made.file, "", "", text).tables == {COUNTED: table}
    assert "| a | 2,048 | 0.50 |\n\nBelow." in table
    assert with_table(made.text, GPU, table) == made.text


def test_blocks_stay_on_their_lines(tmp_path: Path) -> None:
    made = page(tmp_path, Mechanism="```python\nx = 1\n```\n\n```python\ny = x\n```")
    lines = made.code.splitlines()
    assert [lines[made.text.splitlines().index(line)] for line in ("x = 1", "y = x")] == ["x = 1", "y = x"]
    assert "".join(lines) == "x = 1y = x"

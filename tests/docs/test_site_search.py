"""The site's search ranks sections as `triptych docs` does: its script, run by Node, on pages that are made here."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from docs.site import search
from tests.unit.workbench.commands.test_documents import FEWEST_ANSWERED, QUESTIONS

ROOT = Path(__file__).resolve().parents[2]
ASKING = """
const {readFileSync} = require("fs");
const [script, data, questions] = process.argv.slice(1).map((path) => readFileSync(path, "utf-8"));
const siteSearch = new Function(`${script}; return siteSearch;`)();
const index = JSON.parse(data);
const answers = JSON.parse(questions).map((each) => siteSearch.found(each, index).slice(0, 3));
console.log(JSON.stringify(answers.map((found) => found.map((number) => index.sections[number][0]))));
"""


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The pages of the repository as the site has them, as far as somebody wrote them."""
    folder = tmp_path_factory.mktemp("sources")
    for name in ("guides", "learn", "knowledge"):
        shutil.copytree(ROOT / "docs" / name, folder / name)
    for page in (ROOT / "docs").glob("*.md"):
        shutil.copyfile(page, folder / page.name)
    return folder


def test_addresses_name_pages_and_headings(sources: Path) -> None:
    addresses = [address for address, _ in search.sections(sources)]
    assert "guides/hangs.html#when-a-kernel-hangs" in addresses
    assert not [address for address in addresses if " " in address]


def test_names_of_the_reference_are_found_by_themselves(tmp_path: Path) -> None:
    (tmp_path / "api").mkdir()
    page = "# Core\n\n`````{py:function} triptych.cute.copy(atom)\nCopy what one thread holds.\n`````\n"
    (tmp_path / "api" / "core.md").write_text(page, encoding="utf-8")
    ((address, section),) = search.sections(tmp_path)
    assert address == "api/core.html#triptych.cute.copy"
    assert section.text == "Copy what one thread holds."


@pytest.mark.skipif(shutil.which("node") is None, reason="runs the site's script, which needs Node")
def test_questions_of_users_are_answered_among_the_first_three(sources: Path, tmp_path: Path) -> None:
    data, questions = tmp_path / "data.json", tmp_path / "questions.json"
    data.write_text(json.dumps(search.index(sources)), encoding="utf-8")
    questions.write_text(json.dumps(list(QUESTIONS)), encoding="utf-8")
    script = ROOT / "docs" / "_static" / search.SCRIPT
    ran = subprocess.run(
        ["node", "-e", ASKING, str(script), str(data), str(questions)], capture_output=True, text=True, check=True
    )
    answers = dict(zip(QUESTIONS, json.loads(ran.stdout), strict=True))
    unanswered = {
        question: answers[question]
        for question, pages in QUESTIONS.items()
        if not pages & {Path(address.partition("#")[0]).stem for address in answers[question]}
    }
    assert len(QUESTIONS) - len(unanswered) >= FEWEST_ANSWERED, unanswered

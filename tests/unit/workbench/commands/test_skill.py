"""`triptych skill install`: the files of the skill, their links, and both scripts on an example."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from triptych.workbench.commands.cli import main
from triptych.workbench.installed_files import examples_folder

REFERENCES = """
    concepts-architecture concepts-layouts concepts-tensors concepts-mma patterns-getting-started patterns-elementwise
    patterns-reduction patterns-gemm patterns-memory patterns-compilation patterns-pipeline api-core api-arch api-nvgpu
    api-runtime-utils troubleshooting
"""


@pytest.fixture(scope="module")
def skill(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("skills")
    assert main(["skill", "install", str(folder)]) == 0
    return folder / "triptych"


def test_instructions_are_short_and_name_every_reference(skill: Path) -> None:
    text = (skill / "SKILL.md").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 150
    assert re.match(r"---\nname: triptych\ndescription: .{50,1000}\n---\n", text)
    written = {page.stem for page in (skill / "references").iterdir()}
    assert written == set(REFERENCES.split())
    assert {name for name in written if f"`{name}.md`" not in text} == set()


def test_references_say_something_and_lead_somewhere(skill: Path) -> None:
    for page in (skill / "references").iterdir():
        text = page.read_text(encoding="utf-8")
        assert len(text.splitlines()) > 100, page.name
        assert len(re.findall(r"^# ", re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S), re.M)) == 1, page.name
        links = re.findall(r"\]\(([^)\s#:]+\.md)\)", text)
        assert [link for link in links if not (page.parent / link).is_file()] == []
    assert "### `triptych.cute.arch.thread_idx()`" in (skill / "references/api-arch.md").read_text(encoding="utf-8")


def test_an_older_skill_is_replaced(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    stale = tmp_path / "triptych" / "references" / "gone.md"
    stale.parent.mkdir(parents=True)
    stale.write_text("of another version", encoding="utf-8")
    assert main(["skill", "install", str(tmp_path)]) == 0
    assert not stale.exists()
    assert "16 references" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("script", "options", "said"),
    [
        ("verify_kernel.py", ["--rtol", "1e-3", "--atol", "1e-3"], "PASS"),
        ("benchmark_kernel.py", ["--seconds", "0.05", "--no-roofs", "--no-cold"], "median"),
    ],
)
def test_scripts_run_on_an_example(skill: Path, script: str, options: list[str], said: str) -> None:
    file = examples_folder() / "kernels" / "relu.py"
    command = [sys.executable, str(skill / "scripts" / script), str(file), "--case", "and one", *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert said in done.stdout

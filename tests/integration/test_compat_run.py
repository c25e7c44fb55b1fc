"""Programs for the public CuTe DSL as processes: `triptych run`, `TRIPTYCH_COMPAT`, `pytest --triptych-cpu`."""

from __future__ import annotations

import io
import json
import multiprocessing
import re
import site
import sys
from importlib.metadata import entry_points
from pathlib import Path
from subprocess import CompletedProcess
from types import ModuleType

import pytest

from tests.integration.subprograms import ROOT, run
from tests.unit.targets.nvptx.tools import needs_assembler
from triptych import compat
from triptych.support import timeline
from triptych.workbench.commands.run import RunError, RunProgress, RunRequest
from triptych.workbench.commands.run import run as run_program

START_FILE = ROOT / "src" / "triptych_compat.pth"
IS_STARTED_BY_SITE = any(Path(folder, START_FILE.name).exists() for folder in site.getsitepackages())
PLUGIN = "triptych.workbench.commands.pytest_plugin"
LOADS_PLUGIN = () if PLUGIN in {entry.value for entry in entry_points(group="pytest11")} else ("-p", PLUGIN)
"""A tree that is not installed as it is now announces no plug-in to pytest."""

KERNEL = """
import sys

import numpy as np
import cutlass
import cutlass.cute as cute
from cutlass.cute.runtime import from_dlpack


@cute.kernel
def scale(x: cute.Tensor, factor: cutlass.Float32):
    thread, _, _ = cute.arch.thread_idx()
    x[thread] = x[thread] * factor


@cute.jit
def launch(x: cute.Tensor, factor: cutlass.Float32):
    scale(x, factor).launch(grid=[1, 1, 1], block=[4, 1, 1])


x = np.arange(4, dtype=np.float32)
launch(from_dlpack(x), 2.0)
print(x.tolist(), __name__, sys.argv[1:])
"""


def triptych_run(text: str, folder: Path, *words: str) -> CompletedProcess[str]:
    program = folder / "program.py"
    program.write_text(text, encoding="utf-8")
    return run("-m", "triptych", "run", str(program), *words)


def test_progress_waits_for_a_module_that_is_being_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thread tells what runs, while the program imports what runs it."""
    name = "triptych.targets.cpu.runtime.pool"
    monkeypatch.setitem(sys.modules, name, ModuleType(name))
    RunProgress(io.StringIO()).look(1e9)


def test_program_runs_unchanged(tmp_path: Path) -> None:
    done = triptych_run(KERNEL, tmp_path, "--size", "4", "-m")
    assert done.stdout == "[0.0, 2.0, 4.0, 6.0] __main__ ['--size', '4', '-m']\n"
    banner, *others, totals = done.stderr.splitlines()
    others = [line for line in others if not re.fullmatch(r"triptych: .*, \d+ s", line)]  # where a machine is slow
    assert len(others) == (0 if IS_STARTED_BY_SITE else 1)
    assert "`cutlass` is Triptych" in banner
    assert "programs see a GPU as NVIDIA B200 (TRIPTYCH_GPU=h100 for another)" in banner
    assert re.fullmatch(r"triptych: compiled [01] functions? in [\d.]+ s, 1 launch, [\d.]+ s in all", totals)
    assert done.returncode == 0


def test_program_finds_what_lies_beside_it(tmp_path: Path) -> None:
    (tmp_path / "beside.py").write_text("import cutlass.cute as cute\nWORD = 'found'\n")
    done = triptych_run("import sys, beside\nprint(beside.WORD, sys.path[0])", tmp_path)
    assert done.stdout == f"found {tmp_path.resolve()}\n"


@pytest.mark.parametrize(("end", "code"), [("sys.exit(7)", 7), ("sys.exit()", 0), ("sys.exit('no')", 1), ("1 / 0", 1)])
def test_exit_code_is_the_program_s(end: str, code: int, tmp_path: Path) -> None:
    assert triptych_run(f"import sys\n{end}\n", tmp_path).returncode == code


def test_traceback_has_the_program_s_frames_only(tmp_path: Path) -> None:
    name = "cute.arch.sext_unpacked_i4_i8_intrinsic"
    text = f"import cutlass.cute as cute\n\n\ndef f():\n    return {name}\n\n\nf()\n"
    done = triptych_run(text, tmp_path)
    files = [line for line in done.stderr.splitlines() if line.startswith("  File ")]
    program = tmp_path / "program.py"
    assert files == [f'  File "{program}", line 8, in <module>', f'  File "{program}", line 5, in f']
    assert "[TT0706]" in done.stderr
    assert done.returncode == 1


def test_module_is_run_as_python_does(tmp_path: Path) -> None:
    package = tmp_path / "package"
    package.mkdir()
    (package / "__main__.py").write_text("import sys, cutlass\nprint(__name__, sys.argv[1:], cutlass.__name__)\n")
    main = "from triptych.workbench.commands.cli import main"
    start = f"import os, sys; os.chdir({str(tmp_path)!r}); {main}; sys.exit(main())"
    done = run("-c", start, "run", "-m", "package", "-x")
    assert done.stdout == "__main__ ['-x'] triptych\n"


def test_script_that_is_not_there() -> None:
    with pytest.raises(RunError, match="there is no script"):
        run_program(RunRequest("no_such_script.py"))
    assert not compat.is_active()


CHILDREN = """
import multiprocessing, os, subprocess, sys

import cutlass


def child(answers):
    answers.put((cutlass.__name__, os.environ.get("TRIPTYCH_TARGET")))


if __name__ == "__main__":
    for how in multiprocessing.get_all_start_methods():
        context = multiprocessing.get_context(how)
        answers = context.SimpleQueue()
        process = context.Process(target=child, args=(answers,))
        process.start()
        process.join()
        print(how, process.exitcode, *answers.get() if process.exitcode == 0 else ())
    text = "import cutlass; print(cutlass.__name__)"
    for words in (["-c", text], ["-I", "-c", text]):
        print("subprocess", subprocess.run([sys.executable, *words], capture_output=True, text=True).stdout.strip())
    print("system", flush=True)
    os.system(f'"{sys.executable}" -c "{text}"')
"""


@pytest.mark.skipif(not IS_STARTED_BY_SITE, reason="needs an installation with triptych_compat.pth")
def test_children_have_it_however_they_are_started(tmp_path: Path) -> None:
    """Also where another package of that name lies on the path: what the parent calls Triptych the child does."""
    (tmp_path / "cutlass").mkdir()
    (tmp_path / "cutlass" / "__init__.py").write_text("")
    (tmp_path / "program.py").write_text(CHILDREN)
    done = run("-m", "triptych", "run", "--target", "cpu", str(tmp_path / "program.py"))
    lines = [f"{how} 0 triptych cpu" for how in multiprocessing.get_all_start_methods()]
    assert done.stdout.splitlines() == [*lines, *["subprocess triptych"] * 2, "system", "triptych"], done.stderr


def test_program_that_cannot_reach_its_children_is_reported(tmp_path: Path) -> None:
    text = "import runpy, site, sys\nsite.getsitepackages = lambda: []\nsite.ENABLE_USER_SITE = False\n"
    (tmp_path / "start.py").write_text(f"{text}runpy.run_module('triptych', run_name='__main__')\n")
    (tmp_path / "program.py").write_text("")
    done = run(str(tmp_path / "start.py"), "run", str(tmp_path / "program.py"))
    assert "is not installed, so `cutlass` is not Triptych in processes" in done.stderr


@pytest.mark.parametrize(("value", "is_found"), [("1", True), ("on", True), ("0", False), ("", False)])
def test_line_for_the_start_of_processes(value: str, is_found: bool, tmp_path: Path) -> None:
    """As `site` runs it, which reads such files only in the folders of installed packages."""
    program = tmp_path / "program.py"
    program.write_text(f"exec(open({str(START_FILE)!r}).read())\nimport cutlass\nprint(cutlass.__name__)\n")
    done = run(str(program), TRIPTYCH_COMPAT=value)
    assert (done.stdout == "triptych\n") == is_found
    assert is_found or "No module named 'cutlass'" in done.stderr


LOADED = "import sys; print(' '.join(name for name in sys.modules if name not in before))"


def test_nothing_is_loaded_before_cutlass_is_imported_and_then_what_is_named() -> None:
    """Activation took half a second in every process, and `import cutlass` loaded 700 modules."""
    start = f"import sys; before = set(sys.modules); exec(open({str(START_FILE)!r}).read())"
    idle = run("-c", f"{start}; {LOADED}", TRIPTYCH_COMPAT="1")
    assert set(idle.stdout.split()) <= {"triptych_compat"}  # which Python itself has loaded where it is installed
    named = run("-c", f"{start}; import cutlass, cutlass.cute as cute; {LOADED}", TRIPTYCH_COMPAT="1").stdout.split()
    ours = [name for name in named if name.startswith("triptych")]
    assert len(ours) <= 31, ours
    assert not {"numpy", "torch", "llvmlite", "torch_mlir"} & set(named)
    reached = run("-c", f"{start}; import cutlass; print(cutlass.cute.arch.thread_idx.__name__)", TRIPTYCH_COMPAT="1")
    assert reached.stdout == "thread_idx\n"


@pytest.mark.parametrize("first", ["torch", "cuda", "triptych.compat"])
def test_waiting_ends_with_any_import_that_is_other_under_compat(first: str) -> None:
    start = f"exec(open({str(START_FILE)!r}).read())"
    asked = "from triptych import compat; assert compat.is_active(); compat.deactivate(); assert not compat.is_active()"
    program = f"{start}\ntry:\n    import {first}\nexcept ImportError:\n    pass\n{asked}\nimport cutlass"
    assert "No module named 'cutlass'" in run("-c", program, TRIPTYCH_COMPAT="1").stderr


@pytest.mark.skipif(not IS_STARTED_BY_SITE, reason="needs an installation with triptych_compat.pth")
def test_variable_decides_in_an_installation() -> None:
    assert run("-c", "import cutlass; print(cutlass.__name__)", TRIPTYCH_COMPAT="1").stdout == "triptych\n"
    idle = run("-c", "import sys; print([name for name in sys.modules if name.startswith('triptych')])")
    assert idle.stdout == "[]\n"


def run_pytest(folder: Path, *words: str) -> CompletedProcess[str]:
    (folder / "conftest.py").write_text("import cutlass\n")
    (folder / "test_kernels.py").write_text(
        "import cutlass.cute as cute\n\n\ndef test_size():\n    assert cute.size((3, 4)) == 12\n"
    )
    return run("-m", "pytest", *LOADS_PLUGIN, "-p", "no:cacheprovider", "--rootdir", str(folder), str(folder), *words)


def test_option_of_pytest(tmp_path: Path) -> None:
    done = run_pytest(tmp_path, "--triptych-cpu")
    assert "`cutlass` is Triptych" in done.stdout
    assert "1 passed" in done.stdout
    assert done.returncode == 0


def test_pytest_without_the_option_knows_no_cutlass(tmp_path: Path) -> None:
    done = run_pytest(tmp_path)
    assert "No module named 'cutlass'" in done.stdout + done.stderr
    assert done.returncode != 0


def test_plug_in_imports_nothing_before_its_option(tmp_path: Path) -> None:
    (tmp_path / "test_loaded.py").write_text(
        "import sys\n\n\ndef test_loaded():\n    assert 'triptych.compat' not in sys.modules\n"
        "    assert 'triptych.support.config' not in sys.modules\n"
    )
    done = run("-m", "pytest", *LOADS_PLUGIN, "-p", "no:cacheprovider", "--rootdir", str(tmp_path), str(tmp_path))
    assert "1 passed" in done.stdout, done.stdout


def test_notebook_runs_from_top_to_bottom(tmp_path: Path) -> None:
    failing = {"cell_type": "code", "source": "1 / 0", "metadata": {"tags": ["raises-exception"]}}
    texts = ("%time\nprint(x[1])", "y = 3\ny * 14", "y;", "None", "y\ny = 4")
    cells = [{"cell_type": "code", "source": KERNEL}, failing, *({"cell_type": "code", "source": t} for t in texts)]
    notebook = tmp_path / "notebook.ipynb"
    notebook.write_text(json.dumps({"cells": cells}))
    done = run("-m", "triptych", "run", str(notebook))
    assert done.stdout.splitlines() == ["[0.0, 2.0, 4.0, 6.0] __main__ []", "2.0", "42"]
    assert f'File "{notebook}[2]", line 1' in done.stderr
    assert done.returncode == 0


@needs_assembler
def test_compile_only_shows_what_kernels_take(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(KERNEL + "\nassert x[1] == 2.0\n")
    command = ("-m", "triptych", "run", "--target", "nvptx:sm_80", "--compile-only")
    done = run(*command, str(program))
    heads, row, calls, end = done.stdout.splitlines()
    assert heads.split()[:4] == ["kernel", "line", "arch", "registers"]
    assert row.split()[0] == "scale"
    assert row.split()[2] == "sm_80"
    assert calls == "calls of compiled functions that did nothing: 1"
    assert end == f"then the program ended with AssertionError at {program}:25: what follows was not compiled"
    assert "[0.0, 1.0, 2.0, 3.0]" in done.stderr, "what the program prints"
    assert done.returncode == 1
    facts = json.loads(run(*command, "--json", str(program)).stdout)
    assert facts["kernels"][0]["kernel"] == "scale"
    assert facts["kernels"][0]["threads"] == 4
    assert facts["kernels"][0]["spilled"] == 0
    assert 4 < facts["kernels"][0]["instructions"] < 40


@needs_assembler
def test_compile_only_goes_on_behind_checks_of_results(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    again = KERNEL.partition("@cute.kernel")[2].replace("scale", "again").replace("launch(", "launch_again(")
    check = "\nnp.testing.assert_allclose(x, [0, 2, 4, 6])\n"
    again = again.replace("launch_again(grid", "launch(grid")
    program.write_text(f"{KERNEL}{check}\n@cute.kernel{again}{check}")
    done = run("-m", "triptych", "run", "--target", "nvptx:sm_80", "--compile-only", str(program))
    rows = [line.split()[0] for line in done.stdout.splitlines()]
    assert rows[1:3] == ["scale", "again"]
    assert "checks of results that did nothing: 2" in done.stdout
    assert done.returncode == 0


COMPILING_CHILDREN = """
import multiprocessing, subprocess
{kernel}

def child():
    launch(from_dlpack(np.ones(4, np.float32)), 3.0)


if __name__ == "__main__":
    for how in multiprocessing.get_all_start_methods():
        process = multiprocessing.get_context(how).Process(target=child)
        process.start()
        process.join()
        assert process.exitcode == 0
    subprocess.run([sys.executable, __file__.replace("program", "alone")], check=True)
"""


@needs_assembler
@pytest.mark.skipif(not IS_STARTED_BY_SITE, reason="needs an installation with triptych_compat.pth")
def test_compile_only_reaches_children(tmp_path: Path) -> None:
    """However they are started: none runs a kernel, which without a GPU would be an error, and all are in the table."""
    (tmp_path / "alone.py").write_text(KERNEL.replace("scale", "alone"))
    kernel = KERNEL.partition("x = np.arange")[0]
    (tmp_path / "program.py").write_text(COMPILING_CHILDREN.format(kernel=kernel))
    words = ("run", "--target", "nvptx:sm_80", "--compile-only", "--json", str(tmp_path / "program.py"))
    done = run("-m", "triptych", *words)
    assert done.returncode == 0, done.stderr
    kernels = [row["kernel"] for row in json.loads(done.stdout)["kernels"]]
    assert sorted(kernels) == ["alone", *["scale"] * len(multiprocessing.get_all_start_methods())]
    assert "[0.0, 1.0, 2.0, 3.0] __main__" in done.stderr, "what a child prints"


def test_a_wrong_target_is_refused_before_the_program_runs(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text("print('running')\n")
    done = run("-m", "triptych", "run", "--target", "nvptx:sm_8", str(program))
    assert (done.stdout, done.returncode) == ("", 2)
    assert "[TT0504]" in done.stderr


def test_what_takes_long_is_reported() -> None:
    told = io.StringIO()
    progress = RunProgress(told)
    with timeline.underway("compiling slow for cpu"):
        for second in (0.0, 1.0, 2.0, 3.0, 4.0, 7.0, 9.0):
            progress.look(second)
    assert told.getvalue().splitlines() == [f"triptych: compiling slow for cpu, {n} s" for n in (2, 4, 9)]
    progress.listen(timeline.Moment("compile slow", 0, 1_500_000_000, 0, timeline.STAGE))
    assert progress.totals().startswith("triptych: compiled 1 function in 1.5 s, ")


@needs_assembler
def test_compile_only_fails_with_the_compilation(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(KERNEL.replace("* factor", "* factor.nothing"))
    done = run("-m", "triptych", "run", "--target", "nvptx:sm_80", "--compile-only", str(program))
    assert "the program compiled no kernel" in done.stdout
    assert "[TT0310]" in done.stderr
    assert done.returncode == 1


def test_compile_only_needs_a_gpu_s_name(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text("")
    with pytest.raises(RunError, match="only code for a GPU"):
        run_program(RunRequest(str(program), compile_only=True))
    assert not compat.is_active()

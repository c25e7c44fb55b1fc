"""A package of kernels behaves as its files do: installed, editable, in a zip, and frozen where its source is kept."""

from __future__ import annotations

import compileall
import os
import shutil
import site
import subprocess
import sys
import textwrap
import venv
import zipapp
import zipfile
from pathlib import Path

import pytest

PACKAGED = Path(__file__).parent / "packaged"
RIGHT = "right: -1.0\n"


class Environment:
    """A fresh environment in which Triptych is installed as it is in this one."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        venv.create(folder / "env", with_pip=False, symlinks=True)
        self.python = folder / "env" / "bin" / "python"
        self.packages = next((folder / "env" / "lib").iterdir()) / "site-packages"
        known = [path for path in site.getsitepackages() if Path(path).is_dir()]
        lines = [f"import site; site.addsitedir({path!r})" for path in known]
        (self.packages / "as_outside.pth").write_text("\n".join(lines) + "\n")
        self.source = folder / "source"
        for path in (path for path in PACKAGED.rglob("*") if path.is_file()):
            target = self.source / path.relative_to(PACKAGED).with_name(path.name.removesuffix(".txt"))
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, target)

    def install(self, *what: str) -> None:
        options = ["--no-index", "--no-deps", "--no-build-isolation", "--quiet", "--disable-pip-version-check"]
        options += ["--force-reinstall", "--no-cache-dir"]
        command = [sys.executable, "-m", "pip", "--python", str(self.python), "install", *options, *what]
        subprocess.run(command, check=True, cwd=self.folder)

    def run(self, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """In a folder that holds nothing, with a store of its own."""
        empty = self.folder / "empty"
        empty.mkdir(exist_ok=True)
        outer = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        store = {"TRIPTYCH_CACHE": "1", "TRIPTYCH_CACHE_DIR": str(self.folder / "store")}
        return subprocess.run(
            [str(self.python), *arguments],
            cwd=empty,
            env={**outer, **store, **environment},
            capture_output=True,
            text=True,
            check=False,
        )

    def says(self, *arguments: str, **environment: str) -> str:
        ran = self.run(*arguments, **environment)
        assert ran.returncode == 0, ran.stderr
        return ran.stdout


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Environment:
    return Environment(tmp_path_factory.mktemp("packaged"))


def test_installed_from_a_wheel_and_built_again_with_the_same_number(environment: Environment) -> None:
    environment.install(str(environment.source))
    assert (environment.packages / "kernelshop" / "kernels.py").is_file()
    assert environment.says("-m", "kernelshop", "16", "8") == RIGHT  # its settings are read again at each call
    helpers = environment.source / "kernelshop" / "helpers.py"
    before = helpers.read_text()
    helpers.write_text(before.replace("return low", "return low - 1"))
    environment.install(str(environment.source))
    assert environment.says("-m", "kernelshop") == "right: -2.0\n"
    helpers.write_text(before)


def test_an_editable_install(environment: Environment) -> None:
    environment.install("-e", str(environment.source))
    assert not (environment.packages / "kernelshop").exists()
    assert environment.says("-m", "kernelshop") == RIGHT
    helpers = environment.source / "kernelshop" / "helpers.py"
    before = helpers.read_text()
    helpers.write_text(before.replace("return low", "return low - 2"))
    assert environment.says("-m", "kernelshop") == "right: -3.0\n"
    helpers.write_text(before)


def test_from_a_zip_and_as_an_application_in_one_file(environment: Environment, tmp_path: Path) -> None:
    archive = tmp_path / "shop.zip"
    with zipfile.ZipFile(archive, "w") as written:
        for path in sorted((environment.source / "kernelshop").glob("*.py")):
            written.write(path, f"kernelshop/{path.name}")
    assert environment.says("-m", "kernelshop", PYTHONPATH=str(archive)) == RIGHT
    application = tmp_path / "application"
    shutil.copytree(environment.source / "kernelshop", application / "kernelshop")
    zipapp.create_archive(application, tmp_path / "shop.pyz", main="kernelshop.__main__:main")
    assert environment.says(str(tmp_path / "shop.pyz")) == RIGHT


FREEZER = """
    '''Modules from a table of code, named by relative paths, as programs that are frozen into one file have them.'''
    import importlib.abc, importlib.util, runpy, sys
    from pathlib import Path

    class Loader(importlib.abc.InspectLoader):
        def __init__(self, file): self.file = file
        def get_code(self, name):
            return compile(self.file.read_text(), "kernelshop/" + self.file.name, "exec", dont_inherit=True)
        def get_source(self, name): return self.file.read_text() if KEPT else None
        def is_package(self, name): return self.file.stem == "__init__"

    class Finder:
        def find_spec(self, name, path=None, target=None):
            if name.partition(".")[0] == "kernelshop":
                file = ROOT / ((name.partition(".")[2] or "__init__") + ".py")
                return importlib.util.spec_from_loader(name, Loader(file))

    sys.frozen = sys.argv.pop(1) == "frozen"
    KEPT, ROOT = sys.argv.pop(1) == "kept", Path(sys.argv.pop(1))
    sys.meta_path.insert(0, Finder())
    from kernelshop.__main__ import main
    main()
"""


def test_frozen_with_its_source_and_without(environment: Environment, tmp_path: Path) -> None:
    """The loader gives the text if the tool that froze the program has kept it; else the error says what to keep.

    `sys.executable` of a frozen program is the program: it runs what it finds compiled, and never starts itself again.
    """
    program = tmp_path / "program.py"
    program.write_text(textwrap.dedent(FREEZER))
    folder = str(environment.source / "kernelshop")
    assert environment.says(str(program), "not yet", "kept", folder) == RIGHT
    assert environment.says(str(program), "frozen", "kept", folder) == RIGHT
    ran = environment.run(str(program), "frozen", "kept", folder, TRIPTYCH_CACHE_DIR=str(tmp_path / "empty"))
    assert "TT0740" in ran.stderr
    assert "triptych build" in ran.stderr
    _says_what_to_keep(environment.run(str(program), "not yet", "gone", folder))


def test_compiled_files_without_source_are_refused_in_words(environment: Environment, tmp_path: Path) -> None:
    copied = tmp_path / "site" / "kernelshop"
    shutil.copytree(environment.source / "kernelshop", copied)
    compileall.compile_dir(copied, quiet=1, legacy=True)
    for path in copied.glob("*.py"):
        path.unlink()
    _says_what_to_keep(environment.run("-m", "kernelshop", PYTHONPATH=str(copied.parent)))


def _says_what_to_keep(ran: subprocess.CompletedProcess[str]) -> None:
    assert ran.returncode == 1
    assert "TT0102" in ran.stderr, ran.stderr
    assert "with its source" in ran.stderr
    assert "PyInstaller" in ran.stderr

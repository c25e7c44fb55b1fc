"""`import cutlass` while `triptych.compat` is active: the same modules, coded errors for what is absent, no traces."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Iterator
from operator import attrgetter
from types import ModuleType

import pytest

import triptych
import triptych.cute
from triptych import compat
from triptych.compat.errors import NotHereYetError, OtherPackageError
from triptych.compat.public_names import HOMES, NOT_HERE_YET, TIERS, WITH_LIBRARIES, public_names
from triptych.diagnostics.likely_mistakes import MissingAttributeError
from triptych.support.errors import TriptychError

EARLY = [name for name in HOMES if name not in WITH_LIBRARIES]


@pytest.fixture
def active() -> Iterator[None]:
    with compat.activated():
        yield


def _ours() -> list[str]:
    return [name for name in sys.modules if name.partition(".")[0] == "cutlass"]


@pytest.mark.usefixtures("active")
@pytest.mark.parametrize("name", EARLY)
def test_module_is_the_one_of_triptych(name: str) -> None:
    module = importlib.import_module(name)
    assert module is importlib.import_module(HOMES[name])
    assert module.__name__ == HOMES[name]
    assert module.__spec__ is not None
    assert module.__spec__.name == HOMES[name]


@pytest.mark.usefixtures("active")
def test_module_beside_torch_is_the_one_of_triptych() -> None:
    pytest.importorskip("torch")
    assert importlib.import_module("cutlass.torch") is importlib.import_module("triptych.torch")


@pytest.mark.usefixtures("active")
def test_import_statements_of_programs() -> None:
    names: dict[str, object] = {}
    exec(
        "import cutlass, cutlass.cute as cute, cutlass.utils as utils, cutlass.pipeline as pipeline\n"
        "from cutlass import Float32, Constexpr\n"
        "from cutlass.cute import nvgpu\n"
        "from cutlass.cute.nvgpu import cpasync, warp, tcgen05, warpgroup\n"
        "from cutlass.cute.runtime import from_dlpack\n"
        "import cutlass.utils.blackwell_helpers as sm100_helpers\n"
        "layout = cutlass.cute.make_layout((4, 8))\n",
        names,
    )
    assert names["cutlass"] is triptych
    assert names["cute"] is triptych.cute
    assert names["Float32"] is triptych.Float32
    assert isinstance(names["layout"], triptych.cute.Layout)


def test_nothing_is_importable_when_inactive() -> None:
    assert not compat.is_active()
    for name in ("cutlass", "cutlass.cute", "cutlass.utils"):
        with pytest.raises(ModuleNotFoundError):
            importlib.import_module(name)


def test_no_trace_is_left() -> None:
    with compat.activated():  # loads what the imports load
        for name in EARLY:
            importlib.import_module(name)
    finders = list(sys.meta_path)
    before = {name: _facts(module) for name, module in sys.modules.items() if name.startswith("triptych")}
    with compat.activated():
        for name in (*EARLY, *sorted(NOT_HERE_YET)):
            importlib.import_module(name)
        assert _ours()
    assert _ours() == []
    assert sys.meta_path == finders
    assert {name: _facts(sys.modules[name]) for name in before} == before


def test_a_module_keeps_what_it_has_by_a_public_name() -> None:
    """`common` is another module of Triptych, in both."""
    nvgpu = importlib.import_module("triptych.cute.nvgpu")
    with compat.activated():
        importlib.import_module("cutlass.cute.nvgpu.common")
    assert nvgpu.common is importlib.import_module("triptych.cute.nvgpu")


def _facts(module: ModuleType) -> tuple[object, ...]:
    return type(module), module.__spec__, {name for name in vars(module) if not name.startswith("__")}


def test_activation_is_done_once_and_ends_with_the_outermost() -> None:
    with compat.activated():
        with compat.activated():
            pass
        assert compat.is_active()
        compat.activate()
    assert not compat.is_active()


def test_other_package_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cutlass", ModuleType("cutlass"))
    with pytest.raises(OtherPackageError, match=r"imported already"):
        compat.activate()
    assert not compat.is_active()


@pytest.mark.usefixtures("active")
def test_public_name_is_here_or_its_tier_is_reported() -> None:
    """Every name of the census, as a program reaches it from `cutlass`: a value, or the coded error."""
    root = importlib.import_module("cutlass")
    absent = [name for name in WITH_LIBRARIES if importlib.util.find_spec(name.removeprefix("cutlass.")) is None]
    told = [name for name in public_names() if not name.startswith(tuple(f"{each}." for each in absent))]
    for name in told:
        try:
            attrgetter(name.removeprefix("cutlass."))(root)
        except NotHereYetError as error:
            told_tier = error.title.partition("tier ")[2].partition(",")[0]
        else:
            continue
        assert told_tier in TIERS, name


@pytest.mark.usefixtures("active")
def test_missing_attribute_is_an_error_at_its_line() -> None:
    cute = importlib.import_module("cutlass.cute")
    with pytest.raises(NotHereYetError) as raised:
        _ = cute.arch.sext_unpacked_i4_i8_intrinsic
    assert raised.value.span is not None
    assert raised.value.span.file == __file__
    assert "tier T5" in raised.value.title
    assert not hasattr(cute.arch, "sext_unpacked_i4_i8_intrinsic")
    assert getattr(cute.arch, "sext_unpacked_i4_i8_intrinsic", 3) == 3


@pytest.mark.usefixtures("active")
@pytest.mark.parametrize(
    "statement",
    [
        "from cutlass.cute.arch import sext_unpacked_i4_i8_intrinsic",
        "from cutlass.cute import jit, TiledMmaOfTomorrow",
        "import cutlass.jitting",
        "import cutlass.cute.copies",
    ],
)
def test_missing_import_is_an_import_error_at_its_line(statement: str) -> None:
    with pytest.raises(ImportError) as raised:
        exec(compile(statement, "program.py", "exec"), {"__name__": "__main__"})
    entry = raised.value.__traceback__
    assert entry is not None
    while entry.tb_next is not None:
        entry = entry.tb_next
    assert entry.tb_frame.f_code.co_filename == "program.py"
    if isinstance(raised.value, TriptychError):
        assert raised.value.span is not None
        assert raised.value.span.file == "program.py"


EXPERIMENTAL = """
from cutlass.cute.experimental import jit
import cutlass.cute.experimental.host_runtime
from cutlass.experimental.task_scheduling.task import Task
import cutlass.cute as cute

class Copying(Task):
    def run(self, mode: Task | None = None, kind: None | Task.Kind = Task.Kind.COPY): ...

@cute.experimental.kernel(options=1) if False else cute.experimental.kernel
def kernel(x): ...

@jit
def host(x): ...
"""


@pytest.mark.usefixtures("active")
@pytest.mark.parametrize("use", ["host(3)", "kernel(3)", "jit(3)", "Task(1)", "cute.experimental.compile(host, 3)"])
def test_experimental_names_are_imported_and_refused_when_they_are_used(use: str) -> None:
    """A library of kernels imports the modules of all of them, whichever of them it will call."""
    exec(compile(EXPERIMENTAL, "library.py", "exec"), names := {"__name__": "library"})
    with pytest.raises(NotHereYetError, match="belongs to tier experimental") as raised:
        exec(compile(use, "program.py", "exec"), names)
    assert raised.value.span is not None
    assert raised.value.span.file == "program.py"


@pytest.mark.usefixtures("active")
def test_misspelt_name_has_a_guess() -> None:
    cute = importlib.import_module("cutlass.cute")
    with pytest.raises(MissingAttributeError, match="did you mean `make_layout`"):
        _ = cute.make_layuot


@pytest.mark.usefixtures("active")
def test_modules_of_triptych_that_are_not_public_are_not_found_twice() -> None:
    importlib.import_module("cutlass")
    with pytest.raises(ModuleNotFoundError):
        importlib.util.find_spec("cutlass.jitting")


@pytest.mark.usefixtures("active")
def test_adapters_are_registered_by_their_public_name() -> None:
    adapters = importlib.import_module("cutlass.base_dsl.runtime.jit_arg_adapters")
    assert adapters.JitArgAdapterRegistry.register_jit_arg_adapter is triptych.register_jit_arg_adapter

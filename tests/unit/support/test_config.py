"""The settings table: what text means, which source wins, what is refused."""

from __future__ import annotations

import threading
import warnings

import pytest
from hypothesis import given
from hypothesis import strategies as st

from triptych.support import config as module
from triptych.support.config import TABLE, Config, config, current_settings, override, read
from triptych.support.errors import TriptychWarning
from triptych.support.setting import Setting, SettingError


@pytest.fixture
def fresh(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """An environment without settings, read anew."""
    for row in TABLE:
        for variable in (row.variable, *(alias.variable for alias in row.aliases)):
            monkeypatch.delenv(variable, raising=False)
    module._from_process_environment.cache_clear()
    monkeypatch.setattr(module, "_from_process_environment", module._from_process_environment.__wrapped__)
    return monkeypatch


def test_empty_environment_gives_the_defaults() -> None:
    assert read({}) == Config()


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.name)
def test_default_written_to_the_environment_reads_back(row: Setting) -> None:
    assert read({row.variable: str(row.default)}) == Config()


@given(st.integers(0, 3), st.integers(1), st.floats(0.001, 1e9), st.booleans())
def test_values_written_to_the_environment_read_back(level: int, workers: int, seconds: float, switch: bool) -> None:
    written = Config(opt_level=level, workers=workers, worker_timeout=seconds, print_ir=switch)
    assert read({row.variable: str(getattr(written, row.name)) for row in TABLE}) == written


@pytest.mark.parametrize(
    ("text", "value"),
    [("1", True), ("true", True), ("ON", True), ("0", False), ("False", False), ("off", False), ("", False)],
)
def test_spellings_of_a_switch(text: str, value: bool) -> None:
    assert read({"TRIPTYCH_PRINT_IR": text}).print_ir is value


@pytest.mark.parametrize(
    ("variable", "text", "expected"),
    [
        ("TRIPTYCH_OPT_LEVEL", "4", "a whole number at least 0 and at most 3"),
        ("TRIPTYCH_OPT_LEVEL", "fast", "a whole number"),
        ("TRIPTYCH_WORKERS", "0", "at least 1"),
        ("TRIPTYCH_WORKER_TIMEOUT", "soon", "a number at least 0.001"),
        ("TRIPTYCH_PRINT_IR", "maybe", "one of 1, true, on, 0, false, off"),
        ("TRIPTYCH_DEBUG", "bound", "nothing, or made of: bounds"),
        ("TRIPTYCH_DEBUG", "bound", "did you mean 'bounds'?"),
        ("TRIPTYCH_ASSEMBLER", "masm", "nvjitlink, ptxas"),
        ("TRIPTYCH_BLOCK_ORDER", "shufled:7", "did you mean 'shuffled:7'?"),
        ("TRIPTYCH_LOG", "inf", "did you mean 'info'?"),
        ("TRIPTYCH_LOG", "info,compile=debg", "did you mean 'info,compile=debug'?"),
    ],
)
def test_unusable_text_is_refused_with_the_variable_and_the_expectation(
    variable: str, text: str, expected: str
) -> None:
    with pytest.raises(SettingError) as caught:
        read({variable: text})
    assert variable in str(caught.value)
    assert expected in str(caught.value)


@pytest.mark.parametrize("text", ["info", "INFO", "10", "info,compile=debug", "compile=debug,ir.worker=20"])
def test_levels_of_the_log(text: str) -> None:
    assert read({"TRIPTYCH_LOG": text}).log == text


def test_nan_is_not_a_timeout() -> None:
    with pytest.raises(SettingError):
        read({"TRIPTYCH_WORKER_TIMEOUT": "nan"})


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"CUTE_DSL_ARCH": "sm_90a"}, Config(target="nvptx:sm_90a")),
        ({"CUTE_DSL_ARCH": "sm_90a", "TRIPTYCH_TARGET": "cpu"}, Config(target="cpu")),
        ({"CUTE_DSL_PRINT_IR": "1"}, Config(print_ir=True)),
        ({"CUTE_DSL_SHOW_STACKTRACE": "on"}, Config(full_traceback=True)),
        ({"CUTE_DSL_KEEP_IR": "1"}, Config(keep=".")),
        ({"CUTE_DSL_KEEP_PTX": "1", "CUTE_DSL_DUMP_DIR": "dumps"}, Config(keep="dumps")),
        ({"CUTE_DSL_KEEP_IR": "0", "CUTE_DSL_DUMP_DIR": "dumps"}, Config()),
        ({"CUTE_DSL_KEEP_IR": "0", "CUTE_DSL_KEEP_PTX": "1"}, Config(keep=".")),
        ({"CUTE_DSL_DUMP_DIR": "dumps"}, Config()),
        ({"CUTE_DSL_LOG_TO_CONSOLE": "1"}, Config(log="debug")),
        ({"CUTE_DSL_LOG_TO_CONSOLE": "1", "CUTE_DSL_LOG_LEVEL": "20"}, Config(log="20")),
    ],
)
def test_aliases(environment: dict[str, str], expected: Config) -> None:
    assert read(environment) == expected


def test_misspelt_variable_is_warned_about_with_a_guess() -> None:
    with pytest.warns(TriptychWarning, match="TRIPTYCH_OPTLEVEL: did you mean TRIPTYCH_OPT_LEVEL"):
        read({"TRIPTYCH_OPTLEVEL": "2"})


def test_hopeless_variable_is_warned_about_with_the_way_to_the_list() -> None:
    with pytest.warns(TriptychWarning, match="triptych env"):
        read({"TRIPTYCH_ZZZZZZ": "2"})


def test_environment_is_read_and_warned_about_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRIPTYCH_OPTLEVEL", "2")
    module._from_process_environment.cache_clear()
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        assert config() is config()
    assert len(seen) == 1


def test_override_is_undone_even_by_an_exception() -> None:
    before = config()
    changed = override(opt_level=0)
    assert changed.__enter__() is config()
    changed.__exit__(KeyError, KeyError(), None)
    assert config() is before


def test_overrides_nest() -> None:
    with override(opt_level=1), override(workers=7) as inner:
        assert (inner.opt_level, inner.workers) == (1, 7)
        assert config() is inner


def test_override_stays_in_its_thread() -> None:
    seen: list[Config] = []
    with override(opt_level=0):
        thread = threading.Thread(target=lambda: seen.append(config()))
        thread.start()
        thread.join()
    assert seen == [config()]


@pytest.mark.parametrize("changes", [{"opt_level": 9}, {"opt_level": True}, {"print_ir": 1}, {"target": 3}])
def test_override_refuses_unusable_values(changes: dict[str, object]) -> None:
    with pytest.raises(SettingError), override(**changes):
        pass


def test_override_takes_a_whole_number_where_a_number_is_expected() -> None:
    with override(worker_timeout=5) as changed:
        assert changed.worker_timeout == 5


def test_override_of_an_unknown_name_guesses() -> None:
    with pytest.raises(SettingError, match="did you mean 'opt_level'"), override(optlevel=1):
        pass


def test_origins(fresh: pytest.MonkeyPatch) -> None:
    fresh.setenv("TRIPTYCH_WORKERS", "5")
    fresh.setenv("CUTE_DSL_ARCH", "sm_80")
    with override(opt_level=1):
        origins = {row.name: (value, origin) for row, value, origin in current_settings()}
    assert origins["workers"] == (5, "TRIPTYCH_WORKERS")
    assert origins["target"] == ("nvptx:sm_80", "CUTE_DSL_ARCH")
    assert origins["opt_level"] == (1, "override")
    assert origins["keep"] == ("", "default")

"""Plug-ins: found by name, loaded late, unable to break each other."""

from __future__ import annotations

import sys
from importlib import metadata
from importlib.metadata import EntryPoint

import pytest

from triptych.support.errors import TriptychWarning
from triptych.support.registry import DuplicatePluginError, Registry, UnknownPluginError

GROUP = "triptych.example"


def install(monkeypatch: pytest.MonkeyPatch, *plugins: tuple[str, str]) -> None:
    """Pretend that installed packages announce these plug-ins."""
    entries = [EntryPoint(name, reference, GROUP) for name, reference in plugins]
    monkeypatch.setattr(metadata, "entry_points", lambda group: [entry for entry in entries if entry.group == group])


def test_plugin_is_found_by_entry_point(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, ("pi", "math:pi"))
    assert Registry[float](GROUP).get("pi") == pytest.approx(3.14159, abs=1e-5)


def test_nested_attribute_is_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, ("join", "os:path.join"))
    assert callable(Registry[object](GROUP).get("join"))


def test_nothing_loads_before_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "this", raising=False)
    install(monkeypatch, ("zen", "this:s"))
    registry = Registry[str](GROUP)
    assert registry.names() == ["zen"]
    assert "this" not in sys.modules


def test_plugin_is_loaded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, ("table", "string:Template"))
    registry = Registry[object](GROUP)
    assert registry.get("table") is registry.get("table")


def test_builtin_needs_no_metadata(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(group: str) -> None:
        raise AssertionError("package metadata was read")

    monkeypatch.setattr(metadata, "entry_points", refuse)
    assert Registry[object](GROUP, builtin={"e": "math:e"}).get("e") == pytest.approx(2.71828, abs=1e-5)


def test_builtin_announced_by_its_own_package_is_no_duplicate(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, ("e", "math:e"))
    registry = Registry[float](GROUP, builtin={"e": "math:e"})
    assert registry.names() == ["e"]
    assert set(registry.all()) == {"e"}


def test_same_package_seen_twice_is_no_duplicate(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, ("pi", "math:pi"), ("pi", "math:pi"))
    assert Registry[float](GROUP).get("pi") > 3


def test_two_packages_claiming_a_name_is_an_error_naming_both(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, ("pi", "math:pi"), ("pi", "cmath:pi"))
    with pytest.raises(DuplicatePluginError, match="math:pi, cmath:pi"):
        Registry[float](GROUP).get("pi")


def test_registering_a_taken_name_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, ("pi", "math:pi"))
    registry = Registry[float](GROUP)
    registry.register("tau", 6.28)
    assert registry.get("tau") == 6.28
    for taken in ("pi", "tau"):
        with pytest.raises(DuplicatePluginError):
            registry.register(taken, 1.0)


def test_unknown_name_lists_the_known_ones_and_guesses(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, ("nvptx", "math:pi"))
    with pytest.raises(UnknownPluginError) as caught:
        Registry[float](GROUP, builtin={"cpu": "math:e"}).get("nvptxx")
    assert "one of cpu, nvptx" in str(caught.value)
    assert "did you mean 'nvptx'?" in str(caught.value)
    assert isinstance(caught.value, LookupError)


def test_unknown_name_in_an_empty_group(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch)
    with pytest.raises(UnknownPluginError, match="there is none"):
        Registry[float](GROUP).get("cpu")


@pytest.mark.parametrize("reference", ["no_such_module_anywhere:X", "math:no_such_attribute"])
def test_broken_plugin_warns_and_leaves_the_others_alone(monkeypatch: pytest.MonkeyPatch, reference: str) -> None:
    install(monkeypatch, ("broken", reference), ("pi", "math:pi"), ("twice", "math:e"), ("twice", "cmath:e"))
    registry = Registry[float](GROUP)
    with pytest.warns(TriptychWarning) as seen:
        assert set(registry.all()) == {"pi"}
    assert sorted(str(warning.message).split(" ")[1] for warning in seen) == ["'broken'", "plug-ins"]


def test_broken_plugin_asked_for_by_name_tells_why(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, ("broken", "no_such_module_anywhere:X"))
    with pytest.raises(UnknownPluginError, match="No module named 'no_such_module_anywhere'") as caught:
        Registry[float](GROUP).get("broken")
    assert isinstance(caught.value.__cause__, ModuleNotFoundError)

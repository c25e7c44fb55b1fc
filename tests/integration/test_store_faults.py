"""A store on a disk that is full, that cannot be written, or whose clock is wrong: programs go on, warned once."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.integration.mounting import run_mounted
from tests.integration.subprograms import run
from tests.support.stores import entry_of, files_of, key_of, store_in

PROGRAM = ("-m", "tests.support.store_program")


def result_of(finished: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    assert finished.returncode == 0, finished.stdout + finished.stderr
    assert finished.stderr == ""
    result: dict[str, Any] = json.loads(finished.stdout)
    assert result["right"] > 0
    return result


def test_full_disk(tmp_path: Path) -> None:
    """A file system of 256 KiB for entries of 800 KB."""
    (tmp_path / "small").mkdir()
    mounts = "mount -t tmpfs -o size=256k,mode=700 tmpfs small"
    result = result_of(run_mounted(mounts, tmp_path, *PROGRAM, str(tmp_path / "small")))
    assert len(result["warnings"]) == 1
    assert "No space left on device" in result["warnings"][0]
    assert 5 <= result["found"] < 40


def test_disk_without_room_for_another_file(tmp_path: Path) -> None:
    (tmp_path / "small").mkdir()
    mounts = "mount -t tmpfs -o size=10m,nr_inodes=40,mode=700 tmpfs small"
    result = result_of(run_mounted(mounts, tmp_path, *PROGRAM, str(tmp_path / "small")))
    assert len(result["warnings"]) == 1
    assert "No space left on device" in result["warnings"][0]


def test_files_that_may_not_become_so_large(tmp_path: Path) -> None:
    result = result_of(run(*PROGRAM, str(tmp_path / "s"), LARGEST_FILE="10000"))
    assert len(result["warnings"]) == 1
    assert "File too large" in result["warnings"][0]
    assert result["found"] == 0
    assert list((tmp_path / "s" / "tmp").iterdir()) == []


def test_read_only_file_system(tmp_path: Path) -> None:
    """What is there is used; what is not is made, and not kept."""
    store = store_in(tmp_path / "s")
    for number in range(10):
        store.publish(key_of(number), entry_of(number, 20_000))
    mounts = "mount --bind s s && mount -o remount,bind,ro s"
    result = result_of(run_mounted(mounts, tmp_path, *PROGRAM, str(tmp_path / "s")))
    assert result["found"] == 10
    assert len(result["warnings"]) == 1
    assert "Read-only file system" in result["warnings"][0]


def test_directory_without_permission_to_write(tmp_path: Path) -> None:
    if os.geteuid() == 0:
        pytest.skip("permissions do not hold for root; the read-only file system is tested")
    store = store_in(tmp_path / "s")
    store.publish(key_of(0), entry_of(0, 20_000))
    for path in [*(tmp_path / "s").rglob("*"), tmp_path / "s"]:
        if path.is_dir():
            path.chmod(0o500)
    result = result_of(run(*PROGRAM, str(tmp_path / "s")))
    assert result["found"] == 1
    assert len(result["warnings"]) == 1
    assert "Permission denied" in result["warnings"][0]


@pytest.mark.parametrize("seconds", [-400 * 86400, 400 * 86400])
def test_clock_that_jumped(tmp_path: Path, seconds: int) -> None:
    """Entries of last year and of next year are entries."""
    store = store_in(tmp_path / "s")
    for number in range(40):
        store.publish(key_of(number), entry_of(number, 2_000))
    for part in ("ac", "cas"):
        for path in files_of(tmp_path / "s", part):
            time = path.stat().st_mtime + seconds
            os.utime(path, (time, time))
    result = result_of(run(*PROGRAM, str(tmp_path / "s"), "40", "2000"))
    assert (result["found"], result["warnings"]) == (40, [])
    assert store.prune(30_000).left <= 30_000


def test_path_that_cannot_be_a_directory(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    result = result_of(run(*PROGRAM, str(tmp_path / "file" / "home" / "cache")))
    assert result["found"] == 0
    assert len(result["warnings"]) == 1
    assert "Not a directory" in result["warnings"][0]

"""The GPU that host programs are told of: a row of a table, chosen by a setting."""

from __future__ import annotations

import pytest

from triptych.compat.base_dsl import BaseDSL
from triptych.compat.modelled_gpu import ModelledGpuError, modelled_gpu
from triptych.cute.arch.architectures import Arch
from triptych.support.config import GPUS, override
from triptych.support.setting import SettingError
from triptych.targets.nvptx.description.architectures import ARCHITECTURES
from triptych.utils import HardwareInfo


@pytest.mark.parametrize("name", GPUS)
def test_models_agree_with_the_architectures_that_kernels_are_compiled_for(name: str) -> None:
    with override(gpu=name):
        gpu = modelled_gpu()
        [architecture] = {a.shared: a for a in ARCHITECTURES.values() if a.generation == gpu.generation}.values()
        assert (gpu.threads, gpu.shared) == (architecture.threads, architecture.shared)
        assert gpu.capability[0] * 10 + gpu.capability[1] == gpu.generation


@pytest.mark.parametrize(("gpu", "name"), [("a100", "sm_80"), ("h100", "sm_90a")])
def test_the_language_knows_the_architecture_of_the_model(gpu: str, name: str) -> None:
    with override(gpu=gpu, target="cpu"):
        assert str(BaseDSL._get_dsl().get_arch_enum()) == name


def test_families_of_architectures() -> None:
    assert Arch.sm_90a.is_family_of(Arch.sm_90a)
    assert not Arch.sm_90a.is_family_of(Arch.sm_90)
    assert Arch.sm_103a.is_family_of(Arch.sm_100f)
    assert not Arch.sm_100a.is_family_of(Arch.sm_103f)
    assert not Arch.sm_120a.is_family_of(Arch.sm_100f)
    assert not Arch.sm_100.is_family_of(Arch.sm_100f)


def test_the_setting_chooses_model_and_size() -> None:
    with override(gpu="h100", target="nvptx:sm_90a"):
        assert HardwareInfo().get_device_multiprocessor_count() == 132
        assert HardwareInfo().get_max_active_clusters(2) == 66
    with override(gpu="H100:8"):
        assert HardwareInfo().get_max_active_clusters(1) == 8
        assert HardwareInfo().get_max_active_clusters(cluster_size=4) == 2
    with override(gpu=""):
        assert modelled_gpu().generation == 100


@pytest.mark.parametrize(
    ("target", "generation"),
    [("cpu", 100), ("", 100), ("nvptx", 100), ("nvptx:sm_80", 80), ("nvptx:sm_90a", 90), ("nvptx:sm_120", 120)],
)
def test_without_the_setting_it_is_the_one_that_is_compiled_for(target: str, generation: int) -> None:
    with override(gpu="", target=target):
        assert modelled_gpu().generation == generation


def test_on_the_cpu_a_cluster_runs_on_each_thread() -> None:
    """Clusters of any size have no more blocks than there are clusters of one, for which programs have memory."""
    with override(gpu="h100", threads=3):
        assert HardwareInfo().get_max_active_clusters(1) == 48
        assert HardwareInfo().get_max_active_clusters(2) == 24
        assert HardwareInfo().get_max_active_clusters(16) == 3
    with override(gpu="h100", threads=30):
        assert HardwareInfo().get_max_active_clusters(16) == 8


def test_clusters_of_a_rank_run_at_the_same_time() -> None:
    with override(gpu="h100", threads=3, gpus=4):
        assert HardwareInfo().get_max_active_clusters(1) == 3
        assert HardwareInfo().get_max_active_clusters(4) == 3


@pytest.mark.parametrize("wrong", ["h10000", "h100:0", "h100:", "tpu"])
def test_an_unknown_model_is_refused(wrong: str) -> None:
    with pytest.raises(SettingError), override(gpu=wrong):
        pass


@pytest.mark.parametrize(("gpu", "blocks"), [("h100", 0), ("h100", 17), ("a100", 2)])
def test_clusters_that_no_gpu_has_are_refused(gpu: str, blocks: int) -> None:
    with override(gpu=gpu), pytest.raises(ModelledGpuError, match="clusters"):
        HardwareInfo().get_max_active_clusters(blocks)


def test_there_is_one_gpu() -> None:
    with pytest.raises(ModelledGpuError, match="no GPU number 1"):
        HardwareInfo(1)
    assert HardwareInfo().get_l2_cache_size_in_bytes() > 0

"""The module `torch.cuda` while the CPU stands in for a GPU: a table of names and values, installed, taken back."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import ExitStack
from types import SimpleNamespace
from typing import Any, Self

import torch
import torch.profiler

from triptych.compat.cuda_versions import CUDA_VERSION
from triptych.compat.modelled_gpu import check_device_number, modelled_gpu
from triptych.compat.torch_on_cpu import calls_back, streams
from triptych.compat.torch_on_cpu.function_mode import CudaOnCpu
from triptych.compat.torch_on_cpu.placement import choose_gpu, forget_gpu, gpu, gpu_number, is_placed, means_gpu
from triptych.support.config import config
from triptych.support.forking import import_late

_REGISTERS = 65536
_SUCCESS = 0


class Properties:
    """What `torch.cuda.get_device_properties` gives, for the modelled GPU."""

    def __init__(self) -> None:
        gpu = modelled_gpu()
        self.name = gpu.name
        self.major, self.minor = gpu.capability
        self.total_memory = gpu.memory
        self.multi_processor_count = gpu.multiprocessors
        self.L2_cache_size = gpu.cache
        self.warp_size = 32
        self.max_threads_per_block = 1024
        self.max_threads_per_multi_processor = gpu.threads
        self.regs_per_multiprocessor = _REGISTERS
        self.shared_memory_per_block = 48 << 10
        self.shared_memory_per_multiprocessor = gpu.shared
        self.shared_memory_per_block_optin = gpu.shared - 1024
        self.is_integrated = self.is_multi_gpu_board = 0
        self.pci_bus_id = self.pci_device_id = self.pci_domain_id = 0

    def __repr__(self) -> str:
        shown = ("name", "major", "minor", "total_memory", "multi_processor_count", "L2_cache_size")
        return f"_CudaDeviceProperties({', '.join(f'{name}={getattr(self, name)!r}' for name in shown)})"


class device:
    """`with torch.cuda.device(0):`; a process works on one GPU."""

    def __init__(self, device: object) -> None:
        if device is not None:
            choose_gpu(_number(device))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass


class Generator(torch.Generator):  # type: ignore[misc]  # torch has no types here
    """A source of random numbers that says it is where the program put it, and makes the CPU's numbers."""

    def __new__(cls, device: object = "cpu") -> Self:
        made: Self = super().__new__(cls, device="cpu")
        made._on_gpu = bool(means_gpu(device))
        return made

    def __init__(self, device: object = "cpu") -> None:
        super().__init__()

    _on_gpu: bool

    @property
    def device(self) -> Any:
        return gpu() if self._on_gpu else torch.device("cpu")


def _number(device: object = None) -> int:
    """The number of a device in any of the forms that torch takes."""
    if isinstance(device, str):
        device = torch.device(device)
    index = device.index if isinstance(device, torch.device) else device
    return check_device_number(index) if isinstance(index, int) and index >= 0 else gpu_number()


def _properties(device: object = None) -> Properties:
    _number(device)
    return Properties()


def _capability(device: object = None) -> tuple[int, int]:
    _number(device)
    return modelled_gpu().capability


def _name(device: object = None) -> str:
    _number(device)
    return modelled_gpu().name


def _set_device(device: object) -> None:
    choose_gpu(_number(device))


def _can_access_peer(device: object, peer_device: object) -> bool:
    return _number(device) != _number(peer_device)


def _memory(device: object = None) -> tuple[int, int]:
    _number(device)
    return modelled_gpu().memory, modelled_gpu().memory


def _seed(seed: int) -> None:
    """One source of random numbers serves both devices."""
    torch.default_generator.manual_seed(int(seed))


def _nothing(*_: object, **__: object) -> None:
    """Work has ended when its call returns: there is nothing to wait for or to give back."""


def _zero(*_: object, **__: object) -> int:
    return 0


def _yes(*_: object, **__: object) -> bool:
    return True


def _no(*_: object, **__: object) -> bool:
    return False


_CUDART = SimpleNamespace(
    cudaProfilerStart=_zero,
    cudaProfilerStop=_zero,
    cudaDeviceSynchronize=_zero,
    cudaMemGetInfo=_memory,
    cudaError=SimpleNamespace(success=_SUCCESS),
)

_OF_CUDA: dict[str, Any] = {
    "is_available": _yes,
    "is_initialized": _yes,
    "is_bf16_supported": _yes,
    "is_tf32_supported": _yes,
    "init": _nothing,
    "_lazy_init": _nothing,
    "device_count": lambda: config().gpus,
    "current_device": gpu_number,
    "device": device,
    "device_of": lambda tensor: device(gpu_number() if is_placed(tensor) else None),
    "set_device": _set_device,
    "get_device_capability": _capability,
    "get_device_name": _name,
    "get_device_properties": _properties,
    "get_arch_list": lambda: [f"sm_{modelled_gpu().generation}"],
    "can_device_access_peer": _can_access_peer,
    "synchronize": _nothing,
    "ipc_collect": _nothing,
    "empty_cache": _nothing,
    "mem_get_info": _memory,
    "cudart": lambda: _CUDART,
    "manual_seed": _seed,
    "manual_seed_all": _seed,
    "seed": lambda: torch.default_generator.seed(),
    "seed_all": lambda: torch.default_generator.seed(),
    "initial_seed": lambda: torch.initial_seed(),
    "get_rng_state": lambda device=None: torch.get_rng_state(),
    "set_rng_state": lambda state, device=None: torch.set_rng_state(state),
    "Stream": streams.Stream,
    "ExternalStream": streams.ExternalStream,
    "StreamContext": streams.StreamContext,
    "Event": streams.CudaEvent,
    "stream": streams.stream,
    "set_stream": streams.set_stream,
    "current_stream": streams.current_stream,
    "default_stream": streams.default_stream,
    "CUDAGraph": streams.CUDAGraph,
    "graph": streams.graph,
    "graph_pool_handle": lambda: (0, 0),
    "is_current_stream_capturing": streams.is_current_stream_capturing,
}
_MEMORY = {
    name: _zero
    for kind in ("allocated", "reserved", "cached")
    for name in (f"memory_{kind}", f"max_memory_{kind}", f"reset_max_memory_{kind}")
}
_OF_CUDA |= {name: value for name, value in _MEMORY.items() if hasattr(torch.cuda, name)}
_OF_CUDA |= {
    "reset_peak_memory_stats": _nothing,
    "reset_accumulated_memory_stats": _nothing,
    "memory_stats": lambda *_: {},
}
_OF_NVTX: dict[str, Any] = {
    "range_push": _zero,
    "range_pop": _zero,
    "range_start": _zero,
    "range_end": _nothing,
    "mark": _nothing,
}


class Profile(torch.profiler.profile):  # type: ignore[misc, unused-ignore]
    """A profile in which what a program asks of the GPU is asked of the CPU, which computes it."""

    def __init__(self, *, activities: Iterable[object] | None = None, **options: object) -> None:
        cpu, gpu = torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA
        asked = None if activities is None else [cpu if each is gpu else each for each in activities]
        super().__init__(activities=asked, **options)


def replacements() -> list[tuple[Any, str, Any]]:
    """What is to stand where: a namespace of torch, a name in it, and what it is meanwhile."""
    found: list[tuple[Any, str, Any]] = [(torch.cuda, name, value) for name, value in _OF_CUDA.items()]
    found += [(torch.cuda.nvtx, name, value) for name, value in _OF_NVTX.items()]
    found += [(torch.cuda.streams, name, _OF_CUDA[name]) for name in ("Stream", "ExternalStream", "Event")]
    found += [(torch.cuda.graphs, name, _OF_CUDA[name]) for name in ("CUDAGraph", "graph")]
    found += [(torch, "Generator", Generator), (torch.version, "cuda", str(CUDA_VERSION))]
    found += [(module, "profile", Profile) for module in (torch.profiler, torch.profiler.profiler)]
    if config().gpus > 1:
        found += import_late(_SEVERAL).replacements()
    return found + calls_back.replacements()


_SEVERAL = "triptych.compat.several_gpus.torch_memory"


def install() -> Callable[[], None]:
    """Change torch for this thread's calls and this process's `torch.cuda`; the result undoes all of it."""
    everything = ExitStack()
    for namespace, name, value in replacements():
        _replace(everything, namespace, name, value)
    everything.callback(streams.forget)
    everything.callback(forget_gpu)
    everything.enter_context(CudaOnCpu())
    return everything.close


# Any: modules and classes of torch.
def _replace(everything: ExitStack, namespace: Any, name: str, value: Any) -> None:
    if name in vars(namespace):
        everything.callback(setattr, namespace, name, vars(namespace)[name])
    else:
        everything.callback(delattr, namespace, name)
    setattr(namespace, name, value)

"""`cuda.bindings.runtime` without a driver: the driver's stand-ins under the runtime's names."""

from __future__ import annotations

from enum import IntEnum
from typing import Any

from triptych.compat.cuda import CUstream
from triptych.compat.cuda_bindings import driver, handles
from triptych.compat.cuda_bindings.handles import ATTRIBUTES, CUevent, attribute, refusing

__all__ = ["cudaError_t", "cudaEvent_t", "cudaMemcpyKind", "cudaStream_t"]

Result = tuple[Any, ...]
cudaStream_t = CUstream
cudaEvent_t = CUevent


class cudaError_t(IntEnum):
    """What a call says of itself."""

    cudaSuccess = 0
    cudaErrorInvalidValue = 1
    cudaErrorInvalidDevice = 101
    cudaErrorNotReady = 600
    cudaErrorCooperativeLaunchTooLarge = 720


class cudaMemcpyKind(IntEnum):
    """From where to where."""

    cudaMemcpyHostToHost = 0
    cudaMemcpyHostToDevice = 1
    cudaMemcpyDeviceToHost = 2
    cudaMemcpyDeviceToDevice = 3
    cudaMemcpyDefault = 4


cudaDeviceAttr = IntEnum(  # type: ignore[misc]  # the names are data
    "cudaDeviceAttr", [f"cudaDevAttr{name.title().replace('_', '')}" for name in ATTRIBUTES]
)
_OK = (cudaError_t.cudaSuccess,)


def __getattr__(name: str) -> Any:
    return refusing("cuda.bindings.runtime", name)


def _like(answer: Result) -> Result:
    """A driver's answer with the runtime's code, which has the same number."""
    return cudaError_t(int(answer[0])), *answer[1:]


def _done(*_: object) -> Result:
    return _OK


cudaDeviceSynchronize = cudaStreamSynchronize = cudaStreamDestroy = cudaStreamQuery = cudaStreamWaitEvent = _done
cudaEventDestroy = cudaEventSynchronize = cudaEventQuery = cudaDeviceReset = cudaProfilerStart = cudaProfilerStop = (
    _done
)
cudaGetLastError = cudaPeekAtLastError = _done


def cudaGetErrorName(error: int) -> Result:
    """A result code's name, as bytes."""
    return *_OK, cudaError_t(error).name.encode()


cudaGetErrorString = cudaGetErrorName


def cudaRuntimeGetVersion() -> Result:
    """The version that is stood in for."""
    return _like(driver.cuDriverGetVersion())


cudaDriverGetVersion = cudaRuntimeGetVersion


def cudaGetDeviceCount() -> Result:
    """As many as are modelled."""
    return _like(driver.cuDeviceGetCount())


def cudaGetDevice() -> Result:
    """Its number."""
    return *_OK, 0


def cudaSetDevice(device: int) -> Result:
    """There is one."""
    return _OK if device == 0 else (cudaError_t.cudaErrorInvalidDevice,)


def cudaDeviceGetAttribute(attr: Any, device: int) -> Result:
    """One of the attributes that the modelled GPU has."""
    return *_OK, attribute(ATTRIBUTES[list(cudaDeviceAttr).index(attr)])


def cudaMemGetInfo() -> Result:
    """As the driver says."""
    return _like(driver.cuMemGetInfo())


def cudaMalloc(size: int) -> Result:
    """New memory, by its address."""
    return *_OK, handles.allocate(size)


def cudaMallocAsync(size: int, hStream: object = 0) -> Result:
    """New memory, at once."""
    return cudaMalloc(size)


cudaMallocHost = cudaMalloc


def cudaFree(devPtr: object) -> Result:
    """Give memory back."""
    return _like(driver.cuMemFree(devPtr))


def cudaFreeAsync(devPtr: object, hStream: object = 0) -> Result:
    """Give memory back, at once."""
    return cudaFree(devPtr)


cudaFreeHost = cudaFree


def cudaMemcpy(dst: object, src: object, count: int, kind: object = cudaMemcpyKind.cudaMemcpyDefault) -> Result:
    """Copy bytes, from wherever to wherever."""
    return _like(driver.cuMemcpy(dst, src, count))


def cudaMemcpyAsync(
    dst: object, src: object, count: int, kind: object = cudaMemcpyKind.cudaMemcpyDefault, stream: object = 0
) -> Result:
    """Copy bytes; done at once."""
    return cudaMemcpy(dst, src, count)


def cudaMemset(devPtr: object, value: int, count: int) -> Result:
    """Set bytes."""
    return _like(driver.cuMemsetD8(devPtr, value, count))


def cudaMemsetAsync(devPtr: object, value: int, count: int, stream: object = 0) -> Result:
    """Set bytes; done at once."""
    return cudaMemset(devPtr, value, count)


def cudaStreamCreate() -> Result:
    """A stream."""
    return _like(driver.cuStreamCreate(0))


def cudaStreamCreateWithFlags(flags: int) -> Result:
    """A stream."""
    return cudaStreamCreate()


def cudaEventCreate() -> Result:
    """An event."""
    return _like(driver.cuEventCreate(0))


def cudaEventCreateWithFlags(flags: int) -> Result:
    """An event."""
    return cudaEventCreate()


def cudaEventRecord(event: object, stream: object = 0) -> Result:
    """Remember this moment."""
    return _like(driver.cuEventRecord(event, stream))


def cudaEventElapsedTime(start: object, end: object) -> Result:
    """Milliseconds between two events."""
    return _like(driver.cuEventElapsedTime(start, end))

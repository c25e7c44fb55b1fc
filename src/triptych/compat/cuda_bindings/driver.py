"""`cuda.bindings.driver` without a driver. A call gives a tuple that begins with the result code."""

from __future__ import annotations

from enum import IntEnum
from typing import Any

from triptych.compat.cuda import CUstream, CUstream_flags
from triptych.compat.cuda_bindings import handles
from triptych.compat.cuda_bindings.handles import (
    ATTRIBUTES,
    CUcontext,
    CUdevice,
    CUdeviceptr,
    CUevent,
    attribute,
    elapsed,
    new_number,
    record,
    refusing,
)
from triptych.compat.modelled_gpu import modelled_gpu
from triptych.support.config import config

__all__ = ["CUcontext", "CUdevice", "CUdeviceptr", "CUevent", "CUresult", "CUstream", "CUstream_flags"]

VERSION = 13000
_CONTEXT = CUcontext(1)
Result = tuple[Any, ...]


class CUresult(IntEnum):
    """What a call says of itself."""

    CUDA_SUCCESS = 0
    CUDA_ERROR_INVALID_VALUE = 1
    CUDA_ERROR_INVALID_DEVICE = 101
    CUDA_ERROR_NOT_READY = 600
    CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE = 720


CUdevice_attribute = IntEnum(  # type: ignore[misc]  # the names are data
    "CUdevice_attribute", [f"CU_DEVICE_ATTRIBUTE_{name}" for name in ATTRIBUTES]
)
CUevent_flags = IntEnum("CUevent_flags", {"CU_EVENT_DEFAULT": 0, "CU_EVENT_DISABLE_TIMING": 2})
_OK = (CUresult.CUDA_SUCCESS,)
_INVALID = (CUresult.CUDA_ERROR_INVALID_VALUE,)


def __getattr__(name: str) -> Any:
    return refusing("cuda.bindings.driver", name)


def _done(*_: object) -> Result:
    return _OK


def cuInit(Flags: int) -> Result:
    """Nothing has to be started."""
    return _OK


def cuDriverGetVersion() -> Result:
    """The version that is stood in for."""
    return *_OK, VERSION


def cuGetErrorName(error: int) -> Result:
    """A result code's name, as bytes."""
    return *_OK, CUresult(error).name.encode()


cuGetErrorString = cuGetErrorName


def cuDeviceGetCount() -> Result:
    """As many GPUs as the setting `gpus` says."""
    return *_OK, config().gpus


def cuDeviceGet(ordinal: int) -> Result:
    """A GPU by its number."""
    is_there = 0 <= ordinal < config().gpus
    return (*_OK, CUdevice(ordinal)) if is_there else (CUresult.CUDA_ERROR_INVALID_DEVICE, None)


def cuDeviceGetName(len: int, dev: object) -> Result:
    """Its name, as bytes."""
    return *_OK, modelled_gpu().name.encode()[:len]


def cuDeviceGetAttribute(attrib: Any, dev: object) -> Result:
    """One of the attributes that the modelled GPU has."""
    return *_OK, attribute(attrib.name.removeprefix("CU_DEVICE_ATTRIBUTE_"))


def cuDevicePrimaryCtxRetain(dev: object) -> Result:
    """The context of a GPU."""
    return *_OK, _CONTEXT


def cuCtxGetCurrent() -> Result:
    """The context in use."""
    return *_OK, _CONTEXT


def cuCtxGetDevice() -> Result:
    """The GPU in use."""
    return *_OK, CUdevice(0)


cuCtxSetCurrent = cuCtxSynchronize = cuDevicePrimaryCtxRelease = cuCtxPushCurrent = _done


def cuMemGetInfo() -> Result:
    """Free memory and all of it."""
    return *_OK, modelled_gpu().memory, modelled_gpu().memory


def cuMemAlloc(bytesize: int) -> Result:
    """New memory."""
    return *_OK, CUdeviceptr(handles.allocate(bytesize))


def cuMemFree(dptr: object) -> Result:
    """Give memory back."""
    return _OK if handles.free(dptr) else _INVALID


def cuMemcpyDtoD(dst: object, src: object, ByteCount: int) -> Result:
    """Copy bytes; all memory is the CPU's."""
    handles.copy(dst, src, ByteCount)
    return _OK


def cuMemcpyDtoDAsync(dst: object, src: object, ByteCount: int, hStream: object = 0) -> Result:
    """Copy bytes; done at once."""
    return cuMemcpyDtoD(dst, src, ByteCount)


cuMemcpyHtoD = cuMemcpyDtoH = cuMemcpy = cuMemcpyDtoD
cuMemcpyHtoDAsync = cuMemcpyDtoHAsync = cuMemcpyAsync = cuMemcpyDtoDAsync


def cuMemsetD8(dst: object, uc: int, N: int) -> Result:
    """Set bytes."""
    handles.fill(dst, uc, N)
    return _OK


def cuMemsetD8Async(dst: object, uc: int, N: int, hStream: object = 0) -> Result:
    """Set bytes; done at once."""
    return cuMemsetD8(dst, uc, N)


def cuMemsetD32(dst: object, ui: int, N: int) -> Result:
    """Set words."""
    handles.fill_words(dst, ui, N)
    return _OK


def cuMemsetD32Async(dst: object, ui: int, N: int, hStream: object = 0) -> Result:
    """Set words; done at once."""
    return cuMemsetD32(dst, ui, N)


def cuStreamCreate(Flags: int) -> Result:
    """A stream; whatever runs on it has run when its call returns."""
    return *_OK, CUstream(new_number())


cuStreamDestroy = cuStreamSynchronize = cuStreamQuery = cuStreamWaitEvent = _done


def cuEventCreate(Flags: int) -> Result:
    """An event."""
    return *_OK, CUevent(new_number())


def cuEventRecord(hEvent: object, hStream: object = 0) -> Result:
    """Remember this moment."""
    record(hEvent)
    return _OK


def cuEventElapsedTime(hStart: object, hEnd: object) -> Result:
    """Milliseconds between two events."""
    between = elapsed(hStart, hEnd)
    return (*_INVALID, None) if between is None else (*_OK, between)


cuEventDestroy = cuEventSynchronize = cuEventQuery = _done

"""A status of CUDA that is no success."""

from triptych.compat.cuda_bindings import runtime
from triptych.compat.cuda_checks import checkCudaErrors

checkCudaErrors((runtime.cudaError_t.cudaErrorInvalidDevice,))  # error: TT0715 at "checkCudaErrors("

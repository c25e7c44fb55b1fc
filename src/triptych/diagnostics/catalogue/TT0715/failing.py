from triptych.compat.cuda_bindings import runtime
from triptych.compat.cuda_checks import checkCudaErrors

checkCudaErrors((runtime.cudaError_t.cudaErrorInvalidValue,))

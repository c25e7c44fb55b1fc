"""DLPack tensors, arrays of other libraries, CUDA streams and torch: what crosses the border of a call."""

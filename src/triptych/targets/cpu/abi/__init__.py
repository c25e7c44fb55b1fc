"""ABI of kernels on the CPU: symbol names, launch records, memory sizes, the host."""

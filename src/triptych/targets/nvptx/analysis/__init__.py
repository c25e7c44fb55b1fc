"""What passes and reports of the NVIDIA target ask about kernels."""

"""What machines that run kernels have: limits by architecture, and this host."""

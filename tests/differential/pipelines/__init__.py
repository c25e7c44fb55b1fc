"""Generated kernels of producers and consumers, and what they must compute."""

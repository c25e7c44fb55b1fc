"""Generated GEMMs of Blackwell, and what they must compute."""

"""Functions of Triptych as operations of frameworks: operators of PyTorch."""

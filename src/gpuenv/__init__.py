"""A PyTorch environment that really works on the GPU in front of you."""

__version__ = "0.1.0"

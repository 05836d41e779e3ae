"""What gpuenv and the program for other machines (`gpuenv.node`) both keep on a disk, written once.

It is packed beside that program: Python 3.8, the standard library, nothing else of gpuenv.
"""

"""The program that gpuenv sends to machines: it detects the machine, creates environments, runs the tests.

It decides nothing; gpuenv does, elsewhere. It is carried as a zipapp (`fleet.node_archive`) and runs in the
machine's own Python, from 3.8 on, with the standard library alone: nothing of gpuenv is imported here.
"""

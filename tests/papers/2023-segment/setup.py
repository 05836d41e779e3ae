import os
from setuptools import find_packages, setup

with open(os.path.join(os.path.dirname(__file__), "requirements.txt")) as file:
    required = file.read().splitlines()

setup(
    name="segmenter",
    version="1.0",
    install_requires=required,
    packages=find_packages(exclude="notebooks"),
    extras_require={"dev": ["flake8", "mypy"]},
)

from setuptools import setup

REQUIREMENTS = ["blobfile>=1.0.5", "torch", "tqdm"]

setup(
    name="denoise",
    py_modules=["denoise"],
    install_requires=REQUIREMENTS,
)

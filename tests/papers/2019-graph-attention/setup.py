from setuptools import find_packages, setup

setup(
    name="graphattn",
    version="0.1.0",
    packages=find_packages(),
    python_requires=">=3.6",
    install_requires=[
        "torch==1.4.0",
        "networkx",
        "numpy>=1.16",
        "scikit-learn",
    ],
)

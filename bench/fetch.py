"""Download a file as gpuenv does: `python bench/fetch.py URL FILE SHA256`."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from gpuenv.downloads.download import download
from gpuenv.downloads.expected import Expected
from gpuenv.http import HttpClient

if __name__ == "__main__":
    url, path, digest = sys.argv[1:]
    with HttpClient(os.environ) as client:
        download(client, url, Path(path), Expected(digest))

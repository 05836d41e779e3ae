"""A certificate authority that nobody knows, as companies have one, and a server's certificate by it."""

from __future__ import annotations

import shutil
import ssl
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest


@dataclass(frozen=True)
class Authority:
    """`bundle` is what its users are given, `tls` what its server speaks with."""

    bundle: Path
    tls: ssl.SSLContext


def make_authority(folder: Path) -> Authority:
    """Make both for 127.0.0.1 in a folder."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("openssl makes the certificates")
    ours, theirs = folder / "authority.pem", folder / "server.pem"
    new = [openssl, "req", "-x509", "-nodes", "-newkey", "rsa:2048", "-days", "2"]
    authority = ["-subj", "/CN=gpuenv tests", "-keyout", folder / "authority.key", "-out", ours]
    server = ["-subj", "/CN=127.0.0.1", "-keyout", folder / "server.key", "-out", theirs]
    server += ["-CA", ours, "-CAkey", folder / "authority.key"]
    server += ["-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost", "-addext", "basicConstraints=CA:FALSE"]
    for words in (authority, server):
        subprocess.run([*new, *words], check=True, capture_output=True)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(theirs, folder / "server.key")
    return Authority(ours, tls)

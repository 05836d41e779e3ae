"""A certificate authority for one run, made with openssl: a replica can answer under others' names."""

from __future__ import annotations

import ssl
import subprocess
from dataclasses import dataclass
from pathlib import Path

_KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2")


@dataclass(frozen=True)
class Authority:
    """`bundle` is what clients must trust; `chain` and `key` are the server's."""

    bundle: Path
    chain: Path
    key: Path

    def context(self) -> ssl.SSLContext:
        """Return what a server needs to speak TLS."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.chain, self.key)
        return context


def make_authority(directory: Path, hosts: tuple[str, ...]) -> Authority:
    """Make an authority, and a certificate of its own for `hosts`; openssl 3 must be on PATH."""
    authority, authority_key = directory / "authority.pem", directory / "authority.key"
    chain, key = directory / "server.pem", directory / "server.key"
    _openssl(
        "-keyout",
        authority_key,
        "-out",
        authority,
        "-subj",
        "/CN=bench",
        *_extension("basicConstraints=critical,CA:TRUE"),
    )
    names = ",".join(f"DNS:{host}" for host in hosts)
    _openssl(
        "-keyout", key, "-out", chain, "-subj", f"/CN={hosts[0]}", "-CA", authority, "-CAkey", authority_key,
        *_extension(f"subjectAltName={names}"), *_extension("basicConstraints=critical,CA:FALSE"),
    )  # fmt: skip
    return Authority(authority, chain, key)


def _extension(text: str) -> tuple[str, str]:
    return ("-addext", text)


def _openssl(*arguments: str | Path) -> None:
    subprocess.run(["openssl", "req", "-x509", *_KEY, *map(str, arguments)], check=True, capture_output=True)

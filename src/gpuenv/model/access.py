"""How servers are reached: whose certificates are trusted, which need none, who knows a password."""

from __future__ import annotations

from typing import Protocol
from urllib.parse import quote

from msgspec import Struct
from msgspec.structs import replace


class Logins(Protocol):
    """Somebody who knows the passwords of servers, such as a keyring."""

    def find(self, url: str, user: str | None) -> tuple[str, str] | None:
        """Return the user name and password for an address, None where its server is to get none."""

    def user_of(self, url: str) -> str | None:
        """Return the user who was found for an index whose address names none; nobody is asked."""

    def including(self, urls: tuple[str, ...]) -> Logins:
        """Return the same for more indexes."""


class Access(Struct, frozen=True):
    """What pip's and uv's configuration says of servers.

    `ca_bundle` is a file or folder of certificates, `insecure_hosts` are `host`, `host:port` or `*` whose
    certificates nobody looks at; with `system_certs` those count that the system trusts. `proxies` are the
    address for each of `http` and `https`, for all servers but those of `no_proxy`. `logins` is asked
    where a server wants a password, None where the user's configuration names no keyring.
    """

    ca_bundle: str | None = None
    insecure_hosts: tuple[str, ...] = ()
    system_certs: bool = False
    proxies: tuple[tuple[str, str], ...] = ()
    no_proxy: str | None = None
    logins: Logins | None = None

    def including(self, urls: tuple[str, ...]) -> Access:
        """Return the same with passwords for more indexes: those that the user has typed."""
        return replace(self, logins=self.logins.including(urls)) if self.logins else self

    def naming_user(self, url: str) -> str:
        """Return an index's address with the user that was found for it: uv asks a keyring for no other."""
        user = self.logins.user_of(url) if self.logins else None
        return url.replace("://", f"://{quote(user, safe='')}@", 1) if user else url

    def is_insecure(self, host: str, port: int | None) -> bool:
        """Tell whether the user takes a server without a certificate that is trusted."""
        return any(
            insecure_host in ("*", host, f"{host}:{port or 443}") for insecure_host in self.insecure_hosts
        )


def with_scheme(proxy: str) -> str:
    """Return a proxy's address as requests takes it: `ada:secret@proxy.example:3128` is one, too."""
    return proxy if "://" in proxy else f"http://{proxy}"


ANYBODY = Access()

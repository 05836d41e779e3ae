"""What a container registry says of a tag: the OCI distribution API, as far as digests need it.

https://github.com/opencontainers/distribution-spec/blob/main/spec.md; tokens as
https://distribution.github.io/distribution/spec/auth/token/ has them, without a password.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass, field
from urllib.parse import urlsplit

import requests
from requests.utils import parse_dict_header

_INDEXES = (
    "application/vnd.oci.image.index.v1+json",
    "application/vnd.docker.distribution.manifest.list.v2+json",
)
_MANIFESTS = (
    "application/vnd.oci.image.manifest.v1+json",
    "application/vnd.docker.distribution.manifest.v2+json",
)
_ACCEPT = ", ".join((*_INDEXES, *_MANIFESTS))
_DIGEST_HEADER = "Docker-Content-Digest"
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_LIMIT = 4 * 1024 * 1024  # what the specification has registries accept at least
_TIMEOUT_S = 30
_TOO_MANY = 429


class DigestError(Exception):
    """A registry does not tell which image a tag is."""


class TooManyRequestsError(DigestError):
    """A registry wants no more requests for now: asking for another tag is of no use."""


@dataclass
class Registry:
    """A registry by the address of its API, `https://registry-1.docker.io`, with the tokens it handed out."""

    api: str
    session: requests.Session = field(default_factory=requests.Session)
    _tokens: dict[str, str] = field(default_factory=dict)

    def digest(self, repository: str, tag: str, wanted: frozenset[str], known: str | None) -> str:
        """Return the digest of a tag whose image is there for all `wanted` platforms, as `linux/amd64`.

        A HEAD, which Docker Hub does not count as a pull, is enough where the digest is the `known` one; any
        other is made from the bytes of the manifest. Raises DigestError.
        """
        message = self._ask("HEAD", repository, tag).headers.get(_DIGEST_HEADER)
        if known is not None and message == known:
            return known
        answer = self._ask("GET", repository, tag)
        body = _read(answer)
        digest = f"sha256:{hashlib.sha256(body).hexdigest()}"
        said = answer.headers.get(_DIGEST_HEADER, digest)
        if _DIGEST.fullmatch(said) and said != digest:
            raise DigestError(f"says {said}, and sends {digest}")
        missing = wanted - _platforms(body)
        if missing:
            raise DigestError(f"has nothing for {', '.join(sorted(missing))}")
        return digest

    def _ask(self, method: str, repository: str, tag: str) -> requests.Response:
        url = f"{self.api.rstrip('/')}/v2/{repository}/manifests/{tag}"
        answer = self._send(method, url, self._tokens.get(repository))
        if answer.status_code == requests.codes.unauthorized:
            self._tokens[repository] = self._token(answer.headers.get("WWW-Authenticate", ""))
            answer = self._send(method, url, self._tokens[repository])
        if answer.status_code == _TOO_MANY:
            raise TooManyRequestsError("wants no more requests for now (429)")
        if answer.status_code != requests.codes.ok:
            raise DigestError(f"answers {answer.status_code}")
        return answer

    def _send(self, method: str, url: str, token: str | None) -> requests.Response:
        headers = {"Accept": _ACCEPT} | ({"Authorization": f"Bearer {token}"} if token else {})
        try:
            return self.session.request(method, url, headers=headers, timeout=_TIMEOUT_S, stream=True)
        except requests.RequestException as error:
            raise DigestError(f"can't be reached: {error}") from error

    def _token(self, challenge: str) -> str:
        """Fetch a token: `Bearer realm="https://auth.docker.io/token",service="registry.docker.io",scope="..."`."""
        scheme, _, rest = challenge.partition(" ")
        facts: dict[str, str] = {}
        if scheme.lower() == "bearer":
            facts = parse_dict_header(rest)  # type: ignore[no-untyped-call]
        realm = facts.get("realm") or ""
        if urlsplit(realm).scheme not in {"https", urlsplit(self.api).scheme}:
            raise DigestError(f"hands out no token: {challenge or 'no challenge'}")
        requested = {name: facts[name] for name in ("service", "scope") if facts.get(name)}
        try:
            answer = self.session.get(realm, params=requested, timeout=_TIMEOUT_S, stream=True)
        except requests.RequestException as error:
            raise DigestError(f"hands out no token: {error}") from error
        if answer.status_code == _TOO_MANY:
            raise TooManyRequestsError("hands out no more tokens for now (429)")
        content = _object(_read(answer)) if answer.ok else {}
        token = content.get("token") or content.get("access_token")
        if not isinstance(token, str):
            raise DigestError(f"hands out no token: {realm} answers {answer.status_code}")
        return token


def _read(answer: requests.Response) -> bytes:
    body = b""
    try:
        for chunk in answer.iter_content(64 * 1024):
            body += chunk
            if len(body) > _LIMIT:
                raise DigestError(f"sends more than {_LIMIT} bytes")
    except requests.RequestException as error:
        raise DigestError(f"broke off: {error}") from error
    return body


def _object(body: bytes) -> dict[str, object]:
    try:
        content = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise DigestError("sends no JSON") from error
    if not isinstance(content, dict):
        raise DigestError("sends no JSON object")
    return content


def _platforms(body: bytes) -> frozenset[str]:
    """Read what an index lists: `{"manifests": [{"platform": {"os": "linux", "architecture": "arm64"}}]}`."""
    content = _object(body)
    entries = content.get("manifests")
    if content.get("mediaType") in _MANIFESTS or not isinstance(entries, list):
        raise DigestError("has an image for one platform, no index of several")
    values = (entry.get("platform") for entry in entries if isinstance(entry, dict))
    return frozenset(
        f"{item.get('os')}/{item.get('architecture')}" for item in values if isinstance(item, dict)
    )

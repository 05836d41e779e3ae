"""Variables that give uv and pip the same access to servers, whichever of them is configured."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from gpuenv.model.access import Access, with_scheme


def uv_reaching(access: Access, environ: Mapping[str, str]) -> dict[str, str]:
    """Return variables for uv, whose own have precedence."""
    variables = _proxies(access, environ)
    named = (environ.get("REQUESTS_CA_BUNDLE"), environ.get("CURL_CA_BUNDLE"), access.ca_bundle)
    bundle = next(filter(None, named), None)
    if bundle and not (environ.get("SSL_CERT_FILE") or environ.get("SSL_CERT_DIR")):
        variables["SSL_CERT_DIR" if Path(bundle).is_dir() else "SSL_CERT_FILE"] = bundle
    if access.insecure_hosts:
        variables["UV_INSECURE_HOST"] = " ".join(access.insecure_hosts)
    if access.logins is not None and not environ.get("UV_KEYRING_PROVIDER"):
        variables["UV_KEYRING_PROVIDER"] = "subprocess"
    return variables


def pip_reaching(access: Access, environ: Mapping[str, str]) -> dict[str, str]:
    """Return variables for pip, whose own have precedence."""
    variables = _proxies(access, environ)
    # the pip of a new environment may be an old one, which does not know SSL_CERT_FILE
    bundle = access.ca_bundle or environ.get("SSL_CERT_FILE")
    own = (environ.get(name) for name in ("PIP_CERT", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"))
    if bundle and not any(own):
        variables["PIP_CERT"] = bundle
    if access.insecure_hosts:
        variables["PIP_TRUSTED_HOST"] = " ".join(access.insecure_hosts)
    if access.logins is not None and not environ.get("PIP_KEYRING_PROVIDER"):
        variables["PIP_KEYRING_PROVIDER"] = "subprocess"
    return variables


def _proxies(access: Access, environ: Mapping[str, str]) -> dict[str, str]:
    """Return the proxies, each in lower and upper case, of which programs read one."""
    bare = ("http_proxy", "https_proxy", "all_proxy")
    variables = {
        name: with_scheme(value) for name, value in environ.items() if value and name.lower() in bare
    }
    for scheme, url in access.proxies:
        variables |= {f"{scheme}_proxy": url, f"{scheme}_proxy".upper(): url}
    if access.no_proxy:
        named = (environ.get("NO_PROXY") or environ.get("no_proxy"), access.no_proxy)
        variables |= dict.fromkeys(("no_proxy", "NO_PROXY"), ",".join(filter(None, named)))
    return variables

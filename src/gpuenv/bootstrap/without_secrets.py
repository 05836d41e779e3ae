"""The script holds no password."""

from __future__ import annotations

from urllib.parse import urlsplit

from msgspec.structs import replace

from gpuenv.bootstrap.model import Bootstrap
from gpuenv.i18n.messages import series, tr
from gpuenv.model.plan import PlanWarning
from gpuenv.planning.redact import secret_addresses, without_secrets
from gpuenv.secrets.url_credentials import has_hidden_path, without_userinfo


def script_without_secrets(script: Bootstrap) -> tuple[Bootstrap, tuple[PlanWarning, ...]]:
    """Remove secrets from URLs, as scripts are given to others; warn of what is missing then."""
    secret = sorted(set(secret_addresses(script)))
    if not secret:
        return script, ()
    named = {item: urlsplit(without_userinfo(item)).hostname or "" for item in secret}
    hosts = tuple(dict.fromkeys(filter(None, named.values())))
    warnings = [
        PlanWarning(
            "password-left-out",
            tr(
                "the script contains no passwords: where it runs, put the one for {hosts} into ~/.netrc, "
                "or into the file that NETRC names",
                hosts=series(hosts),
            ),
        )
    ]
    lost = dict.fromkeys(named[item] for item in secret if has_hidden_path(item))
    if lost:
        text = tr(
            "the script contains no tokens: files on {hosts} that need one cannot be installed there",
            hosts=series(lost),
        )
        warnings.append(PlanWarning("token-left-out", text))
    return replace(without_secrets(script), guarded=hosts), tuple(warnings)

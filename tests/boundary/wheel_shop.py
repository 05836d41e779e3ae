"""An index on 127.0.0.1 whose files are handed out in parts, or in the manner that a test asks for."""

from __future__ import annotations

import hashlib
import html
import re
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Literal

from serving import Site

Manner = Literal["ranges", "no-suffix", "whole", "short", "liar", "grows", "stalls-once", "missing"]


@dataclass
class WheelShop:
    """PEP 503 pages on a Site, and files that are served in the manner asked for."""

    site: Site
    files: dict[str, dict[str, bytes]] = field(default_factory=dict)
    sent: int = 0  # bytes of files

    @property
    def index(self) -> str:
        return f"{self.site.url}/simple"

    def offer(self, filename: str, content: bytes, *, manner: Manner = "ranges", digest: bool = True) -> str:
        """Put a file on the index; return its address."""
        project = filename.partition("-")[0]
        self.files.setdefault(project, {})[filename] = content if digest else b""
        path = f"/files/{filename.replace('+', '%2B')}"
        self.site.at(path, lambda request: self._send(request, content, manner))
        page = self._page(project)
        self.site.page(f"/simple/{project}/", page, ETag=f'"{hashlib.sha256(page.encode()).hexdigest()}"')
        return f"{self.site.url}{path}"

    def _page(self, project: str) -> str:
        lines = []
        for filename, content in self.files[project].items():
            digest = f"#sha256={hashlib.sha256(content).hexdigest()}" if content else ""
            address = f"/files/{filename.replace('+', '%2B')}{digest}"
            lines.append(f'<a href="{html.escape(address)}">{filename}</a>')
        return "<!DOCTYPE html><html><body><h1>Links</h1>" + "\n".join(lines) + "</body></html>"

    def _send(self, request: BaseHTTPRequestHandler, content: bytes, manner: Manner) -> None:
        wanted = request.headers.get("Range", "")
        if manner == "stalls-once":
            self.site.routes[request.path] = lambda again: self._send(again, content, "ranges")
            request.close_connection = True
            return
        if manner == "missing":
            _answer(request, 404, {}, b"")
            return
        if manner == "whole" or not wanted or (manner == "no-suffix" and wanted.startswith("bytes=-")):
            self.sent += len(content)
            _answer(request, 200, {}, content)
            return
        first, last = _parse_range(wanted, len(content))
        total = len(content) + {"liar": 1000, "grows": len(self.site.asked)}.get(manner, 0)
        body = content[first : last + 1]
        length = len(body)
        body = body[: len(body) // 2] if manner == "short" else body
        self.sent += len(body)
        headers = {"Content-Range": f"bytes {first}-{last}/{total}", "Content-Length": str(length)}
        _answer(request, 206, headers, body)


def _parse_range(wanted: str, length: int) -> tuple[int, int]:
    match = re.fullmatch(r"bytes=(\d*)-(\d*)", wanted)
    assert match, wanted
    if not match[1]:
        return max(0, length - int(match[2])), length - 1
    return int(match[1]), min(int(match[2] or length - 1), length - 1)


def _answer(request: BaseHTTPRequestHandler, status: int, headers: dict[str, str], body: bytes) -> None:
    request.send_response(status)
    for name, value in ({"Content-Length": str(len(body))} | headers).items():
        request.send_header(name, value)
    request.end_headers()
    if request.command == "GET":
        request.wfile.write(body)
    if int(headers.get("Content-Length", len(body))) != len(body):
        request.close_connection = True

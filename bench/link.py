"""A slow line to a server: `python bench/link.py PORT LINE`, LINE as JSON (see Line); prints its own port.

It hands on the bytes of TCP connections late and no faster than the line is: half of the round trip passes
before each byte of either direction arrives, a whole one before a connection is made. A connection is slow at
first, as TCP's are, and doubles its pace each round trip. A line on standard input makes it as new.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import AsyncIterator
from dataclasses import asdict, dataclass

_PIECE = 1 << 14
_FIRST_WINDOW = 14_600  # bytes, ten packets
_UNDER_WAY = 64  # pieces that a connection has on the line, at most
_BURST_S = 0.01


@dataclass(frozen=True)
class Line:
    """What a line does; `each`: whether every connection has the rate for itself.

    The first `faulty` connections that have brought `after` bytes are silent for `stall_s` seconds, or end.
    """

    round_trip_s: float = 0.05
    bytes_per_s: float = 100e6 / 8
    each: bool = False
    faulty: int = 0
    after: int = 0
    stall_s: float | None = None

    def text(self) -> str:
        """Return it as the program takes it."""
        return json.dumps(asdict(self))


class _Rate:
    """Lets bytes pass, one piece after another."""

    def __init__(self, bytes_per_s: float) -> None:
        self._bytes_per_s = bytes_per_s
        self._free_s = 0.0

    async def wait(self, count: int, window: float) -> None:
        begins = max(time.monotonic() - _BURST_S, self._free_s)
        self._free_s = begins + count / min(self._bytes_per_s, window)
        await asyncio.sleep(self._free_s - time.monotonic())


class _Link:
    def __init__(self, port: int, line: Line) -> None:
        self._port, self._line = port, line
        self._shared = _Rate(line.bytes_per_s)
        self._faulty = line.faulty

    def renew(self) -> None:
        self._faulty = self._line.faulty

    async def attend(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(self._line.round_trip_s)
        far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self._port)
        tasks = (
            asyncio.create_task(self._late(_pieces(reader), far_writer)),
            asyncio.create_task(self._late(self._slowly(far_reader), writer)),
        )
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in tasks:
            task.cancel()
        for end in (writer, far_writer):
            end.transport.abort()

    async def _slowly(self, reader: asyncio.StreamReader) -> AsyncIterator[bytes]:
        own, window, brought = _Rate(self._line.bytes_per_s), float(_FIRST_WINDOW), 0
        async for piece in _pieces(reader):
            await own.wait(len(piece), window / self._line.round_trip_s)
            if not self._line.each:
                await self._shared.wait(len(piece), self._line.bytes_per_s)
            window, brought = window + len(piece), brought + len(piece)
            if self._faulty and brought >= self._line.after:
                self._faulty -= 1
                if self._line.stall_s is None:
                    return
                await asyncio.sleep(self._line.stall_s)
            yield piece

    async def _late(self, pieces: AsyncIterator[bytes], writer: asyncio.StreamWriter) -> None:
        under_way: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue(_UNDER_WAY)

        async def arrive() -> None:
            while True:
                at_s, piece = await under_way.get()
                if not piece:
                    return
                await asyncio.sleep(at_s - time.monotonic())
                writer.write(piece)
                await writer.drain()

        arriving = asyncio.create_task(arrive())
        try:
            async for piece in pieces:
                await under_way.put((time.monotonic() + self._line.round_trip_s / 2, piece))
            await under_way.put((0.0, b""))
            await arriving
        except ConnectionError:
            pass
        finally:
            arriving.cancel()


async def _pieces(reader: asyncio.StreamReader) -> AsyncIterator[bytes]:
    while True:
        try:
            piece = await reader.read(_PIECE)
        except ConnectionError:
            return
        if not piece:
            return
        yield piece


async def _main(port: int, line: Line) -> None:
    link = _Link(port, line)
    server = await asyncio.start_server(link.attend, "127.0.0.1", 0, limit=_PIECE * 4)
    print(server.sockets[0].getsockname()[1], flush=True)
    commands = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(commands), sys.stdin)
    while await commands.readline():
        link.renew()
        print("new", flush=True)


if __name__ == "__main__":
    asyncio.run(_main(int(sys.argv[1]), Line(**json.loads(sys.argv[2]))))

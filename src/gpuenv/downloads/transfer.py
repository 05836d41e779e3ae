"""What is missing of a file, read by one connection, and by more where that is faster or one is silent."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

from gpuenv.downloads.assembly import Assembly
from gpuenv.downloads.attempts import Attempts
from gpuenv.downloads.kept_file import KeptFile
from gpuenv.downloads.pace import Pace
from gpuenv.downloads.reading import Reading, Source
from gpuenv.downloads.schedule import Schedule
from gpuenv.http.errors import HttpProblem
from gpuenv.http.file_reader import FileAnswer, FileReader
from gpuenv.http.timeouts import MinimumRate, Patience, StoppedError, Watch


class _RetiredError(Exception):
    """A connection that brings nothing where others do."""


class Transfer:
    """Reads a file until it is whole; `answers` is how many of them it is made of."""

    def __init__(
        self, source: Source, kept: KeptFile, patience: Patience, watch: Watch, *, alone: bool
    ) -> None:
        """Prepare to read what is missing; `alone`: by one connection at a time."""
        self._source, self._patience, self._watch, self._alone = source, patience, watch, alone
        self._file = Assembly(kept, kept.size)
        self._sharing = source.sharing
        self._pace = Pace(source.sharing)
        self._schedule = Schedule(self._file, self._pace, source.sharing)
        self._slowest = MinimumRate(patience)
        self._changed = threading.Condition()
        self._readers: list[FileReader] = []
        self._readings: list[Reading] = []
        self._failure: BaseException | None = None
        self._closed = self._in_ranges = False
        self._validator: str | None = None
        self._limit = 1
        self._attempts = Attempts(patience, self._file.received)
        self.answers = 0

    def run(self) -> None:
        """Read until nothing is missing; raise HttpProblem, BrokenFileError, StoppedError, or OSError."""
        try:
            with self._changed:
                self._add_reader()
                while self._goes_on:
                    self._changed.wait(self._sharing.look_s)
                    self._look(time.monotonic())
        finally:
            with self._changed:
                self._closed = True
                self._changed.notify_all()
                for reader in self._readers:
                    reader.interrupt()
        if self._failure is not None:
            raise self._failure

    @property
    def _goes_on(self) -> bool:
        return not self._closed and self._failure is None and not self._file.is_whole

    @property
    def _may_share(self) -> bool:
        """Whether the file may be put together: a digest or a validator tells whether the parts fit."""
        known = self._source.expected.sha256 is not None or self._validator is not None
        return self._in_ranges and known and not self._alone and self._file.length is not None

    def _look(self, now_s: float) -> None:
        """See whether one more connection is of use."""
        if self._watch.is_stopped:
            raise StoppedError
        if not self._goes_on or not self._may_share:
            return
        busy = len(self._readings) == len(self._readers)
        if not self._readers or (busy and self._schedule.silent(now_s)):
            self._add_reader()
        elif self._pace.measure(now_s, self._file.received) and not self._pace.settled:
            self._grow(now_s)

    def _grow(self, now_s: float) -> None:
        """Add a connection, or do without the last one."""
        wants_more = self._pace.wants_more(self._missing)
        if self._pace.settled:
            self._limit = max(1, self._limit - 1)
        elif wants_more and self._source.allowance.take_free():
            self._limit += 1
            self._pace.added(now_s)
            self._connect()

    @property
    def _missing(self) -> int:
        return (self._file.length or 0) - self._file.received

    def _add_reader(self) -> None:
        self._source.allowance.take()
        self._connect()

    def _connect(self) -> None:
        reader = self._source.connect()
        self._readers.append(reader)
        threading.Thread(target=self._work, args=(reader,), daemon=True).start()

    def _work(self, reader: FileReader) -> None:
        try:
            while (reading := self._next(reader)) is not None:
                self._read(reading)
        except _RetiredError:
            pass
        except BaseException as error:  # noqa: BLE001 - raised again in the caller's thread
            self._fail(error)
        finally:
            with self._changed:
                self._readers.remove(reader)
                self._changed.notify_all()
            self._source.allowance.give_back()
            reader.close()

    def _fail(self, error: BaseException) -> None:
        with self._changed:
            self._failure = self._failure or error
            self._changed.notify_all()

    def _next(self, reader: FileReader) -> Reading | None:
        """Wait for something to read; return None where it is not needed any more."""
        with self._changed:
            while self._goes_on:
                now_s = time.monotonic()
                silent = sum(now_s - reading.moved_s > self._sharing.silent_s for reading in self._readings)
                is_useful = reader.is_connected and self._file.unread() is not None
                if len(self._readers) - silent > self._limit and not is_useful:
                    return None
                segment = (
                    self._schedule.choose(now_s, self._limit) if self._may_share else self._file.unread()
                )
                if segment is not None:
                    self._readings.append(Reading(reader, segment))
                    return self._readings[-1]
                self._changed.wait(self._sharing.look_s)
        return None

    def _read(self, reading: Reading) -> None:
        """Make one request and keep what it brings."""
        if self._watch.is_stopped:
            raise StoppedError
        end = reading.segment.end
        try:
            with reading.reader.ask(
                reading.first,
                None if end == self._file.length else end,
                None if self._source.expected.sha256 else self._validator,
            ) as (answer, chunks):
                if self._accept(reading, answer):
                    self._keep(reading, answer, chunks)
        except HttpProblem as problem:
            self._rest(self._consider(problem, reading))
        finally:
            with self._changed:
                self._readings.remove(reading)
                reading.end()
                self._changed.notify_all()

    def _accept(self, reading: Reading, answer: FileAnswer) -> bool:
        """Return whether the bytes of an answer are to be kept."""
        with self._changed:
            if reading.is_overtaken or not self._goes_on:
                return False
            is_other = self._is_other(answer)
            if answer.is_beyond and not is_other and answer.length == reading.first:
                self._file.learn_length(reading.first)  # nothing was missing
                return False
            fits = answer.first == reading.first and not is_other
            if not fits and not self._begin_anew(reading, answer):
                return False
            self._learn(answer)
            return True

    def _is_other(self, answer: FileAnswer) -> bool:
        """Whether an answer is of another state of the file than those before it."""
        lengths = {self._file.length, answer.length} - {None}
        tags = set() if self._source.expected.sha256 else {self._validator, answer.validator} - {None}
        return len(lengths) > 1 or len(tags) > 1

    def _begin_anew(self, reading: Reading, answer: FileAnswer) -> bool:
        """Forget what there is, as it can't be gone on with; return whether the answer is the start."""
        is_other = self._is_other(answer)
        if len(self._readings) > 1 and not is_other:
            self._retire()
        self._attempts.restarted(is_other=is_other)
        self._watch.received(-self._file.received)
        self._file.begin_anew()
        self._validator, self._in_ranges, self._alone, self.answers = None, False, True, 0
        if not answer.is_whole:
            return False
        reading.end()
        reading.begin(self._file.segments[0])
        return True

    def _retire(self) -> None:
        """Do without this connection and any further one."""
        self._limit = max(1, self._limit - 1)
        self._pace.settled = True
        raise _RetiredError

    def _learn(self, answer: FileAnswer) -> None:
        self.answers += 1
        self._validator = self._validator or answer.validator
        self._in_ranges = answer.in_ranges
        if answer.length is not None and self._file.length is None:
            self._file.learn_length(answer.length)
        if not answer.is_whole:
            self._source.expected.check_length(answer.length)

    def _keep(self, reading: Reading, answer: FileAnswer, chunks: Iterator[bytes]) -> None:
        for chunk in chunks:
            if self._watch.is_stopped:
                raise StoppedError
            with self._changed:
                if reading.position == 0:
                    self._source.expected.check_start(answer, chunk)
                if not self._put(reading, chunk):
                    return
        with self._changed:
            if answer.left is None and not reading.is_overtaken:
                self._file.learn_length(reading.position)

    def _put(self, reading: Reading, chunk: bytes) -> bool:
        """Keep what came; return whether more of it is of use."""
        while chunk:
            if not self._goes_on:
                return False
            taken = self._put_some(reading, chunk)
            chunk = chunk[taken:]
            if chunk and not self._goes_on_with_following(reading):
                return False
        return True

    def _put_some(self, reading: Reading, chunk: bytes) -> int:
        try:
            taken = self._file.put(reading.segment, reading.position, chunk)
        except OSError as error:  # the disk's
            self._fail(error)
            return 0
        if taken:
            reading.position += taken
            reading.moved_s = reading.segment.moved_s = time.monotonic()
            self._watch.received(taken)
            self._source.expected.check_received(self._file.received, self._source.most_bytes)
            self._slowest.check(taken)
            if reading.position <= self._file.front:
                self._schedule.moved()
        return taken

    def _goes_on_with_following(self, reading: Reading) -> bool:
        """Take over what follows, if nobody has begun to read it and the answer has it too."""
        following = self._file.following(reading.segment)
        if (
            reading.is_overtaken
            or following is None
            or following.readers
            or following.reached != reading.position
        ):
            return False
        reading.end()
        reading.begin(following)
        return True

    def _consider(self, problem: HttpProblem, reading: Reading) -> float:
        """Return after how many seconds to try again; raise the problem where that is of no use."""
        with self._changed:
            if not self._goes_on or reading.is_overtaken:
                return 0.0
            if len(self._readings) > 1 and reading.position == reading.first:
                self._retire()
            self._slowest = MinimumRate(self._patience)
            return self._attempts.broken(problem, self._file.received)

    def _rest(self, pause_s: float) -> None:
        (self._watch.stop or threading.Event()).wait(pause_s)

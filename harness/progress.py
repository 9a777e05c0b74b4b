"""How far an audit is, on standard error: a bar on a terminal, now and then a line elsewhere. Reads events alone."""

from __future__ import annotations

import sys
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from tqdm import tqdm

from harness.auditing.events import Event, Examined, Failed, Selected
from harness.auditing.folder import REPORT
from harness.auditing.shard import Shard
from harness.vocabulary.durations import in_words

QUIET_SECONDS = 30.0  # without a terminal: no longer without a line
STEP, STEP_SECONDS = 0.05, 5.0  # a line also after this share of the records, but not sooner than so many seconds
NO_ANSWER_SECONDS, NO_ANSWER_TIMES = 20.0, 3.0  # silence of both so many seconds and so many usual waits is told
TICK_SECONDS = 1.0  # on a terminal
BAR = "{percentage:3.0f}% |{bar}| {n_fmt}/{total_fmt} records [{elapsed}{postfix}]"
BAR_OF_ALL = "{percentage:3.0f}% |{bar}| [{elapsed}<{remaining}{postfix}]"


Watcher = Callable[[Iterable[Event], int], Iterator[Event]]  # events, and how many are from an earlier run


def watcher(shown: bool, oracle: Any = None, shard: Shard | None = None) -> Watcher:
    """What shows the progress of one audit or shard, or nothing; of an oracle also how long it has been away."""
    if not shown:
        return lambda events, known: iter(events)
    return lambda events, known: with_progress(events, known, oracle=oracle, shard=shard)


def with_progress(
    events: Iterable[Event], known: int = 0, title: str = "", oracle: Any = None, shard: Shard | None = None
) -> Iterator[Event]:
    """The same events, and what they say about progress; the first `known` of them are from an earlier run."""
    progress = Progress(title, oracle, shard)
    yield from _displayed(events, known, progress, Bar(progress) if sys.stderr.isatty() else Lines(progress))


def with_title(title: str, shown: bool) -> Watcher:
    """What shows the progress of one of several audits, whose number is not known beforehand."""
    return (lambda events, known: with_progress(events, known, title)) if shown else watcher(shown=False)


def _displayed(events: Iterable[Event], known: int, progress: Progress, display: Bar | Lines | Part) -> Iterator[Event]:
    with display:
        for number, event in enumerate(events):
            progress.add(event, is_new=number >= known)
            display.show()
            yield event


@dataclass
class Progress:
    """What is known of an audit under way; its pace is that of this run alone."""

    title: str = ""  # which of several audits it is
    oracle: Any = None  # may have `waiting`: how many seconds it has been away, and how many it may be
    shard: Shard | None = None  # the part of the audit that is made here
    started: float = field(default_factory=time.monotonic)
    since: float | None = None  # when this run began to examine records
    heard: float | None = None  # when the last event of this run came
    total: int | None = None  # records to examine; None: not selected yet
    before: int = 0  # of them examined by an earlier run
    worst: float = 0.0  # the largest distance that is proven
    exact: bool = True  # no measurement so far has limits
    look: int = 1
    seen: set[int] = field(default_factory=set)
    failed: set[int] = field(default_factory=set)  # of them, who could not be measured

    def add(self, event: Event, *, is_new: bool) -> None:
        if isinstance(event, Selected):
            self.total = len(event.examined if self.shard is None else self.shard.part(event.examined))
        elif isinstance(event, Examined):
            self.worst = max([self.worst, *(measurement.lower for measurement in event.measurements)])
            self.exact = self.exact and all(one.lower == one.upper for one in event.measurements)
            self.look = event.look
            self.seen.add(event.person)
            self.failed.discard(event.person)
        elif isinstance(event, Failed):
            self.seen.add(event.person)
            self.failed.add(event.person)
        if not is_new:
            self.before = len(self.seen)
            return
        self.heard = time.monotonic()
        if self.total is not None and self.since is None:
            self.since = self.heard

    @property
    def done(self) -> int:
        return len(self.seen)

    @property
    def fresh(self) -> int:
        """Records that this run has examined for the first time."""
        return self.done - self.before

    def pace(self, now: float) -> str:
        """Records a second or seconds a record; nothing before the first."""
        seconds = self._seconds(now)
        if self.fresh < 1 or seconds <= 0:
            return ""
        if self.fresh < seconds:
            return f"{seconds / self.fresh:.3g} s each"
        rate = f"{self.fresh / seconds:.3g}"
        return f"{rate} record/s" if rate == "1" else f"{rate} records/s"

    def _seconds(self, now: float) -> float:
        return now - (now if self.since is None else self.since)

    def time_left(self, now: float) -> str:
        """How long the rest takes at this pace; while an answer takes unusually long, how long that is."""
        if away := self.away():
            return away
        waited = now - (now if self.heard is None else self.heard)
        usual = self._seconds(now - waited) / self.fresh if self.fresh else 0.0
        if waited >= max(NO_ANSWER_SECONDS, NO_ANSWER_TIMES * usual):
            return f"no answer for {in_words(waited)}"
        missing = (self.total or 0) - self.done
        return f"about {in_words(missing * self._seconds(now) / self.fresh)} left" if self.fresh and missing else ""

    def away(self) -> str:
        """That the oracle is waited for, if it is."""
        seconds, most = getattr(self.oracle, "waiting", (0.0, 0.0))
        if not seconds:
            return ""
        return f"the oracle does not answer, waiting since {in_words(seconds)}, up to {in_words(most)}"

    def largest(self) -> str:
        """The largest distance so far; where chance plays a part its lower limit, since estimates contain noise."""
        again = f", look {self.look}" if self.look > 1 else ""
        proven = "" if self.exact else "proven to be at least "
        return f"largest distance {proven}{self.worst:.4g}{again}" if self.done > len(self.failed) else ""

    def not_measured(self) -> str:
        return f"{len(self.failed):,} could not be measured" if self.failed else ""

    def details(self, now: float) -> list[str]:
        """Pace, time left, the largest distance and how many failed, as far as they are known."""
        words = (self.pace(now), self.time_left(now), self.largest(), self.not_measured())
        return [word for word in words if word]

    def line(self, now: float) -> str:
        return self.title + self._words(now)

    def _words(self, now: float) -> str:
        if self.total is None:
            doing = self.away() or "f is asked how it behaves"
            return f"{in_words(now - self.started)} so far; no record was examined yet, {doing}"
        share = f"{self.done:,} of {self.total:,} records ({self.done / max(1, self.total):.0%})"
        return ", ".join([share, *self.details(now)])


class Display(ABC):
    """What shows progress, also while the next event is waited for: in a thread that `show_waiting` is called by."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._lock = threading.Lock()
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._wait, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def _wait(self) -> None:
        while not self._end.wait(self.seconds_until_due()):
            with self._lock, suppress(OSError):  # nobody may be there to read it
                self.show_waiting()

    @abstractmethod
    def show(self) -> None:
        """After an event."""

    @abstractmethod
    def show_waiting(self) -> None:
        """While no event comes."""

    @abstractmethod
    def seconds_until_due(self) -> float:
        """How long to wait for an event before `show_waiting`."""

    def __exit__(self, *_: object) -> None:
        self._end.set()
        self._thread.join()


class Bar(Display):
    """A bar on a terminal, from the first record of this run on; before it, a line that says what is waited for."""

    def __init__(self, progress: Progress) -> None:
        super().__init__(progress)
        self._bar: tqdm[Any] | None = None

    def show(self) -> None:
        with self._lock:
            if self._progress.since is not None:
                self._refresh(self._counting())

    def show_waiting(self) -> None:
        if self._progress.since is not None:
            self._refresh(self._counting())
            return
        if self._bar is None:
            self._bar = tqdm(bar_format="{desc}", file=sys.stderr, leave=False)
        self._bar.set_description_str(self._progress.line(time.monotonic()))

    def seconds_until_due(self) -> float:
        return TICK_SECONDS

    def _counting(self) -> tqdm[Any]:
        progress = self._progress
        if self._bar is None or self._bar.total is None:
            self._close()
            self._bar = tqdm(total=progress.total, initial=progress.before, bar_format=BAR, file=sys.stderr)
        return self._bar

    def _refresh(self, bar: tqdm[Any]) -> None:
        details = ", ".join(self._progress.details(time.monotonic()))
        bar.set_postfix_str(self._progress.title + details, refresh=False)
        if not bar.update(self._progress.done - bar.n):
            self._redraw_if_silent(bar)

    def _redraw_if_silent(self, bar: tqdm[Any]) -> None:
        """The bar redraws itself while it is updated often; what is waited for is told when it is not."""
        if time.monotonic() - (self._progress.heard or 0.0) >= TICK_SECONDS:
            bar.refresh()

    def _close(self) -> None:
        if self._bar is not None:
            self._bar.close()

    def __exit__(self, *error: object) -> None:
        super().__exit__(*error)
        self._close()


class Lines(Display):
    """Lines for who reads a log: after a share of the records, and at the latest after so many seconds of silence."""

    def __init__(self, progress: Progress) -> None:
        super().__init__(progress)
        self._told, self._done = time.monotonic(), 0

    def show(self) -> None:
        """A line, if one is due for the share that is done."""
        done, total, now = self._progress.done, self._progress.total, time.monotonic()
        if total and done > self._done and done - self._done >= STEP * total and now - self._told >= STEP_SECONDS:
            with self._lock, suppress(OSError):
                self._tell(now)

    def show_waiting(self) -> None:
        if time.monotonic() - self._told >= QUIET_SECONDS:
            self._tell(time.monotonic())

    def seconds_until_due(self) -> float:
        return max(0.0, self._told + QUIET_SECONDS - time.monotonic())

    def _tell(self, now: float) -> None:
        self._told, self._done = now, self._progress.done
        print(f"harness: {self._progress.line(now)}", file=sys.stderr, flush=True)


class SeveralAudits:
    """One bar over several audits, of which each counts alike; without a terminal, lines that name the audit."""

    def __init__(self, count: int, shown: bool) -> None:
        self._count, self._shown, self._finished = count, shown, 0
        on_terminal = shown and sys.stderr.isatty()
        self._bar = tqdm(total=float(count), bar_format=BAR_OF_ALL, file=sys.stderr) if on_terminal else None

    def __enter__(self) -> Self:
        return self

    def watch(self, name: str) -> Watcher:
        """What shows the progress of the next audit."""
        if not self._shown:
            return watcher(shown=False)
        title = f"{self._finished + 1} of {self._count}, {name}: "
        progress = Progress(title)
        display = Lines(progress) if self._bar is None else Part(progress, self._bar, self._finished)
        return lambda events, known: _displayed(events, known, progress, display)

    @contextmanager
    def reading(self, journals: Mapping[Path, int]) -> Iterator[None]:
        """While audits are made side by side elsewhere: how far they are, by their journals and their records."""
        if not self._shown:
            yield
            return
        with Journals(self, journals):
            yield

    def show_records(self, done: int, share: float) -> None:
        """So many records were examined in all audits under way, which are this share of an audit together."""
        words = f"{self._finished} of {self._count} done, {done:,} records examined"
        if self._bar is None:
            print(f"harness: {words}", file=sys.stderr, flush=True)
            return
        self._bar.set_postfix_str(words, refresh=False)
        self._bar.update(self._finished + share - self._bar.n)
        self._bar.refresh()

    @property
    def seconds_between(self) -> float:
        """How often something is to be shown: lines are read in a log."""
        return QUIET_SECONDS if self._bar is None else TICK_SECONDS

    def finish(self, name: str) -> None:
        """One audit is done, or failed."""
        self._finished += 1
        if self._bar is not None:
            self._bar.update(self._finished - self._bar.n)
        elif self._shown:
            print(f"harness: {self._finished} of {self._count} done: {name}", file=sys.stderr, flush=True)

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.close()


class Journals(Display):
    """How far audits in other processes are: a journal has a line for each record that was examined."""

    def __init__(self, audits: SeveralAudits, journals: Mapping[Path, int]) -> None:
        super().__init__(Progress())
        self._audits, self._totals = audits, journals
        self._read = dict.fromkeys(journals, (0, 0))  # bytes and lines so far

    def show(self) -> None:
        """Nothing happens here: all is read while one waits."""

    def show_waiting(self) -> None:
        lines = {path: self._lines(path) for path in self._totals if not (path.parent / REPORT).exists()}
        share = sum(min(1.0, count / max(1, self._totals[path])) for path, count in lines.items())
        self._audits.show_records(sum(lines.values()), share)

    def seconds_until_due(self) -> float:
        return self._audits.seconds_between

    def _lines(self, path: Path) -> int:
        """Lines of a journal, of which only what is new is read."""
        begin, known = self._read[path]
        with suppress(OSError), open(path, "rb") as file:  # not begun yet
            file.seek(begin)
            new = file.read()
            self._read[path] = begin + len(new), known + new.count(b"\n")
        return self._read[path][1]


class Part:
    """The share of one audit in the bar over several."""

    def __init__(self, progress: Progress, bar: tqdm[Any], finished: int) -> None:
        self._progress, self._bar, self._finished = progress, bar, finished

    def __enter__(self) -> Self:
        return self

    def show(self) -> None:
        progress = self._progress
        share = progress.done / progress.total if progress.total else 0.0
        records = f"{progress.done:,}/{progress.total:,} records" if progress.total else "first questions"
        self._bar.set_postfix_str(f"{progress.title}{records}", refresh=False)
        self._bar.update(self._finished + share - self._bar.n)

    def __exit__(self, *_: object) -> None:
        pass

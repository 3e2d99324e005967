"""Runs every contender once per round and keeps the figures, so that a noisy moment does not hit one of them alone."""

import statistics
import sys
from collections import defaultdict
from dataclasses import dataclass, field

import process
from distance import alike

GIVE_UP_AFTER = 2  # failures of one contender at one row; a hang costs its whole timeout each time


@dataclass(frozen=True)
class Effort:
    """How much time a run may take."""

    rounds: int = 5
    tries: int = 3  # per round, to take a figure at the commonest distance


QUICK = Effort(rounds=1, tries=2)


@dataclass(frozen=True)
class Figure:
    """Median over the rounds, and their range as a fraction of it (None for a single figure)."""

    value: float
    spread: float | None = None
    variant: str = ""
    at_reference: bool = True  # else taken at other distances of the cpus than the rest of the table

    @staticmethod
    def of(values, variant="", at_reference=True):
        median = statistics.median(values)
        spread = (max(values) - min(values)) / median if len(values) > 1 and median else None
        return Figure(median, spread, variant, at_reference)


@dataclass(frozen=True)
class Sample:
    """A figure, and the distances of the cpus just before and just after it was taken."""

    value: float
    before: float | None
    after: float | None

    def is_at(self, reference):
        return all(end is None or alike(end, reference) for end in (self.before, self.after))


@dataclass
class Samples:
    """All that one variant gave at one row."""

    taken: list = field(default_factory=list)
    failures: int = 0

    def add(self, contender, row, tries, distance):
        """One sample at the distance that is commonest of late; failing that, one per try. Processes that are not pinned
        have no distance."""
        contender.check(row.what, row.processes)
        if not row.pinned:
            self.taken.append(Sample(contender.measure(row.what, row.bytes, row.processes), None, None))
            return
        for _ in range(tries if row.every == 1 else min(tries, 2)):
            before = distance.probe()
            value = contender.measure(row.what, row.bytes, row.processes)
            self.taken.append(Sample(value, before, distance.probe()))
            if self.taken[-1].is_at(distance.recent_reference()):
                return

    def values_at(self, reference):
        return [sample.value for sample in self.taken if sample.is_at(reference)]


@dataclass
class Measured:
    samples: dict = field(default_factory=lambda: defaultdict(Samples))  # (column, variant, row)
    reasons: dict = field(default_factory=dict)                          # (column, row) -> why there is none
    reference_us: float | None = None                                    # the distance that counts

    def figure(self, column, row):
        """The best variant's figure for this column, or None. Samples taken at another distance count only where
        the column has no others."""
        variants = [(key[1], samples) for key, samples in self.samples.items()
                    if (key[0], key[2]) == (column, row) and samples.taken]
        values = [(variant, samples.values_at(self.reference_us)) for variant, samples in variants]
        figures = [Figure.of(found, variant) for variant, found in values if found]
        if not figures:
            figures = [Figure.of([sample.value for sample in samples.taken], variant, at_reference=False)
                       for variant, samples in variants]
        return row.best(figures, key=lambda figure: figure.value) if figures else None

    def note(self, column, row, failed):
        """A failure says more than that a variant does not serve the row."""
        if not isinstance(failed, process.NotServed) or (column, row) not in self.reasons:
            self.reasons[(column, row)] = str(failed)

    def missing_lines(self, columns):
        """One line for each of the columns and each reason, naming what stays empty because of it."""
        sizes = defaultdict(lambda: defaultdict(set))
        for (column, row), reason in self.reasons.items():
            if column in columns and self.figure(column, row) is None:
                sizes[(column, reason)][row.what].add(row.processes)
        return [f"no {', '.join(what + only_of(found) for what, found in whats.items())} of {column}: {reason}"
                for (column, reason), whats in sizes.items()]


def only_of(processes):
    """Which rows, where those of one number of processes are meant: " x256"."""
    return f" x{max(processes)}" if len(processes) == 1 and processes != {2} else ""


def measure(contenders, rows, effort, distance):
    measured = Measured()
    for number in range(1, effort.rounds + 1):
        for row in (row for row in rows if (number - 1) % row.every == 0):
            for contender in contenders:
                samples = measured.samples[(contender.column, contender.variant, row)]
                if samples.failures >= GIVE_UP_AFTER:
                    continue
                show_progress(f"round {number} of {effort.rounds}: {row.what} {row.bytes} x{row.processes}, "
                              f"{contender.column} {contender.variant}")
                try:
                    samples.add(contender, row, effort.tries, distance)
                except process.Failed as failed:
                    samples.failures += GIVE_UP_AFTER if isinstance(failed, process.TooSlow) else 1
                    measured.note(contender.column, row, failed)
    show_progress("")
    measured.reference_us = distance.reference()
    return measured


def show_progress(text):
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)

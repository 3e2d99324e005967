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
        """One sample at the distance that is commonest of late; failing that, one per try."""
        contender.check(row.what)
        for _ in range(tries):
            before = distance.probe()
            value = contender.measure(row.what, row.bytes)
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

    def missing_lines(self, columns):
        """One line for each of the columns and each reason, naming what stays empty because of it."""
        whats = defaultdict(dict)
        for (column, row), reason in self.reasons.items():
            if column in columns and self.figure(column, row) is None:
                whats[(column, reason)][row.what] = True
        return [f"no {', '.join(names)} of {column}: {reason}" for (column, reason), names in whats.items()]


def measure(contenders, rows, effort, distance):
    measured = Measured()
    for number in range(1, effort.rounds + 1):
        for row in rows:
            for contender in contenders:
                samples = measured.samples[(contender.column, contender.variant, row)]
                if samples.failures >= GIVE_UP_AFTER:
                    continue
                show_progress(f"round {number} of {effort.rounds}: {row.what} {row.bytes}, "
                              f"{contender.column} {contender.variant}")
                try:
                    samples.add(contender, row, effort.tries, distance)
                except process.Failed as failed:
                    samples.failures += 1
                    measured.reasons[(contender.column, row)] = str(failed)
    show_progress("")
    measured.reference_us = distance.reference()
    return measured


def show_progress(text):
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)

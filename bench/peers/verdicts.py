"""Rows with targets that are measured in turns: the ratios of each round, and the two ways to print them. Measures nothing."""

import json
import statistics
from collections import defaultdict
from dataclasses import dataclass, field

from table import number

PEERS = "best peer"


@dataclass(frozen=True)
class Target:
    against: str  # a column, or PEERS
    bound: float  # of the ratio; for times an upper one, else a lower one


@dataclass(frozen=True)
class Row:
    what: str
    bytes: int
    unit: str
    columns: tuple  # the first one is judged
    targets: tuple
    where: str
    peers: tuple = ()  # columns of which the best one is PEERS
    served: str = ""  # by which translator, where the name is to say it

    @property
    def is_time(self):
        return self.unit in ("us", "s")

    @property
    def best(self):
        return min if self.is_time else max


@dataclass
class Figures:
    """What each column gave at one row, a figure for each round, by variant."""

    row: Row
    taken: dict = field(default_factory=lambda: defaultdict(dict))  # (column, variant) -> round -> figure

    def add(self, column, variant, number, figure):
        self.taken[(column, variant)][number] = figure

    def of(self, column):
        """Round -> figure, of the column's best variant."""
        found = [rounds for (name, _), rounds in self.taken.items() if name == column and rounds]
        return self.row.best(found, key=lambda rounds: statistics.median(rounds.values())) if found else {}

    def median(self, column):
        rounds = self.of(column)
        return statistics.median(rounds.values()) if rounds else None

    def best_peer(self):
        medians = {column: self.median(column) for column in self.row.columns if column in self.row.peers}
        known = {column: median for column, median in medians.items() if median is not None}
        return self.row.best(known, key=known.get) if known else None

    def ratio(self, against):
        """The median of the ratios of each round, so that a slow moment of the machine falls on both. None where either has none."""
        other = self.best_peer() if against == PEERS else against
        judged, compared = self.of(self.row.columns[0]), self.of(other)
        ratios = [judged[number] / compared[number] for number in judged if number in compared]
        return statistics.median(ratios) if ratios else None

    def judged(self):
        """(target, ratio, met); met is None without a ratio."""
        for target in self.row.targets:
            ratio = self.ratio(target.against)
            met = None if ratio is None else ratio <= target.bound if self.row.is_time else ratio >= target.bound
            yield target, ratio, met


def size(count):
    for unit, factor in (("MiB", 1 << 20), ("KiB", 1 << 10)):
        if count >= factor:
            return f"{count // factor} {unit}"
    return f"{count} B"


def name(row):
    parts = [f"{row.what} {size(row.bytes)}" if row.bytes else row.what, row.where]
    return ", ".join([*parts, *([f"served by {row.served}"] if row.served else []), row.unit])


def as_text(results):
    lines = []
    for figures in results:
        lines.append(name(figures.row))
        lines.append("  " + "   ".join(f"{column} {number(figures.median(column))}" for column in figures.row.columns))
        for target, ratio, met in figures.judged():
            other = f"{target.against} ({figures.best_peer()})" if target.against == PEERS else target.against
            sign = "<=" if figures.row.is_time else ">="
            verdict = {None: "no figure", True: "met", False: "missed"}[met]
            lines.append(f"  {number(ratio)} of {other}, target {sign} {target.bound:.2f}: {verdict}")
    return "\n".join(lines)


def as_json(results):
    return json.dumps({"rows": [{
        "what": figures.row.what, "bytes": figures.row.bytes, "unit": figures.row.unit, "where": figures.row.where,
        "figures": {column: figures.median(column) for column in figures.row.columns},
        "targets": [{"against": target.against, "bound": target.bound, "ratio": ratio, "met": met}
                    for target, ratio, met in figures.judged()],
    } for figures in results]})

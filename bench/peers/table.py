"""The rows with their targets, the ratios, and the two ways to print them. Measures nothing."""

import json
from dataclasses import dataclass

PEERS = ("ucx", "openmpi", "mpich", "libfabric")
COLUMNS = ("heddle", "limit", *PEERS)
WANTED_IN_HALF = 1 / 1.5  # of the rows of all-to-all


@dataclass(frozen=True)
class Row:
    what: str
    bytes: int
    unit: str
    target: float | None = None  # of the ratio; for times and memory an upper bound, else a lower one
    processes: int = 2
    every: int = 1  # takes part in each so many rounds: what takes long in fewer
    of_limit: float | None = None  # target of heddle / limit, of times alone

    @property
    def less_is_better(self):
        return self.unit in ("us", "ms", "KiB")

    @property
    def best(self):
        return min if self.less_is_better else max

    @property
    def pinned(self):
        """Each process on a cpu of its own, so that the distance of the cpus matters."""
        return self.processes == 2

    def met(self, ratio):
        """None where there is no target or no ratio."""
        if self.target is None or ratio is None:
            return None
        return ratio <= self.target if self.less_is_better else ratio >= self.target

    def meets_limit(self, ratio):
        return None if self.of_limit is None or ratio is None else ratio <= self.of_limit


ROWS = (
    Row("latency", 8, "us", 0.35, of_limit=1.6),
    Row("latency", 1024, "us", 0.6, of_limit=1.4),
    Row("rate", 8, "1/s", 3.0),
    Row("bandwidth", 8 << 10, "MB/s", 1.0),
    Row("bandwidth", 64 << 10, "MB/s", 1.0),
    Row("bandwidth", 512 << 10, "MB/s"),
    Row("bandwidth", 1 << 20, "MB/s", 1.2),
    Row("bandwidth", 4 << 20, "MB/s", 1.0),
    Row("push", 8, "us", 0.5, of_limit=1.15),
    Row("push-rate", 8, "1/s", 2.0),
    Row("push-bandwidth", 1 << 20, "MB/s", 1.0),
    Row("pull", 8, "us"),
    Row("fetch-add", 8, "us"),
    Row("lock", 8, "us"),
    *(Row("alltoall", size, "us", 1.0, processes, every=2)
      for processes in (2, 4, 8, 16) for size in (8, 4 << 10, 256 << 10)),
    Row("barrier", 0, "us", None, 2, every=2),
    Row("barrier", 0, "us", None, 4, every=2),
    Row("barrier", 0, "us", None, 8, every=2),
    Row("barrier", 0, "us", 1.0, 16, every=2),
    Row("random", 0, "1/s", None, 16, every=2),
    Row("match-posted", 8, "us", every=4),
    Row("match-unexpected", 8, "us", every=4),
    Row("match-posted-masked", 8, "us", every=4),
    Row("match-unexpected-masked", 8, "us", every=4),
    Row("join", 0, "ms", None, 16, every=2),
    Row("join", 0, "ms", None, 64, every=2),
    Row("join", 0, "ms", None, 256, every=4),
    Row("memory", 8, "KiB", None, 16, every=2),
)


@dataclass(frozen=True)
class Result:
    row: Row
    figures: dict  # column -> Figure, measured columns only

    def value(self, column):
        figure = self.figures.get(column)
        return None if figure is None else figure.value

    def best_peer(self):
        values = [self.value(peer) for peer in PEERS if peer in self.figures]
        return self.row.best(values) if values else None

    def ratio(self):
        """Heddle / best peer; None where either is missing."""
        heddle, best = self.value("heddle"), self.best_peer()
        return heddle / best if heddle is not None and best else None

    def of_limit(self):
        """Heddle / limit, of times; None where either is missing."""
        heddle, limit = self.value("heddle"), self.value("limit")
        return heddle / limit if self.row.less_is_better and heddle is not None and limit else None


def result(row, measured):
    figures = {column: measured.figure(column, row) for column in (*COLUMNS, "single copy")}
    return Result(row, {column: figure for column, figure in figures.items() if figure is not None})


def as_json(results):
    return json.dumps({"rows": [{
        "what": result.row.what,
        "processes": result.row.processes,
        "bytes": result.row.bytes,
        "unit": result.row.unit,
        "heddle": result.value("heddle"),
        "limit": result.value("limit"),
        "peers": {peer: result.value(peer) for peer in PEERS},
        "ratio": result.ratio(),
        "of_limit": result.of_limit(),
    } for result in results]})


def number(value):
    """Three to four significant digits, grouped: 0.155, 8.3 M, 11,920."""
    if value is None:
        return "-"
    if value >= 1e6:
        return f"{value / 1e6:.2f} M"
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3f}"


def cell(figure):
    if figure is None:
        return "-"
    spread = "" if figure.spread is None else f" \u00b1{figure.spread * 50:.0f}%"
    return number(figure.value) + spread + ("" if figure.at_reference else " ?")


def verdict(met):
    return {None: "", True: "met", False: "missed"}[met]


def target(row, bound):
    return "-" if bound is None else f"{'<=' if row.less_is_better else '>='} {bound:g}"


def size(count):
    if count == 0:
        return "-"
    for unit, factor in (("MiB", 1 << 20), ("KiB", 1 << 10)):
        if count >= factor and count % factor == 0:
            return f"{count // factor} {unit}"
    return f"{count} B"


def name(row):
    """Short: alltoall 8 B x16."""
    return row.what + (f" {size(row.bytes)}" if row.bytes else "") + ("" if row.processes == 2 else f" x{row.processes}")


def as_text(results, reference_us=None):
    header = ["what", "processes", "size", "unit", *COLUMNS, "ratio", "target", "", "of limit", "target", ""]
    lines = [header]
    for result in results:
        figures = [cell(result.figures.get(column)) for column in COLUMNS]
        lines.append([result.row.what, str(result.row.processes), size(result.row.bytes), result.row.unit, *figures,
                      number(result.ratio()), target(result.row, result.row.target), verdict(result.row.met(result.ratio())),
                      number(result.of_limit()), target(result.row, result.row.of_limit),
                      verdict(result.row.meets_limit(result.of_limit()))])
    widths = [max(len(line[i]) for line in lines) for i in range(len(header))]
    text = ["  ".join(word.ljust(width) if i == 0 else word.rjust(width)
                      for i, (word, width) in enumerate(zip(line, widths))).rstrip() for line in lines]
    return "\n".join([*text, "", *notes(results, reference_us)])


def notes(results, reference_us):
    """What the table's cells leave out: how to read them, the settings that won, the single copy."""
    yield "ratio = heddle / best peer; \u00b1 is half the range over the rounds; limit: bare cache lines, or memcpy"
    if reference_us is not None:
        yield f"all while a cache line took about {reference_us * 1000:.0f} ns one way; ? marks what could not be"
    exchanges = [result.ratio() for result in results if result.row.what == "alltoall" and result.ratio() is not None]
    if len(exchanges) > 1:
        quick = sum(1 for ratio in exchanges if ratio <= WANTED_IN_HALF)
        yield (f"all-to-all: {quick} of {len(exchanges)} rows take at most {WANTED_IN_HALF:.2f} of the best peer's time, wanted in half: "
               f"{verdict(2 * quick >= len(exchanges))}")
    for peer in PEERS:
        won = {}
        for result in (result for result in results if peer in result.figures):
            won.setdefault(result.figures[peer].variant, []).append(name(result.row))
        if won:
            yield f"{peer}, best settings: " + "; ".join(f"{variant}: {', '.join(names)}" for variant, names in won.items())
    copies = [f"{size(result.row.bytes)} {cell(result.figures['single copy'])}"
              for result in results if "single copy" in result.figures]
    if copies:
        yield f"single copy by process_vm_readv, MB/s: {'; '.join(copies)}"

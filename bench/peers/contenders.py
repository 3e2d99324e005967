"""Who is measured and how each is called.

A contender has a column and a variant (its settings); check(what) raises Failed where it can give no such figure,
measure(what, size) runs it once and returns the figure in the row's unit.
"""

import json
import shutil
from dataclasses import dataclass, field
from pathlib import Path

import process
from process import Failed

KEYS = {"latency": "median_us", "rate": "median_per_s", "bandwidth": "median_mb_s",
        "push": "median_us", "push-rate": "median_per_s", "push-bandwidth": "median_mb_s",
        "pull": "median_us", "fetch-add": "median_us", "lock": "median_us"}
MESSAGES = ("latency", "rate", "bandwidth")  # the others are one-sided


def parse_result(text, what):
    """The figure from the JSON that `heddle perf`, mpi_pair and limit print alike."""
    try:
        figure = json.loads(text[text.index("{"):])["results"][0][KEYS[what]]
    except (ValueError, LookupError, TypeError) as error:
        raise Failed(f"output is not the JSON expected: {process.first_line(text)}") from error
    if figure is None:
        raise Failed("the system does not allow it")
    return figure


def require(program):
    if shutil.which(program) is None:
        raise Failed(f"{program} is not installed")


@dataclass(frozen=True)
class Heddle:
    program: Path
    column: str = "heddle"
    variant: str = "shm"

    def check(self, what):
        if not self.program.exists():
            raise Failed("heddle is not built (build/bin/heddle, or --heddle PATH)")

    def measure(self, what, size):
        command = [self.program, "perf", what, "--via", "shm", "--bytes", size, "--json"]
        return parse_result(process.output_of(command), what)


@dataclass(frozen=True)
class Limit:
    program: Path | None
    column: str = "limit"
    variant: str = ""

    def check(self, what):
        if self.program is None:
            raise Failed("limit.cpp did not compile")
        if what not in MESSAGES:
            raise Failed("the limit is measured for messages only")

    def measure(self, what, size):
        self.check(what)
        return parse_result(process.output_of([self.program, what, size]), what)


@dataclass(frozen=True)
class SingleCopy(Limit):
    """What a rendezvous by one remote read can reach: for information, beside the limit."""

    column: str = "single copy"

    def check(self, what):
        super().check(what)
        if what != "bandwidth":
            raise Failed("measured for bandwidth only")

    def measure(self, what, size):
        return parse_result(process.output_of([self.program, "single-copy", size]), what)


@dataclass(frozen=True)
class Mpi:
    column: str
    variant: str
    programs: dict
    launch: tuple
    environment: dict = field(default_factory=dict)
    serves: tuple = tuple(KEYS)

    def program(self, what):
        return self.programs.get(self.column if what in MESSAGES else f"{self.column} one-sided")

    def check(self, what):
        if what not in self.serves:
            raise Failed("it is not measured with these settings")
        if self.program(what) is None:
            raise Failed("its program did not compile")

    def measure(self, what, size):
        command = [*self.launch, "-n", "2", self.program(what), what, size]
        return parse_result(process.output_of(command, self.environment), what)


@dataclass(frozen=True)
class Ends:
    """Where a server and its client run: words before their commands, and where the client finds the server."""

    server: tuple = ("taskset", "-c", "1")
    client: tuple = ("taskset", "-c", "0")
    address: str = "127.0.0.1"


@dataclass(frozen=True)
class Ucx:
    """ucx_perftest: the client sends, so the client is process 0 on cpu 0."""

    variant: str
    environment: dict
    column: str = "ucx"
    messages: int = 2_800_000  # of a rate
    round_trips: int = 220_000
    ends: Ends = Ends()

    TESTS = {"latency": "tag_lat", "rate": "tag_bw", "bandwidth": "tag_bw", "push": "ucp_put_lat",
             "push-rate": "ucp_put_bw", "push-bandwidth": "ucp_put_bw", "pull": "ucp_get", "fetch-add": "ucp_fadd"}

    def check(self, what):
        require("ucx_perftest")
        if what not in self.TESTS:
            raise Failed("ucx_perftest has no such test")

    def measure(self, what, size):
        port = process.free_port()
        test = self.TESTS[what]
        by_bytes = "bandwidth" in what
        count = max(64, (1 << 30) // size) if by_bytes else self.messages if "rate" in what else self.round_trips
        server = [*self.ends.server, "ucx_perftest", "-p", port]
        client = [*self.ends.client, "ucx_perftest", self.ends.address, "-p", port, "-t", test, "-s", size,
                  "-n", count, "-w", max(16, count // 10), "-f", "-v"]
        return self.parse(process.output_of_client(server, client, port, self.environment), what, size)

    @staticmethod
    def parse(text, what, size):
        """CSV: iterations, percentile, then average and overall of latency, of MiB/s and of messages per second."""
        try:
            numbers = [float(cell) for cell in text.strip().splitlines()[-1].split(",")]
            latency, per_second = numbers[2], numbers[6]
        except (ValueError, IndexError) as error:
            raise Failed(f"ucx_perftest printed no figures: {process.first_line(text)}") from error
        if KEYS[what] == "median_us":
            return latency
        return per_second if KEYS[what] == "median_per_s" else per_second * size / 1e6


@dataclass(frozen=True)
class Libfabric:
    variant: str = "shm"
    column: str = "libfabric"
    provider: str = "shm"
    environment: dict = field(default_factory=dict)
    ends: Ends = Ends()

    def check(self, what):
        require("fi_pingpong")
        if what != "latency":
            raise Failed("fi_pingpong has no windows of messages, only ping-pong")

    def measure(self, what, size):
        port = process.free_port()
        common = ["fi_pingpong", "-p", self.provider, "-e", "rdm", "-m", "tagged", "-S", size, "-I", 200_000]
        output = process.output_of_client([*self.ends.server, *common, "-B", port],
                                          [*self.ends.client, *common, "-P", port, self.ends.address], port,
                                          self.environment)
        return self.parse(output, size)

    @staticmethod
    def parse(text, size):
        """Columns: bytes, sent, ack, total, time, MB/sec, usec/xfer, ...; MB/sec has the more digits."""
        try:
            return size / float(text.strip().splitlines()[-1].split()[5])
        except (ValueError, IndexError, ZeroDivisionError) as error:
            raise Failed(f"fi_pingpong printed no figures: {process.first_line(text)}") from error


def all_contenders(programs, heddle):
    """Several variants of one column: the better one counts, row by row."""
    as_root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    open_mpi = ("mpiexec.openmpi", "--bind-to", "none")  # mpi_pair pins itself, under either library alike
    ob1 = ("--mca", "pml", "ob1", "--mca", "btl", "self,vader")
    over_ucx = ("--mca", "pml", "ucx", "--mca", "pml_ucx_tls", "any", "--mca", "pml_ucx_devices", "any")
    one_sided = tuple(what for what in KEYS if what not in MESSAGES)
    mpich_rows = tuple(what for what in KEYS if what != "push")  # a target that polls its memory never sees a put
    posix, sysv = {"UCX_TLS": "posix,cma,self"}, {"UCX_TLS": "sysv,cma,self"}
    return [
        Heddle(Path(heddle)),
        Limit(programs.get("limit")),
        SingleCopy(programs.get("limit")),
        Ucx("posix,cma", posix),
        Ucx("sysv,cma", sysv),
        Ucx("default", {}),
        Mpi("openmpi", "default", programs, open_mpi, as_root),
        Mpi("openmpi", "ob1,vader", programs, open_mpi + ob1, as_root, MESSAGES),
        Mpi("openmpi", "ucx", programs, open_mpi + over_ucx, as_root, MESSAGES),
        Mpi("openmpi", "osc sm", programs, open_mpi + ob1 + ("--mca", "osc", "sm"), as_root, one_sided),
        Mpi("openmpi", "osc ucx", programs, open_mpi + over_ucx + ("--mca", "osc", "ucx"), as_root, one_sided),
        Mpi("mpich", "default", programs, ("mpiexec.mpich",), serves=mpich_rows),
        Mpi("mpich", "posix,cma", programs, ("mpiexec.mpich",), posix, mpich_rows),
        Libfabric(),
    ]

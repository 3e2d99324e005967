"""Who is measured and how each is called.

A contender has a column and a variant (its settings); check(what, processes) raises Failed where it can give no such figure,
measure(what, size, processes) runs it once and returns the figure in the row's unit.
"""

import json
import shutil
import time
from dataclasses import dataclass, field
from pathlib import Path

import process
from process import Failed, NotServed

KEYS = {"latency": "median_us", "rate": "median_per_s", "bandwidth": "median_mb_s",
        "push": "median_us", "push-rate": "median_per_s", "push-bandwidth": "median_mb_s",
        "pull": "median_us", "fetch-add": "median_us", "lock": "median_us",
        "alltoall": "median_us", "barrier": "median_us", "random": "median_per_s", "memory": "median_kib",
        "match-posted": "median_us", "match-unexpected": "median_us", "match-posted-masked": "median_us",
        "match-unexpected-masked": "median_us", "join": "median_ms"}
MESSAGES = ("latency", "rate", "bandwidth")
ONE_SIDED = ("push", "push-rate", "push-bandwidth", "pull", "fetch-add", "lock")
# The MPI program of a row is named after the kind; messages have the one without a name.
KINDS = {**dict.fromkeys(MESSAGES, ""), **dict.fromkeys(ONE_SIDED, " one-sided"),
         **dict.fromkeys(("alltoall", "barrier", "random", "memory"), " together"),
         **{what: " match" for what in KEYS if what.startswith("match-")}, "join": " join"}
REPETITIONS = {" together": 5, " match": 3}  # by kind, where they are fewer than the programs make by themselves: what takes long

PAIRS = range(2, 3)
CROWDS = range(3, 1 << 16)


def parse_result(text, what):
    """The figure from the JSON that `heddle perf`, mpi_pair and limit print alike."""
    try:
        figure = json.loads(text[text.index("{"):])["results"][0][KEYS[what]]
    except (ValueError, LookupError, TypeError) as error:
        raise Failed(f"output is not the JSON expected: {process.first_line(text)}") from error
    if figure is None:
        raise Failed("the system does not allow it")
    return figure


def milliseconds_of(command, environment=None):
    """From the start of the command to its end."""
    begin = time.monotonic()
    process.output_of(command, environment)
    return (time.monotonic() - begin) * 1000


def require(program):
    if shutil.which(program) is None:
        raise Failed(f"{program} is not installed")


@dataclass(frozen=True)
class Heddle:
    program: Path
    column: str = "heddle"
    variant: str = "shm"

    def check(self, what, processes=2):
        if not self.program.exists():
            raise Failed("heddle is not built (build/bin/heddle, or --heddle PATH)")

    def measure(self, what, size, processes=2):
        if what == "join":
            return milliseconds_of([self.program, "run", "-n", processes, self.program, "perf", "join", "--via", "shm"])
        command = [self.program, "perf", what, "--via", "shm", "-n", processes, "--bytes", size, "--json"]
        if KINDS[what] in REPETITIONS:
            command += ["--repetitions", REPETITIONS[KINDS[what]]]
        return parse_result(process.output_of(command), what)


@dataclass(frozen=True)
class Limit:
    program: Path | None
    column: str = "limit"
    variant: str = ""

    def check(self, what, processes=2):
        if self.program is None:
            raise Failed("limit.cpp did not compile")
        if what not in (*MESSAGES, "push"):
            raise Failed("the limit is measured for latency, rate, bandwidth and push only")

    def measure(self, what, size, processes=2):
        self.check(what)
        # A push of 8 bytes is a cache line, as a message of 8 bytes is.
        return parse_result(process.output_of([self.program, "latency" if what == "push" else what, size]), what)


@dataclass(frozen=True)
class SingleCopy(Limit):
    """What a rendezvous by one remote read can reach: for information, beside the limit."""

    column: str = "single copy"

    def check(self, what, processes=2):
        super().check(what)
        if what != "bandwidth":
            raise Failed("measured for bandwidth only")

    def measure(self, what, size, processes=2):
        return parse_result(process.output_of([self.program, "single-copy", size]), what)


@dataclass(frozen=True)
class Mpi:
    column: str
    variant: str
    programs: dict
    launch: tuple
    environment: dict = field(default_factory=dict)
    serves: tuple = tuple(KEYS)
    processes: range = range(2, CROWDS.stop)

    def program(self, what):
        return self.programs.get(self.column + KINDS[what])

    def check(self, what, processes=2):
        if what not in self.serves or processes not in self.processes:
            raise NotServed("it is not measured with these settings")
        if self.program(what) is None:
            raise Failed("its program did not compile")

    def measure(self, what, size, processes=2):
        command = [*self.launch, "-n", processes, self.program(what)]
        if what == "join":
            return milliseconds_of(command, self.environment)
        command += [what, size]
        if KINDS[what] in REPETITIONS:
            command.append(REPETITIONS[KINDS[what]])
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
    volume: int = 1 << 30  # bytes of a bandwidth
    ends: Ends = Ends()

    TESTS = {"latency": "tag_lat", "rate": "tag_bw", "bandwidth": "tag_bw", "push": "ucp_put_lat",
             "push-rate": "ucp_put_bw", "push-bandwidth": "ucp_put_bw", "pull": "ucp_get", "fetch-add": "ucp_fadd"}

    def check(self, what, processes=2):
        require("ucx_perftest")
        if what not in self.TESTS:
            raise Failed("ucx_perftest has no such test")

    def measure(self, what, size, processes=2):
        port = process.free_port()
        test = self.TESTS[what]
        by_bytes = "bandwidth" in what
        count = max(64, self.volume // size) if by_bytes else self.messages if "rate" in what else self.round_trips
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
    round_trips: int = 200_000
    ends: Ends = Ends()

    def check(self, what, processes=2):
        require("fi_pingpong")
        if what != "latency":
            raise Failed("fi_pingpong has no such test, only ping-pong")

    def measure(self, what, size, processes=2):
        port = process.free_port()
        common = ["fi_pingpong", "-p", self.provider, "-e", "rdm", "-m", "tagged", "-S", size, "-I", self.round_trips]
        output = process.output_of_client([*self.ends.server, *common, "-B", port],
                                          [*self.ends.client, *common, "-P", port, self.ends.address], port,
                                          self.environment)
        return self.parse(output, size)

    @staticmethod
    def parse(text, size):
        """Columns: bytes, sent, ack, total, time, MB/sec, usec/xfer, ...; both with two decimals, so that the larger has more digits."""
        try:
            rate, microseconds = (float(cell) for cell in text.strip().splitlines()[-1].split()[5:7])
            return size / rate if rate > microseconds else microseconds
        except (ValueError, IndexError, ZeroDivisionError) as error:
            raise Failed(f"fi_pingpong printed no figures: {process.first_line(text)}") from error


def all_contenders(programs, heddle):
    """Several variants of one column: the better one counts, row by row."""
    as_root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    open_mpi = ("mpiexec.openmpi", "--bind-to", "none")  # the programs pin themselves, under either library alike
    crowd = open_mpi + ("--oversubscribe",)
    ob1 = ("--mca", "pml", "ob1", "--mca", "btl", "self,vader")
    over_ucx = ("--mca", "pml", "ucx", "--mca", "pml_ucx_tls", "any", "--mca", "pml_ucx_devices", "any")
    yielding = ("--mca", "mpi_yield_when_idle", "1")
    not_one_sided = tuple(what for what in KEYS if what not in ONE_SIDED)
    not_join = tuple(what for what in KEYS if what != "join")  # which may take a minute, and gains nothing by spinning
    mpich_rows = tuple(what for what in KEYS if what != "push")  # a target that polls its memory never sees a put
    posix, sysv = {"UCX_TLS": "posix,cma,self"}, {"UCX_TLS": "sysv,cma,self"}
    return [
        Heddle(Path(heddle)),
        Limit(programs.get("limit")),
        SingleCopy(programs.get("limit")),
        Ucx("posix,cma", posix),
        Ucx("sysv,cma", sysv),
        Ucx("default", {}),
        Mpi("openmpi", "default", programs, open_mpi, as_root, processes=PAIRS),
        Mpi("openmpi", "oversubscribe", programs, crowd, as_root, not_join, CROWDS),
        Mpi("openmpi", "yield", programs, crowd + yielding, as_root, processes=CROWDS),
        Mpi("openmpi", "ob1,vader", programs, open_mpi + ob1, as_root, MESSAGES, PAIRS),
        Mpi("openmpi", "ucx", programs, open_mpi + over_ucx, as_root, not_one_sided, PAIRS),
        Mpi("openmpi", "osc sm", programs, open_mpi + ob1 + ("--mca", "osc", "sm"), as_root, ONE_SIDED),
        Mpi("openmpi", "osc ucx", programs, open_mpi + over_ucx + ("--mca", "osc", "ucx"), as_root, ONE_SIDED),
        Mpi("mpich", "default", programs, ("mpiexec.mpich",), serves=mpich_rows),
        Mpi("mpich", "posix,cma", programs, ("mpiexec.mpich",), posix, mpich_rows, PAIRS),
        Libfabric(),
    ]

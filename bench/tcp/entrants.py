"""Who is measured over TCP, and how each is called: as in peers/contenders.py, with what makes it use TCP and nothing else."""

import json
from dataclasses import dataclass, field
from pathlib import Path

import contenders
import preparation
import process
from machines import Machines
from process import Failed
from rows import BETWEEN, LOOPBACK, SLOWED

COMPUTE_US = 100  # far longer than anybody looks before it sleeps
TOLD_TO_SLEEP = {"HEDDLE_WAITING": "sleep", "HEDDLE_SPIN_US": "0"}
HERE = Path(__file__).resolve().parent
PACKAGES = {program: preparation.PACKAGES[program]
            for program in ("g++", "ucx_perftest", "fi_pingpong", "mpicc.openmpi", "mpiexec.openmpi")}
COMPILATIONS = {
    "raw": ["g++", "-std=c++23", "-O2", "-Wall", "-Wextra", str(HERE / "raw.cpp")],
    "openmpi": preparation.COMPILATIONS["openmpi"],
}


@dataclass(frozen=True)
class Heddle:
    """Checks by what the program says itself which translator has served it."""

    program: Path
    column: str = "heddle"
    variant: str = ""
    via: str = "tcp"
    served_by: str = "tcp"
    environment: dict = field(default_factory=dict)
    where: str = LOOPBACK
    machines: Machines | None = None
    compute_us: int = 0  # of both before they send, for latency

    def check(self, what):
        if not self.program.exists():
            raise Failed("heddle is not built (build/bin/heddle, or --heddle PATH)")

    def measure(self, what, size):
        command = [self.program, "perf", what, "--via", self.via, "--bytes", size, "--json"]
        if self.compute_us:
            command += ["--compute", self.compute_us]
        text = process.output_of(self.machines.job(command) if self.machines else command, self.environment)
        figure = contenders.parse_result(text, what)
        served_by = json.loads(text[text.index("{"):]).get("via")
        if served_by != self.served_by:
            raise Failed(f"served by {served_by}, expected {self.served_by}")
        return figure


@dataclass(frozen=True)
class Raw:
    """For latency who spins is compared with who spins, and who sleeps with who sleeps."""

    program: Path | None
    column: str
    variant: str  # spin, sleep or sleep:US
    congestion: str = ""
    serves: tuple = ("latency", "bandwidth")
    where: str = LOOPBACK
    machines: Machines | None = None

    def check(self, what):
        if self.program is None:
            raise Failed("raw.cpp did not compile")

    def measure(self, what, size):
        command = [self.program, self.variant, what, size, self.congestion]
        if self.machines:
            command = [*self.machines.on_network(1), *command, self.machines.address(1), self.machines.namespace(2)]
        return contenders.parse_result(process.output_of(command), what)


class Slowed:
    """The same with cables that carry less than the processors do."""

    def __init__(self, entrant, machines):
        self._entrant, self._machines = entrant, machines
        self.column, self.variant, self.where = entrant.column, entrant.variant, SLOWED

    def check(self, what):
        self._entrant.check(what)

    def measure(self, what, size):
        self._machines.slow_down(True)
        try:
            return self._entrant.measure(what, size)
        finally:
            self._machines.slow_down(False)


def on_one_machine(programs, heddle):
    """Of several variants of one column the best counts, row by row."""
    as_root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    btl_tcp = ("mpiexec.openmpi", "--bind-to", "none", "--mca", "pml", "ob1", "--mca", "btl", "tcp,self")
    raw = programs.get("raw")
    return [
        Heddle(heddle),
        Heddle(heddle, "heddle, told to sleep", environment=TOLD_TO_SLEEP, compute_us=COMPUTE_US),
        Raw(raw, "raw", "spin"),
        Raw(raw, "raw", "sleep", serves=("bandwidth",)),
        Raw(raw, "raw, sleeping", f"sleep:{COMPUTE_US}"),
        Raw(raw, "raw, reno", "spin", "reno"),
        Raw(raw, "raw, reno", "sleep", "reno"),
        contenders.Ucx("tcp", {"UCX_TLS": "tcp"}, messages=400_000, round_trips=60_000),
        contenders.Libfabric("tcp", provider="tcp"),
        contenders.Mpi("openmpi", "btl tcp", programs, btl_tcp, as_root, contenders.MESSAGES),
        Heddle(heddle, "shm", via="shm", served_by="shm"),
        Heddle(heddle, "shm beside tcp", via="shm,tcp", served_by="shm"),
    ]


def on_two_machines(programs, heddle, machines):
    """Open MPI has no launcher that would reach them."""
    ends = contenders.Ends(machines.on(2), machines.on(1), machines.address(2))
    by = {"heddle": "e0", "heddle, one cable": "e0", "heddle, two cables": "e0,e1"}
    ours = [Heddle(heddle, column, environment={"HEDDLE_TCP_NETWORK": cables}, where=BETWEEN, machines=machines)
            for column, cables in by.items()]
    others = [
        contenders.Ucx("tcp", {"UCX_TLS": "tcp", "UCX_NET_DEVICES": "e0"}, round_trips=60_000, ends=ends),
        contenders.Libfabric("tcp", provider="tcp", environment={"FI_TCP_IFACE": "e0"}, ends=ends),
    ]
    raw = programs.get("raw")
    sleeping = [
        Heddle(heddle, "heddle, told to sleep", environment={"HEDDLE_TCP_NETWORK": "e0", **TOLD_TO_SLEEP}, where=BETWEEN,
               machines=machines, compute_us=COMPUTE_US),
        Raw(raw, "raw, sleeping", f"sleep:{COMPUTE_US}", where=BETWEEN, machines=machines),
    ]
    return [*ours, Raw(raw, "raw", "spin", where=BETWEEN, machines=machines), *sleeping,
            *(Between(each) for each in others), *(Slowed(each, machines) for each in ours)]


class Between:
    """One that knows nothing of places."""

    where = BETWEEN

    def __init__(self, contender):
        self.column, self.variant = contender.column, contender.variant
        self.check, self.measure = contender.check, contender.measure

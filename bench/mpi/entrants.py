"""Who is measured with MPI programs, and how each is called: the transports of Open MPI, MPICH, and libfabric's own ping-pong."""

import re
import shlex
from dataclasses import dataclass, field
from pathlib import Path

import contenders
import preparation
import process
from process import Failed
from rows import CROWDS, OURS, PAIR, place

PACKAGES = {program: preparation.PACKAGES[program]
            for program in ("fi_pingpong", "mpicc.openmpi", "mpiexec.openmpi", "mpicc.mpich", "mpiexec.mpich")}
COMPILATIONS = {name: preparation.COMPILATIONS[name] for name in ("openmpi", "mpich")}
AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
MPIEXEC = ("mpiexec.openmpi", "--bind-to", "none")  # mpi_pair pins itself, under every MPI alike


@dataclass(frozen=True)
class Pair:
    """mpi_pair under an MPI. Over Heddle `heddle mpi` sees that it was used."""

    column: str
    program: Path | None
    launch: tuple
    environment: dict = field(default_factory=lambda: AS_ROOT)
    variant: str = ""
    where: str = PAIR
    serves: tuple = contenders.MESSAGES

    def check(self, what):
        if self.program is None:
            raise Failed("mpi_pair.c did not compile")
        contenders.require(self.launch[0])

    def measure(self, what, size):
        return contenders.parse_result(process.output_of([*self.launch, "-n", 2, self.program, what, size], self.environment), what)


@dataclass(frozen=True)
class Kernel:
    """One of build/libexec/heddle/kernels, size W; it verifies its result."""

    column: str
    folder: Path
    launch: tuple
    processes: int
    variant: str = ""

    @property
    def where(self):
        return place(self.processes)

    def check(self, what):
        contenders.require(self.launch[0])
        if not (self.folder / what).exists():
            raise Failed("the kernel was not built (target heddle_kernels)")

    def measure(self, what, size):
        text = process.output_of([*self.launch, "-n", self.processes, self.folder / what, "W"], AS_ROOT)
        found = re.search(r"verified.* ([0-9.]+) s$", text, re.MULTILINE)
        if not found:
            raise Failed(f"{what} printed no time: {process.first_line(text)}")
        return float(found[1])


class PingPong:
    """fi_pingpong over a provider; the environment is asked for when it is first needed."""

    variant, where, serves = "", PAIR, ("latency",)

    def __init__(self, provider, environment):
        self.column, self._provider, self._environment = f"fi_pingpong {provider}", provider, environment

    def check(self, what):
        contenders.require("fi_pingpong")

    def measure(self, what, size):
        return contenders.Libfabric(provider=self._provider, environment=self._environment()).measure(what, size)


def variables(heddle):
    """What `heddle mpi` sets, from the lines that it prints for a shell."""
    lines = process.output_of([heddle, "mpi", "--via", "shm", "--print-env"]).splitlines()
    return dict(word.split("=", 1) for line in lines for word in shlex.split(line)[1:])


def all_entrants(programs, heddle):
    openmpi, kernels = programs.get("openmpi"), heddle.resolve().parents[1] / "libexec" / "heddle" / "kernels"
    over_ucx = ("--mca", "pml", "ucx", "--mca", "pml_ucx_tls", "any", "--mca", "pml_ucx_devices", "any")
    over_tcp = ("--mca", "pml", "cm", "--mca", "mtl", "ofi", "--mca", "mtl_ofi_provider_include", "tcp;ofi_rxm")
    yielding = ("--oversubscribe", "--mca", "mpi_yield_when_idle", "1")

    def over(via):
        return (heddle, "mpi", "--via", via, "--", *MPIEXEC)

    entrants = [
        Pair("openmpi", openmpi, MPIEXEC),
        Pair("openmpi ucx", openmpi, (*MPIEXEC, *over_ucx)),
        Pair("openmpi libfabric tcp", openmpi, (*MPIEXEC, *over_tcp)),
        Pair("mpich", programs.get("mpich"), ("mpiexec.mpich",)),
        Pair(OURS, openmpi, over("shm")),
        Pair("heddle tcp", openmpi, over("tcp")),
        PingPong("heddle", lambda: variables(heddle)),
        PingPong("shm", dict),
    ]
    for processes in (2, 4, *CROWDS):
        more = yielding if processes in CROWDS else ("--oversubscribe",)
        entrants += [Kernel("openmpi", kernels, (*MPIEXEC, *more), processes),
                     Kernel(OURS, kernels, (*over("shm"), "--oversubscribe"), processes)]
    return entrants

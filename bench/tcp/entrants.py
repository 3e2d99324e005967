"""Who is measured over TCP, and how each is called: as in peers/contenders.py, with what makes it use TCP and nothing else."""

import json
from dataclasses import dataclass
from pathlib import Path

import contenders
import preparation
import process
from process import Failed

HERE = Path(__file__).resolve().parent
PACKAGES = {program: preparation.PACKAGES[program]
            for program in ("g++", "ucx_perftest", "fi_pingpong", "mpicc.openmpi", "mpiexec.openmpi")}
COMPILATIONS = {
    "raw": ["g++", "-std=c++23", "-O2", "-Wall", "-Wextra", str(HERE / "raw.cpp")],
    "openmpi": preparation.COMPILATIONS["openmpi"],
}
PEERS = ("ucx", "libfabric", "openmpi")


@dataclass(frozen=True)
class Heddle:
    """Checks by what the program says itself which translator has served it."""

    program: Path
    column: str = "heddle"
    variant: str = ""
    via: str = "tcp"
    served_by: str = "tcp"

    def check(self, what):
        if not self.program.exists():
            raise Failed("heddle is not built (build/bin/heddle, or --heddle PATH)")

    def measure(self, what, size):
        text = process.output_of([self.program, "perf", what, "--via", self.via, "--bytes", size, "--json"])
        figure = contenders.parse_result(text, what)
        served_by = json.loads(text[text.index("{"):]).get("via")
        if served_by != self.served_by:
            raise Failed(f"served by {served_by}, expected {self.served_by}")
        return figure


@dataclass(frozen=True)
class Raw:
    program: Path | None
    column: str
    variant: str  # spin or sleep
    congestion: str = ""

    def check(self, what):
        if self.program is None:
            raise Failed("raw.cpp did not compile")
        if what == "latency" and self.variant != "spin":
            raise Failed("heddle spins while it waits for so short a time")
        if what == "rate":
            raise Failed("raw sockets have no messages to count")

    def measure(self, what, size):
        last = [self.congestion] if self.congestion else []
        return contenders.parse_result(process.output_of([self.program, self.variant, what, size, *last]), what)


def all_entrants(programs, heddle):
    """Of several variants of one column the best counts, row by row."""
    as_root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    btl_tcp = ("mpiexec.openmpi", "--bind-to", "none", "--mca", "pml", "ob1", "--mca", "btl", "tcp,self")
    raw = programs.get("raw")
    return [
        Heddle(heddle),
        Raw(raw, "raw", "spin"),
        Raw(raw, "raw", "sleep"),
        Raw(raw, "raw, reno", "spin", "reno"),
        Raw(raw, "raw, reno", "sleep", "reno"),
        contenders.Ucx("tcp", {"UCX_TLS": "tcp"}, messages=400_000, round_trips=60_000),
        contenders.Libfabric("tcp", provider="tcp"),
        contenders.Mpi("openmpi", "btl tcp", programs, btl_tcp, as_root, contenders.MESSAGES),
        Heddle(heddle, "shm", via="shm", served_by="shm"),
        Heddle(heddle, "shm beside tcp", via="shm,tcp", served_by="shm"),
    ]

"""The rows of MPI programs, with their targets; and the means over kernels. Measures nothing."""

import math

from verdicts import PEERS, Row, Target

PAIR = "two processes"
KERNELS = ("ep", "is", "cg", "mg", "ft", "lu")
OURS = "heddle shm"
OWN = ("openmpi", "openmpi ucx", "openmpi libfabric tcp")
ALL = (OURS, *OWN, "mpich", "heddle tcp")
SIZES = (64 << 10, 256 << 10, 1 << 20, 4 << 20)

WORST_KERNEL = 1.10
# By processes: the bound of the geometric mean over the kernels. Who has more processes than cpus is compared with Open MPI that yields.
MEANS = {2: 1.02, 4: 1.02, 8: 1.0, 16: 1.0}
CROWDS = (8, 16)


def place(processes):
    return f"{processes} processes" + (", yielding" if processes in CROWDS else "")


def kernel(name, processes):
    targets = () if processes in CROWDS else (Target("openmpi", WORST_KERNEL),)
    return Row(name, 0, "s", (OURS, "openmpi"), targets, place(processes))


GROUPS = {
    "latency": (Row("latency", 8, "us", ALL, (Target(PEERS, 1.0),), PAIR, OWN),),
    "bandwidth": tuple(Row("bandwidth", size, "MB/s", ALL, (Target(PEERS, 1.0),), PAIR, (*OWN, "mpich")) for size in SIZES),
    "rate": (Row("rate", 8, "1/s", ALL, (Target(PEERS, 1.2),), PAIR, (*OWN, "mpich")),),
    "pingpong": (Row("latency", 8, "us", ("fi_pingpong heddle", "fi_pingpong shm"), (Target("fi_pingpong shm", 0.5),), PAIR),),
    "kernels": tuple(kernel(name, processes) for processes in (2, 4) for name in KERNELS),
    "crowd": tuple(kernel(name, processes) for processes in CROWDS for name in KERNELS),
}


def means(results):
    """(processes, geometric mean, least, most, bound, met) of each number of processes that kernels ran with."""
    for processes, bound in MEANS.items():
        ratios = [figures.ratio("openmpi") for figures in results if figures.row.where == place(processes)]
        ratios = [ratio for ratio in ratios if ratio is not None]
        if ratios:
            mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
            yield processes, mean, min(ratios), max(ratios), bound, mean <= bound

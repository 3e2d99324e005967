"""The rows over TCP, with their targets."""

from verdicts import PEERS, Row, Target

LOOPBACK = "loopback"
BETWEEN = "between two machines of namespaces"
SLOWED = "between two machines of namespaces, cables of 1 Gbit/s"
OTHERS = ("ucx", "libfabric", "openmpi")


def over_tcp(what, size, unit, columns, targets, where, served="tcp"):
    return Row(what, size, unit, columns, targets, where, OTHERS, served)


ROWS = (
    over_tcp("latency", 8, "us", ("heddle", "raw", *OTHERS), (Target("raw", 1.10), Target(PEERS, 0.95)), LOOPBACK),
    over_tcp("rate", 8, "1/s", ("heddle", "ucx", "openmpi"), (Target(PEERS, 2.0),), LOOPBACK),
    over_tcp("bandwidth", 64 << 10, "MB/s", ("heddle", "raw", "raw, reno", "ucx", "openmpi"), (Target(PEERS, 1.0),), LOOPBACK),
    over_tcp("bandwidth", 1 << 20, "MB/s", ("heddle", "raw", "raw, reno", "ucx", "openmpi"),
             (Target("raw", 1.0), Target("raw, reno", 1.0)), LOOPBACK),
    over_tcp("latency", 8, "us", ("heddle, told to sleep", "raw, sleeping"), (Target("raw, sleeping", 1.10),), LOOPBACK),
    over_tcp("latency", 8, "us", ("heddle", "raw", "ucx", "libfabric"), (Target("raw", 1.10), Target(PEERS, 0.95)), BETWEEN),
    over_tcp("latency", 8, "us", ("heddle, told to sleep", "raw, sleeping"), (Target("raw, sleeping", 1.10),), BETWEEN),
    over_tcp("bandwidth", 1 << 20, "MB/s", ("heddle, two cables", "heddle, one cable"), (Target("heddle, one cable", 1.6),), SLOWED),
    over_tcp("bandwidth", 1 << 20, "MB/s", ("heddle, two cables", "heddle, one cable"), (), BETWEEN),
    over_tcp("latency", 8, "us", ("shm beside tcp", "shm"), (Target("shm", 1.03),), LOOPBACK, "shm"),
)

"""Two machines made of the system's namespaces: network, pids, host name, /dev/shm and boot id of their own, so that only cables connect
them. Needs root. Nothing of it outlives this process."""

import os
import subprocess
import tempfile
from pathlib import Path


CABLES = ("e0", "e1")
LINK = "1gbit"  # of a cable that is slowed down


class NoMachines(Exception):
    """The system gives no right to make them; the text says why, in one line."""


def _run(script):
    done = subprocess.run(["sh", "-ec", script], capture_output=True, text=True)
    if done.returncode != 0:
        raise NoMachines(f"no machines of namespaces: {(done.stderr.strip().splitlines() or ['a command has failed'])[0]}")


class Machines:
    """m1, on cpu 0, and m2, on cpu 1: two direct cables, and one each to where jobs are started from."""

    def __init__(self):
        self._folder = tempfile.TemporaryDirectory(prefix="heddle-bench-")
        self._keepers = []
        try:
            self._launcher = self._boot("launcher", shares_pids=True)
            self._machines = [self._boot(name, shares_pids=False) for name in ("m1", "m2")]
            self._plug_in()
        except (NoMachines, OSError) as reason:
            self.close()
            raise NoMachines(str(reason)) from reason

    def close(self):
        for keeper in self._keepers:
            keeper.kill()
            keeper.wait()
            keeper.stdout.close()
        self._folder.cleanup()

    def namespace(self, number):
        return f"/proc/{self._machines[number - 1]}/ns/net"

    @staticmethod
    def address(number):
        return f"10.77.0.{number}"

    def on(self, number):
        """Words before a command that is to run there."""
        return ("nsenter", "-t", self._machines[number - 1], "-m", "-u", "-i", "-n", "-p", "taskset", "-c", str(number - 1))

    def on_network(self, number):
        """The same for one that needs the network of that machine alone."""
        return ("nsenter", f"--net={self.namespace(number)}")

    def job(self, command):
        """Of `heddle perf` or `heddle run`, with a process on each machine."""
        return ["nsenter", "-t", self._launcher, "-m", "-u", "-n", *command, "--hosts", "m1:1,m2:1",
                "--shell", self._path("shell")]

    def _path(self, name):
        return str(Path(self._folder.name) / name)

    def _boot(self, name, shares_pids):
        identity = self._path(f"boot_id_{name}")
        Path(identity).write_text(Path("/proc/sys/kernel/random/uuid").read_text())
        Path(self._path("hosts")).write_text("127.0.0.1 localhost\n10.79.1.1 m1\n10.79.2.1 m2\n")
        script = (f"hostname {name}; ip link set lo up; mount -t sysfs sysfs /sys; mount -t tmpfs tmpfs /dev/shm; mount --bind {self._path('hosts')} /etc/hosts; "
                  + ("" if shares_pids else f"mount --bind {identity} /proc/sys/kernel/random/boot_id; ")
                  + "echo ready; exec sleep infinity")
        own = ["--net", "--uts", "--ipc", "--mount"]
        if not shares_pids:
            own += ["--pid", "--fork", "--kill-child", "--mount-proc"]
        keeper = subprocess.Popen(["setpriv", "--pdeathsig", "KILL", "unshare", *own, "sh", "-ec", script],
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True)
        self._keepers.append(keeper)
        said = keeper.stdout.readline().strip()
        if said != "ready":
            raise NoMachines(f"no machines of namespaces: {said}")
        if shares_pids:
            return keeper.pid
        return int(Path(f"/proc/{keeper.pid}/task/{keeper.pid}/children").read_text().split()[0])

    def _plug_in(self):
        first, second = self._machines
        script = ""
        for number, cable in enumerate(CABLES):
            script += f"ip link add {cable} netns {first} type veth peer name {cable} netns {second}\n"
            for end, machine in enumerate(self._machines, 1):
                script += f"nsenter -t {machine} -n ip addr add 10.{77 + number}.0.{end}/24 dev {cable}\n"
                script += f"nsenter -t {machine} -n ip link set {cable} up\n"
        for end, machine in enumerate(self._machines, 1):
            script += f"ip link add c0 netns {machine} type veth peer name c{end} netns {self._launcher}\n"
            for where, cable, address in ((machine, "c0", 1), (self._launcher, f"c{end}", 2)):
                script += f"nsenter -t {where} -n ip addr add 10.79.{end}.{address}/24 dev {cable}\n"
                script += f"nsenter -t {where} -n ip link set {cable} up\n"
        # The store listens at one of the launcher's addresses; the other machine reaches it, too.
        script += f"nsenter -t {first} -n ip route add default via 10.79.1.2\n"
        script += f"nsenter -t {second} -n ip route add default via 10.79.2.2\n"
        _run(script)
        shell = "#!/bin/sh\nhost=$1; shift\ncase $host in\n"
        for end, machine in enumerate(self._machines, 1):
            shell += f'm{end}) exec nsenter -t {machine} -m -u -i -n -p taskset -c {end - 1} "$@";;\n'
        Path(self._path("shell")).write_text(shell + "esac\n")
        os.chmod(self._path("shell"), 0o755)

    def slow_down(self, slow):
        """Both cables, in both directions; or as fast as the machine is."""
        for machine in self._machines:
            for cable in CABLES:
                change = f"add dev {cable} root tbf rate {LINK} burst 256k latency 50ms" if slow else f"del dev {cable} root"
                _run(f"nsenter -t {machine} -n tc qdisc {change}")

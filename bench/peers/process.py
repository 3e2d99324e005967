"""Runs measured programs so that none outlives its time or this process."""

import os
import re
import signal
import socket
import subprocess
import time
from pathlib import Path

TIMEOUT_S = 60  # a run takes seconds at most; a busy machine may stretch it tenfold


class Failed(Exception):
    """A program gave no figure; the text says why, in one line."""


def first_line(text):
    """The line that says most: the first that names an error, else the first that is not decoration."""
    lines = [line.strip() for line in text.splitlines() if re.search(r"\w", line)]
    telling = [line for line in lines if re.search(r"error|cannot|fail|not found|refused", line, re.IGNORECASE)]
    return (telling + lines + ["no message"])[0][:200]


class TooSlow(Failed):
    """No figure within the time; another try would take as long."""


class NotServed(Failed):
    """The program is not measured in this row with these settings; with others it may be."""


class Child:
    """A program in its own session; close() ends the session whole, also where a launcher made further groups."""

    def __init__(self, command, environment):
        try:
            self._process = subprocess.Popen(
                [str(word) for word in command], env={**os.environ, **environment}, text=True, start_new_session=True,
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        except OSError as error:
            raise Failed(str(error)) from error
        self._name = Path(str(command[0])).name

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self._process.poll() is None:
            self._signal_group(signal.SIGTERM)
            try:
                self._process.wait(2)
            except subprocess.TimeoutExpired:
                pass
        for pid in self._session_members():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        self._process.wait()
        self._process.stdout.close()
        self._process.stderr.close()

    def pid(self):
        return self._process.pid

    def running(self):
        return self._process.poll() is None

    def output(self):
        """Waits for the end and returns stdout."""
        try:
            stdout, stderr = self._process.communicate(timeout=TIMEOUT_S)
        except subprocess.TimeoutExpired as expired:
            raise TooSlow(f"{self._name} gave no result within {TIMEOUT_S} s") from expired
        if self._process.returncode != 0:
            raise Failed(f"{self._name} ended with {self._process.returncode}: {first_line(stderr or stdout)}")
        return stdout

    def _signal_group(self, number):
        try:
            os.killpg(self._process.pid, number)
        except ProcessLookupError:
            pass

    def _session_members(self):
        for entry in Path("/proc").iterdir():
            if not entry.name.isdigit():
                continue
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if int(fields[3]) == self._process.pid:  # after the name: state, parent, group, session
                yield int(entry.name)


def output_of(command, environment=None):
    with Child(command, environment or {}) as child:
        return child.output()


def output_of_client(server, client, port, environment=None):
    """Starts server, waits until it listens on port, runs client and returns its stdout."""
    with Child(server, environment or {}) as listening:
        wait_for_listener(listening, port)
        output = output_of(client, environment)
        listening.output()
        return output


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_for_listener(server, port):
    """Looks in the kernel's table: connecting to see would use up the server's one accept."""
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        if any(listens(f"/proc/{server.pid()}/net/{table}", port) for table in ("tcp", "tcp6")):
            return
        if not server.running():
            server.output()
            raise Failed("the server ended before its client came")
        time.sleep(0.01)
    raise Failed(f"the server does not listen on port {port} after 10 s")


def listens(path, port):
    try:
        lines = Path(path).read_text().splitlines()[1:]
    except OSError:
        return False
    return any(fields[3] == "0A" and int(fields[1].rpartition(":")[2], 16) == port
               for fields in (line.split() for line in lines))

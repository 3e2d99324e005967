"""What must be there before anything is measured: packages, compiled programs, a calm machine."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent

# program -> the Debian packages that bring it
PACKAGES = {
    "g++": ["g++"],
    "ucx_perftest": ["ucx-utils"],
    "fi_pingpong": ["libfabric-bin"],
    "mpicc.openmpi": ["openmpi-bin", "libopenmpi-dev"],
    "mpiexec.openmpi": ["openmpi-bin"],
    "mpicc.mpich": ["mpich", "libmpich-dev"],
    "mpiexec.mpich": ["mpich"],
}

MPI_COMPILERS = {"openmpi": ["mpicc.openmpi", "-O2"], "mpich": ["mpicc.mpich", "-O2", "-Wno-stringop-overflow"]}
MPI_SOURCES = {"": "mpi_pair.c", " one-sided": "mpi_onesided.c", " together": "mpi_together.c", " match": "mpi_match.c",
               " join": "mpi_join.c"}

COMPILATIONS = {
    "limit": ["g++", "-std=c++23", "-O2", "-Wall", "-Wextra", str(HERE / "limit.cpp")],
    **{library + kind: [*compiler, str(HERE / source)]
       for library, compiler in MPI_COMPILERS.items() for kind, source in MPI_SOURCES.items()},
}


def say(line):
    print(f"bench/peers: {line}", file=sys.stderr)


def install_missing(packages=None):
    """Installs by apt what is missing; says in one line what could not be, and leaves it to the rows to be empty."""
    missing = sorted({package for program, bring_it in (packages or PACKAGES).items() if shutil.which(program) is None
                      for package in bring_it})
    if not missing:
        return
    say(f"installing {' '.join(missing)}")
    apt = ([] if os.geteuid() == 0 else ["sudo", "-n"]) + ["apt-get", "-q", "-y"]
    quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True,
             "env": dict(os.environ, DEBIAN_FRONTEND="noninteractive")}
    try:
        subprocess.run(apt + ["update"], **quiet, check=False)
        done = subprocess.run(apt + ["install", "--no-install-recommends"] + missing, **quiet, check=False)
        failure = None if done.returncode == 0 else (done.stdout.strip().splitlines() or ["apt-get failed"])[-1]
    except OSError as error:
        failure = str(error)
    if failure:
        say(f"cannot install {' '.join(missing)}: {failure}; install them by hand for a full table")


def compile_programs(folder, compilations=None):
    """Compiles into folder; returns name -> program for those that compiled, and says in one line which did not."""
    folder.mkdir(parents=True, exist_ok=True)
    programs = {}
    for name, command in (compilations or COMPILATIONS).items():
        target = folder / name.replace(" ", "_")
        source = Path(command[-1])
        newest = max(path.stat().st_mtime for path in [source, *HERE.glob("*.h")])
        if not target.exists() or target.stat().st_mtime < newest:
            try:
                done = subprocess.run(command + ["-o", str(target)], capture_output=True, text=True, check=False)
                failure = None if done.returncode == 0 else (done.stderr.strip().splitlines() or ["no reason given"])[0]
            except OSError as error:
                failure = str(error)
            if failure:
                say(f"cannot compile {source.name} for {name}: {failure}")
                continue
        programs[name] = target
    return programs


def warn_if_busy():
    """Other work on the two cpus falsifies everything; the ratios suffer least, as the rounds interleave."""
    load = os.getloadavg()[0]
    if load > 0.5:
        say(f"the machine is busy (load {load:.1f}): expect wide spreads")

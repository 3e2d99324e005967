"""How long OpenSM takes to compute its own fat-tree tables (ftree, LMC 0) for a tree, on a subnet that ibsim simulates."""
import datetime
import glob
import os
import pathlib
import re
import subprocess
import tempfile

STAMP = re.compile(r"^(\w{3} \d\d \d\d:\d\d:\d\d) (\d{6}) ")
BEGIN, END = "building routing with 'ftree'", "ftree tables configured on all switches"


def missing():
    """Which package is missing, or None."""
    if not glob.glob("/usr/lib/*/umad2sim/libumad2sim.so"):
        return "ibsim-utils is not installed"
    if not pathlib.Path("/usr/sbin/opensm").exists():
        return "opensm is not installed"
    return None


def moment(line):
    day, micro = STAMP.match(line).groups()
    return datetime.datetime.strptime(f"2000 {day}", "%Y %b %d %H:%M:%S").timestamp() + int(micro) / 1e6


def time_in_log(log):
    """Milliseconds between the beginning and the end of routing; None where OpenSM did not route by ftree."""
    begin = [line for line in log.splitlines() if BEGIN in line]
    end = [line for line in log.splitlines() if END in line]
    return (moment(end[0]) - moment(begin[0])) * 1000 if begin and end else None


def ftree_ms(heddle, tree, seconds):
    with tempfile.TemporaryDirectory(prefix="heddle_bench_") as folder:
        subprocess.run([heddle, "route", "tables", "--tree", tree, "--lmc", "0", "--out", folder], check=True,
                       stdout=subprocess.DEVNULL)
        for name in ("guid2lid", "lfts"):
            os.remove(f"{folder}/{name}")
        environment = {**os.environ, "IBSIM_SOCKNAME": os.path.basename(folder), "OSM_TMP_DIR": folder, "OSM_CACHE_DIR": folder}
        with open(f"{folder}/ibsim.log", "w") as errors:
            simulator = subprocess.Popen(
                ["stdbuf", "-oL", "ibsim", "-s", "-n", "-L", "49152", "-N", "16384", "-S", "2048", "-P", "262144", "fabric.net"],
                cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=errors, text=True)
        try:
            for line in simulator.stdout:
                if "Network simulator ready" in line:
                    break
            client = {**environment, "LD_PRELOAD": glob.glob("/usr/lib/*/umad2sim/libumad2sim.so")[0]}
            subprocess.run(["timeout", "-k", "5", str(seconds), "opensm", "-o", "-e", "-D", "0x47", "-f", f"{folder}/osm.log",
                            "-R", "ftree"], env=client, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        finally:
            simulator.kill()
            simulator.wait()
        return time_in_log(pathlib.Path(f"{folder}/osm.log").read_text(errors="replace"))

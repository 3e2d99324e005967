#!/usr/bin/env python3
"""That bench/pairs tells a slower build from an equal one, on programs whose figures are known. Measures nothing."""

import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

PAIRS = Path(__file__).resolve().parent / "pairs"

# A build whose program prints a figure that wanders by some percent, and is four times as large every seventh time, as on a machine that others use.
PROGRAM = """#!/bin/sh
echo $$ >>"$0.runs"
number=$(wc -l <"$0.runs")
awk -v n="$number" -v own="{own}" -v key="{key}" 'BEGIN {{
  noise = 1 + 0.03 * sin(own + n * n * 1.7); if (n % 7 == own % 7) noise *= 4
  printf "{{\\"results\\": [{{\\"bytes\\": 8, \\"%s\\": %.9f}}]}}\\n", key, {figure} * noise }}'
"""


class Pairs(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def build(self, name, figure, key="median_us"):
        program = Path(self.folder.name) / name / "bin" / "heddle"
        program.parent.mkdir(parents=True)
        program.write_text(PROGRAM.format(own=len(name), figure=figure, key=key))
        program.chmod(0o755)
        return program.parent.parent

    def run_pairs(self, *words):
        return subprocess.run([PAIRS, *words], capture_output=True, text=True, timeout=100)

    def compared(self, *words):
        done = self.run_pairs(*words, "--json", "--only", "latency 8")
        self.assertIn(done.returncode, (0, 1), done.stderr)
        return done.returncode, json.loads(done.stdout)["rows"][0]

    def test_equal_builds_are_not_slower(self):
        status, row = self.compared(self.build("old", 2), self.build("equal", 2))
        self.assertEqual(status, 0)
        self.assertIn(row["verdict"], ("alike", "unclear"))
        self.assertLessEqual(row["low"], 1)
        self.assertGreaterEqual(row["high"], 1)

    def test_a_build_slower_by_a_tenth_is_seen(self):
        status, row = self.compared(self.build("old", 2), self.build("slower", 2.2))
        self.assertEqual((status, row["verdict"]), (1, "slower"))
        self.assertAlmostEqual(row["ratio"], 1.1, delta=0.05)

    def test_a_build_faster_by_a_tenth_is_no_failure(self):
        status, row = self.compared(self.build("slow", 2.2), self.build("new", 2))
        self.assertEqual((status, row["verdict"]), (0, "faster"))

    def test_fewer_messages_a_second_are_slower(self):
        status, row = self.compared(self.build("old", 2.2e6, "median_per_s"), self.build("fewer", 2e6, "median_per_s"))
        self.assertEqual((status, row["verdict"]), (1, "slower"))

    def test_builds_take_turns_and_each_is_first_as_often(self):
        order = Path(self.folder.name) / "order"
        commands = Path(self.folder.name) / "commands"
        commands.write_text(f"# a comment\nturns: sh -c 'echo {{}} >>{order}; echo took 5 us, or 7.5'\n")
        old, new = self.build("old", 1), self.build("new", 1)
        done = self.run_pairs(old, new, "--commands", commands, "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(json.loads(done.stdout)["rows"][0]["old"], 7.5)
        lines = order.read_text().split()
        self.assertEqual(lines[:4], [str(old), str(new), str(new), str(old)])
        self.assertEqual(len(lines), 40)

    def test_what_gives_no_figure_is_said_in_one_line(self):
        commands = Path(self.folder.name) / "commands"
        old = self.build("old", 1)
        for line, expected in (("none: echo nothing", "no number"), ("fails: false", "ended with 1"), ("nothing", "expected NAME: COMMAND")):
            commands.write_text(line + "\n")
            done = self.run_pairs(old, old, "--commands", commands)
            self.assertEqual(done.returncode, 2)
            self.assertIn(expected, done.stderr)
            self.assertEqual(done.stderr.count("\n"), 1)

    def test_too_few_pairs_are_refused(self):
        old = self.build("old", 1)
        done = self.run_pairs(old, old, "--pairs", "19")
        self.assertEqual(done.returncode, 2)
        self.assertIn("expected at least 20", done.stderr)


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    unittest.main()

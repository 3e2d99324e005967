#!/usr/bin/env python3
"""Means over kernels with figures made up, and that a kernel that is not verified counts for nothing. Measures nothing."""

import sys
import tempfile
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "peers"))

import entrants  # noqa: E402
import rows  # noqa: E402
from process import Failed  # noqa: E402
from verdicts import Figures  # noqa: E402


def kernel(name, processes, ours, theirs):
    figures = Figures(rows.kernel(name, processes))
    figures.add(rows.OURS, "", 0, ours)
    figures.add("openmpi", "", 0, theirs)
    return figures


class Means(unittest.TestCase):
    def test_are_geometric_and_of_one_number_of_processes(self):
        results = [kernel("cg", 2, 2.0, 1.0), kernel("lu", 2, 1.0, 2.0), kernel("cg", 8, 1.1, 1.0)]
        (two, mean, least, most, _, met), (eight, *_, missed) = rows.means(results)
        self.assertEqual((two, round(mean, 9), least, most, met), (2, 1.0, 0.5, 2.0, True))
        self.assertEqual((eight, missed), (8, False))

    def test_one_kernel_may_miss_where_the_mean_does_not(self):
        self.assertEqual([met for _, _, met in kernel("cg", 2, 1.2, 1.0).judged()], [False])
        self.assertEqual([met for _, _, met in kernel("cg", 2, 1.05, 1.0).judged()], [True])


class Kernels(unittest.TestCase):
    def measured(self, printed):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        launcher = Path(folder.name) / "launcher"
        launcher.write_text(f"#!/bin/sh\necho '{printed}'\n")
        launcher.chmod(0o755)
        return entrants.Kernel("openmpi", Path(folder.name), (launcher,), 2).measure("cg", 0)

    def test_give_their_seconds(self):
        self.assertEqual(self.measured("cg: verified, error 1e-9 (at most 1e-8), 2 processes, 0.525 s"), 0.525)

    def test_that_are_wrong_give_none(self):
        with self.assertRaisesRegex(Failed, "printed no time"):
            self.measured("cg: WRONG, error 1 (at most 1e-8), 2 processes, 0.525 s")


if __name__ == "__main__":
    unittest.main()

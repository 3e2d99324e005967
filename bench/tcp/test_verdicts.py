#!/usr/bin/env python3
"""Ratios and verdicts with figures made up, and that a figure of the wrong translator counts for nothing. Measures nothing."""

import json
import sys
import tempfile
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "peers"))

import entrants  # noqa: E402
import verdicts  # noqa: E402
from process import Failed  # noqa: E402
from verdicts import PEERS, Figures, Row, Target  # noqa: E402

LATENCY = Row("latency", 8, "us", ("heddle", "raw", "ucx", "openmpi"), (Target("raw", 1.1), Target(PEERS, 0.95)),
              "loopback", ("ucx", "openmpi"))
RATE = Row("rate", 8, "1/s", ("heddle", "ucx", "openmpi"), (Target(PEERS, 2.0),), "loopback", ("ucx", "openmpi"))


def figures_of(row, **columns):
    figures = Figures(row)
    for column, values in columns.items():
        for number, value in enumerate(values):
            figures.add(column, "", number, value)
    return figures


class Ratios(unittest.TestCase):
    def test_are_taken_within_a_round(self):
        slow_second_round = figures_of(LATENCY, heddle=[3, 6, 3], raw=[3, 6, 3], ucx=[4, 8, 4], openmpi=[5, 10, 5])
        self.assertEqual(slow_second_round.ratio("raw"), 1.0)
        self.assertEqual(slow_second_round.ratio(PEERS), 0.75)

    def test_best_peer_is_the_quickest_and_the_one_with_most_messages(self):
        self.assertEqual(figures_of(LATENCY, heddle=[1], ucx=[4], openmpi=[3]).best_peer(), "openmpi")
        self.assertEqual(figures_of(RATE, heddle=[1], ucx=[4], openmpi=[3]).best_peer(), "ucx")

    def test_targets_bound_times_from_above_and_the_rest_from_below(self):
        met = [met for _, _, met in figures_of(LATENCY, heddle=[3.3], raw=[3.0], ucx=[3.4], openmpi=[9]).judged()]
        self.assertEqual(met, [True, False])
        self.assertEqual([met for _, _, met in figures_of(RATE, heddle=[8], ucx=[4], openmpi=[3]).judged()], [True])
        self.assertEqual([met for _, _, met in figures_of(RATE, heddle=[7], ucx=[4], openmpi=[3]).judged()], [False])

    def test_of_several_variants_the_best_counts(self):
        figures = figures_of(LATENCY, heddle=[3])
        figures.add("raw", "spin", 0, 2)
        figures.add("raw", "sleep", 0, 30)
        self.assertEqual(figures.ratio("raw"), 1.5)

    def test_without_figures_there_is_no_verdict(self):
        alone = figures_of(LATENCY, heddle=[3])
        self.assertEqual([met for _, _, met in alone.judged()], [None, None])
        self.assertIn("no figure", verdicts.as_text([alone]))
        self.assertIsNone(json.loads(verdicts.as_json([alone]))["rows"][0]["targets"][0]["met"])


class Served(unittest.TestCase):
    def heddle(self, served_by):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        program = Path(folder.name) / "heddle"
        printed = json.dumps({"via": served_by, "results": [{"bytes": 8, "median_us": 3.5}]})
        program.write_text(f"#!/bin/sh\necho '{printed}'\n")
        program.chmod(0o755)
        return entrants.Heddle(program)

    def test_by_the_translator_that_the_row_names(self):
        self.assertEqual(self.heddle("tcp").measure("latency", 8), 3.5)

    def test_by_another_is_no_figure(self):
        with self.assertRaisesRegex(Failed, "served by shm, expected tcp"):
            self.heddle("shm").measure("latency", 8)


if __name__ == "__main__":
    unittest.main()

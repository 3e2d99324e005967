"""Ratios, verdicts, medians and the reading of the tools' output, with figures made up: nothing is measured here."""

import json
import sys
import unittest

sys.dont_write_bytecode = True

import contenders
import process
import table
from distance import commonest
from rounds import Effort, Figure, Measured, measure

LATENCY = table.Row("latency", 8, "us", 0.35)
RATE = table.Row("rate", 8, "1/s", 3.0)
JOIN = table.Row("join", 0, "ms", None, 256, every=2)
MEMORY = table.Row("memory", 8, "KiB", None, 16)


def result_of(row, **values):
    return table.Result(row, {column: Figure(value, 0.1) for column, value in values.items()})


class Ratios(unittest.TestCase):
    def test_latency_is_compared_with_the_lowest_peer(self):
        self.assertAlmostEqual(result_of(LATENCY, heddle=0.1, ucx=0.4, mpich=0.5, limit=0.03).ratio(), 0.25)

    def test_rate_is_compared_with_the_highest_peer(self):
        self.assertAlmostEqual(result_of(RATE, heddle=12e6, ucx=4e6, openmpi=3e6, limit=50e6).ratio(), 3.0)

    def test_milliseconds_and_memory_are_compared_with_the_lowest_peer_too(self):
        for row in (JOIN, MEMORY):
            self.assertAlmostEqual(result_of(row, heddle=10, openmpi=20, mpich=40).ratio(), 0.5)

    def test_without_heddle_or_peers_there_is_no_ratio(self):
        self.assertIsNone(result_of(LATENCY, ucx=0.4).ratio())
        self.assertIsNone(result_of(LATENCY, heddle=0.4, limit=0.1).ratio())

    def test_target_bounds_latency_from_above_and_the_rest_from_below(self):
        self.assertTrue(LATENCY.met(0.35))
        self.assertFalse(LATENCY.met(0.36))
        self.assertTrue(RATE.met(3.0))
        self.assertFalse(RATE.met(2.9))
        self.assertIsNone(RATE.met(None))


class Printing(unittest.TestCase):
    def test_json_has_every_peer_and_null_where_one_is_missing(self):
        printed = json.loads(table.as_json([result_of(LATENCY, heddle=0.1, ucx=0.4)]))
        self.assertEqual(printed, {"rows": [{
            "what": "latency", "processes": 2, "bytes": 8, "unit": "us", "heddle": 0.1, "limit": None,
            "peers": {"ucx": 0.4, "openmpi": None, "mpich": None, "libfabric": None}, "ratio": 0.25, "of_limit": None}]})

    def test_text_names_ratio_target_and_verdict(self):
        line = table.as_text([result_of(LATENCY, heddle=0.1, ucx=0.4)]).splitlines()[1]
        self.assertIn("0.250  <= 0.35  met", line)
        self.assertIn("0.400 \u00b15%", line)

    def test_text_names_what_is_left_to_the_limit(self):
        row = table.Row("latency", 8, "us", 0.35, of_limit=1.6)
        line = table.as_text([result_of(row, heddle=0.1, ucx=0.4, limit=0.05)]).splitlines()[1]
        self.assertTrue(line.endswith("met     2.000  <= 1.6  missed"), line)
        self.assertIsNone(result_of(RATE, heddle=1e6, limit=2e6).of_limit())

    def test_text_counts_the_exchanges_that_are_quick(self):
        rows = [table.Row("alltoall", 8, "us", 1.0, processes) for processes in (2, 4, 8)]
        results = [result_of(row, heddle=time, mpich=3) for row, time in zip(rows, (2, 2.1, 1))]
        self.assertIn("all-to-all: 2 of 3 rows take at most 0.67 of the best peer's time, wanted in half: met",
                      table.as_text(results))
        self.assertIn("1 of 2 rows take at most 0.67 of the best peer's time, wanted in half: met", table.as_text(results[:2]))
        self.assertNotIn("all-to-all:", table.as_text(results[:1]))

    def test_text_shows_processes_and_no_size_where_there_is_none(self):
        lines = table.as_text([result_of(JOIN, heddle=10, mpich=20)]).splitlines()
        self.assertEqual(lines[1].split()[:4], ["join", "256", "-", "ms"])
        self.assertIn("join x256", lines[-1])


class Scripted:
    """A contender that gives the figures it was told to, or fails where told None or a failure."""

    def __init__(self, variant, values):
        self.column, self.variant, self._values = "ucx", variant, list(values)

    def check(self, what, processes):
        pass

    def measure(self, what, size, processes):
        value = self._values.pop(0)
        if value is None:
            raise process.Failed("told to fail")
        if isinstance(value, process.Failed):
            raise value
        return value


class ScriptedDistance:
    """Tells the distances it was given, then 65; two per measurement, before and after."""

    def __init__(self, distances=()):
        self._distances = list(distances)

    def probe(self):
        return self._distances.pop(0) if self._distances else 65

    def reference(self):
        return 65

    recent_reference = reference


class Rounds(unittest.TestCase):
    def test_best_variant_counts_by_its_median(self):
        measured = measure([Scripted("a", [1, 9, 9]), Scripted("b", [5, 5, 6])], [LATENCY], Effort(3), ScriptedDistance())
        self.assertEqual(measured.figure("ucx", LATENCY), Figure(5, 0.2, "b"))

    def test_figures_at_another_distance_are_taken_again(self):
        measured = measure([Scripted("a", [100, 100, 7])], [LATENCY], Effort(1), ScriptedDistance([250, 65, 65, 27]))
        self.assertEqual(measured.figure("ucx", LATENCY).value, 7)

    def test_figures_at_another_distance_serve_where_there_are_no_others(self):
        measured = measure([Scripted("a", [3, 4, 5])], [LATENCY], Effort(1), ScriptedDistance([250] * 6))
        self.assertEqual(measured.figure("ucx", LATENCY), Figure(4, 0.5, "a", at_reference=False))

    def test_a_variant_at_the_reference_goes_before_a_better_one_elsewhere(self):
        measured = measure([Scripted("a", [1, 1, 1]), Scripted("b", [2])], [LATENCY], Effort(1), ScriptedDistance([27] * 6))
        self.assertEqual(measured.figure("ucx", LATENCY).variant, "b")

    def test_where_no_distance_is_known_all_count(self):
        measured = measure([Scripted("a", [4])], [LATENCY], Effort(1), ScriptedDistance([None] * 2))
        self.assertEqual(measured.figure("ucx", LATENCY), Figure(4, None, "a"))

    def test_one_line_says_why_a_column_is_empty(self):
        measured = measure([Scripted("a", [None, None])], [LATENCY, RATE], Effort(1), ScriptedDistance())
        self.assertEqual(measured.missing_lines(table.COLUMNS), ["no latency, rate of ucx: told to fail"])
        self.assertIsNone(measured.figure("ucx", LATENCY))

    def test_nothing_is_said_where_another_variant_ran(self):
        measured = measure([Scripted("a", [None]), Scripted("b", [2])], [LATENCY], Effort(1), ScriptedDistance())
        self.assertEqual(measured.missing_lines(table.COLUMNS), [])

    def test_processes_that_are_not_pinned_have_no_distance(self):
        measured = measure([Scripted("a", [4])], [JOIN], Effort(1), ScriptedDistance([250, 250]))
        self.assertEqual(measured.figure("ucx", JOIN), Figure(4, None, "a"))

    def test_slow_rows_take_part_in_every_other_round(self):
        measured = measure([Scripted("a", [4, 6, 8])], [JOIN], Effort(5), ScriptedDistance())
        self.assertEqual(measured.figure("ucx", JOIN).value, 6)

    def test_what_was_too_slow_is_not_tried_again(self):
        measured = measure([Scripted("a", [process.TooSlow("told to hang")])], [JOIN], Effort(5), ScriptedDistance())
        self.assertEqual(measured.missing_lines(table.COLUMNS), ["no join x256 of ucx: told to hang"])

    def test_a_failure_is_told_rather_than_that_others_do_not_serve_the_row(self):
        others = [Scripted(name, [process.NotServed("not with these settings")]) for name in ("a", "c")]
        measured = measure([others[0], Scripted("b", [None]), others[1]], [JOIN], Effort(1), ScriptedDistance())
        self.assertEqual(measured.missing_lines(table.COLUMNS), ["no join x256 of ucx: told to fail"])

    def test_no_figures_is_no_figure(self):
        self.assertIsNone(Measured().figure("ucx", LATENCY))


class Distances(unittest.TestCase):
    def test_commonest_is_a_distance_met_not_one_in_between(self):
        self.assertEqual(commonest([250, 65, 27, 66, 260, 64, 28]), 64)

    def test_of_equally_common_distances_the_shortest_counts(self):
        self.assertEqual(commonest([250, 65, 250, 65]), 65)
        self.assertIsNone(commonest([]))


class Reading(unittest.TestCase):
    def test_ucx_bandwidth_is_in_millions_of_bytes(self):
        line = "1000000,0.140,0.155,0.155,49.19,49.19,6447023,6447023\n"
        self.assertAlmostEqual(contenders.Ucx.parse(line, "latency", 8), 0.155)
        self.assertAlmostEqual(contenders.Ucx.parse(line, "bandwidth", 1000), 6447.023)

    def test_libfabric_latency_comes_from_the_column_with_more_digits(self):
        text = "bytes   #sent   #ack     total       time     MB/sec\n8 100k =100k 1.5m 0.07s 20.00 0.40 2.50\n"
        self.assertAlmostEqual(contenders.Libfabric.parse(text, 8), 0.4)
        slow = "bytes   #sent   #ack     total       time     MB/sec\n8 1k =1k 15k 22.22s 0.00 11110.93 0.00\n"
        self.assertAlmostEqual(contenders.Libfabric.parse(slow, 8), 11110.93)

    def test_garbage_is_a_failure_with_its_text(self):
        for read in (lambda text: contenders.Ucx.parse(text, "rate", 8), lambda text: contenders.Libfabric.parse(text, 8),
                     lambda text: contenders.parse_result(text, "rate")):
            with self.assertRaisesRegex(process.Failed, "garbage"):
                read("garbage")


if __name__ == "__main__":
    unittest.main()

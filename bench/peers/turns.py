"""What benches with verdicts share: the command line's errors, and the rounds."""

import argparse
import sys

import verdicts
from process import Failed


class OneLineParser(argparse.ArgumentParser):
    """Bad usage is one line and exit 2."""

    def __init__(self, program, **options):
        super().__init__(**options)
        self._program = program

    def error(self, message):
        print(f"{self._program}: {message} (see --help)", file=sys.stderr)
        sys.exit(2)


def measure(rows, competing, rounds, say):
    """Each entrant once a round in each row that it takes part in. Who can give no figure is asked once; why is said in one line."""
    results = [verdicts.Figures(row) for row in rows]
    failed = set()
    for number in range(rounds):
        for figures in results:
            row = figures.row
            for entrant in (each for each in competing if takes_part(each, row)):
                which = (row, entrant.column, entrant.variant)
                if which in failed:
                    continue
                try:
                    entrant.check(row.what)
                    figures.add(entrant.column, entrant.variant, number, entrant.measure(row.what, row.bytes))
                except Failed as reason:
                    failed.add(which)
                    say(f"no {row.what} of {entrant.column} {entrant.variant}: {reason}")
        if sys.stderr.isatty():
            print(f"\r{number + 1} of {rounds} rounds ", end="", file=sys.stderr, flush=True)
    return results


def takes_part(entrant, row):
    place = getattr(entrant, "where", "loopback")
    return entrant.column in row.columns and place == row.where and row.what in getattr(entrant, "serves", (row.what,))

"""How far apart the two cpus are at a moment, as a cache line travels.

A virtual machine's cpus are moved by its host: one moment two threads of a core, the next two cores of different
caches, with half round trips of 27, 65 and 250 ns on one machine within one minute. Figures taken at different
distances do not compare, so the distance is noted before and after each, and the commonest one counts.
"""

import contenders
from process import Failed

TOLERANCE = 1.5  # the distances met lie factors of two and more apart, one distance scatters by a fifth
RECENT = 60      # probes that decide whether a figure is worth taking again: about a minute


def alike(distance, reference):
    return reference / TOLERANCE <= distance <= reference * TOLERANCE


def commonest(distances):
    """The distance that most others are like; of several such the shortest. None of none."""
    def company(distance):
        return sum(1 for other in distances if alike(other, distance))
    return max(sorted(distances), key=company, default=None)


class Distance:
    """Probes by the limit program; without it no distance is known, and every moment counts as alike."""

    def __init__(self, program):
        self._limit = contenders.Limit(program)
        self._history = []

    def probe(self):
        """Microseconds, or None if unknown."""
        try:
            self._history.append(self._limit.measure("latency", 8))
        except Failed:
            return None
        return self._history[-1]

    def recent_reference(self):
        return commonest(self._history[-RECENT:])

    def reference(self):
        return commonest(self._history)

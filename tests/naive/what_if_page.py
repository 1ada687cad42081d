"""What a page with sliders holds, read from its HTML, and what lies between two of its loads."""

from __future__ import annotations

import base64
import json
import re

import numpy as np

DOUBTFUL, NO_ANSWER, NO_ERROR, MOST_OFF = 253, 254, 255, 0.25


class Held:
    """The grid of a page, as arrays again."""

    def __init__(self, page: str) -> None:
        text = re.search(r'<script id="grid" type="application/json">(.*?)</script>', page, re.S)[1]
        self.data = json.loads(text)
        self.loads = self.data["loads"]
        self.labels = [policy["label"] for policy in self.data["policies"]]
        sizes = [len(axis["values"]) for axis in self.data["axes"]]
        shape = (*sizes, len(self.labels))
        whole = (*shape, len(self.loads) + len(self.data["ends"]))
        self.values = self._array("values", "<f4").reshape(whole)
        self.codes = self._array("codes", "u1").reshape(whole)
        self.capacity = self._array("capacity", "<f4").reshape(shape)

    def _array(self, name, kind):
        return np.frombuffer(base64.b64decode(self.data[name]), dtype=kind)

    def error(self, code):
        return np.inf if code in (DOUBTFUL, NO_ERROR) else self.data["errors"][code]

    def nodes(self, place):
        """Loads, responses and errors of the predicted points of one curve, by load."""
        most = float(self.capacity[place])
        ends = [*self.loads, *(share * most for share in self.data["ends"])]
        whole = zip(ends, self.values[place], self.codes[place], strict=True)
        rows = [(load, float(v), self.error(c)) if c != NO_ANSWER else None for load, v, c in whole]
        known = [row for row in rows[: len(self.loads)] if row is not None]
        for row in rows[len(self.loads) :]:  # the curve's own, unless beside one of all curves
            stops = [row_of_all[0] for row_of_all in rows[: len(self.loads)] if row_of_all]
            if row is not None and all(abs(row[0] - stop) >= 0.02 * most for stop in stops):
                known.append(row)
        return sorted(known)

    def between(self, place, load):
        """Response at a load between two predicted ones, and how far it may be off, relatively.

        A polynomial by least squares through as many points as it has coefficients; None where
        fewer than three are known, the load lies outside them, or it may be off by over a quarter.
        """
        known = self.nodes(place)
        if len(known) < 3 or not known[0][0] <= load <= known[-1][0]:
            return None
        most = float(self.capacity[place])
        x = np.array([row[0] for row in known])
        g = np.array([row[1] for row in known]) * (1 - x / most)
        k = min(int(np.searchsorted(x, load)) - 1, len(x) - 2) if load > x[0] else 0
        first = max(0, min(k - 1, len(x) - 4))
        near = slice(first, first + 4)
        curve = np.polynomial.Polynomial.fit(x[near], g[near], len(x[near]) - 1)
        line = np.polynomial.Polynomial.fit(x[k : k + 2], g[k : k + 2], 1)
        inside = x[k] + np.array([0.25, 0.5, 0.75]) * (x[k + 1] - x[k])
        gap = float(np.max(np.abs(curve(inside) / line(inside) - 1)))
        for i in (k, k + 1):
            if 0 < i < len(x) - 1:
                others = [j for j in range(max(0, i - 2), min(len(x), i + 3)) if j != i]
                rest = np.polynomial.Polynomial.fit(x[others], g[others], len(others) - 1)
                gap += abs(float(rest(x[i])) / g[i] - 1)
        return (float(curve(load)) / (1 - load / most), gap) if gap <= MOST_OFF else None

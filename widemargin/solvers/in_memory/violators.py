"""The worst violators among the variables without a row, found without sorting."""

from __future__ import annotations

import numpy as np

from widemargin._jit import REASSOCIATE, jit
from widemargin.solvers.steps.packed_keys import larger

BINS = 64  # bins of the histogram that replaces sorting


@jit(fastmath=REASSOCIATE)
def extreme_slopes(Kb, rise, fall, first, last):
    """Lowest Kb + rise and highest Kb + fall on first:last; the third number is not 0 if a K b is not finite."""
    Kb, rise, fall = Kb[first:last], rise[first:last], fall[first:last]
    lowest = highest = -np.inf
    finite = 0.0
    for t in range(last - first):
        lowest = larger(lowest, -(Kb[t] + rise[t]))
        highest = larger(highest, Kb[t] + fall[t])
        finite += Kb[t] - Kb[t]
    return -lowest, highest, finite


@jit(inner=True)
def take_worst(Kb, outside, group, midpoint, found, count, room):
    """Write the `room` worst violators of a group on either side to found[count:]; returns the new count."""
    rise, fall = outside
    first, last = group
    number = np.empty((2, last - first), np.int64)  # violators that can rise, and violators that can fall, ...
    amount = np.empty((2, last - first))  # ... and by how much they violate
    rising = falling = 0
    for t in range(first, last):
        if Kb[t] + rise[t] < midpoint:
            number[0, rising] = t
            amount[0, rising] = midpoint - (Kb[t] + rise[t])
            rising += 1
        elif Kb[t] + fall[t] > midpoint:
            number[1, falling] = t
            amount[1, falling] = Kb[t] + fall[t] - midpoint
            falling += 1
    count = take_largest(number[0, :rising], amount[0, :rising], room, found, count)
    return take_largest(number[1, :falling], amount[1, :falling], room, found, count)


@jit
def take_largest(number, amount, room, found, count):
    """Write the numbers of the `room` largest amounts to found[count:]; among equals, evenly spread ones."""
    n = number.shape[0]
    if n <= room:
        for k in range(n):
            found[count + k] = number[k]
        return count + n
    largest = 0.0
    for k in range(n):
        largest = max(largest, amount[k])
    histogram = np.zeros(BINS + 1, np.int64)
    scale = BINS / largest
    for k in range(n):
        histogram[int(amount[k] * scale)] += 1
    edge = BINS
    above = 0
    while edge > 0 and above + histogram[edge] <= room:
        above += histogram[edge]
        edge -= 1
    wanted = min(room - above, histogram[edge])
    seen = taken = 0
    for k in range(n):
        place = int(amount[k] * scale)
        if place > edge:
            found[count] = number[k]
            count += 1
        elif place == edge:
            seen += 1
            if taken < wanted and 2 * seen * wanted >= (2 * taken + 1) * histogram[edge]:
                found[count] = number[k]
                count += 1
                taken += 1
    return count

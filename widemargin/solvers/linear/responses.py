"""The smoothed losses of the proximal dual: multipliers as a function of the margins, and their sums.

With z = -(u + c), u = w'x + bias and c the linear term of the signed dual (problems/dual.py), sample i answers with

    b(u) = clip( soft( centre + s r z, s r e ), lo, hi ),      soft(t, k) = sign(t) max(|t| - k, 0)

which is the multiplier that maximises  z b - D b^2 / 2 - e |b| - (b - centre)^2 / (2 s r)  over the box.
    linear losses  (D = 0)   r = C_i,  s the proximal parameter, centre the multipliers of the last outer round
    squared losses (D > 0)   r = 1/D,  s = 1, centre = 0: the loss is smooth already and the answer exact
A sample is *free* where b moves with u, with slope -s r. The gap between the primal at w and the dual at b is

    1/2 |w - X'b|^2 + sum_i comp_i,     comp_i = loss_i(u) - (z b - D b^2 / 2 - e |b|) >= 0,

exactly, as long as u = X w (and sum b = 0 where the bias is not penalised): it costs nothing beyond these sums. For
linear losses comp is summed without cancellation, with p = z - e and q = z + e:

    comp_i = p+ (hi - b) + q- (b - lo) + b+ min(p-, 2e) + b- min(q+, 2e),      t+ = max(t, 0),  t- = max(-t, 0)
"""

from __future__ import annotations

import numpy as np

from widemargin._jit import CONTRACT, REASSOCIATE, jit

LINE_STEPS = 60  # bracketed Newton; two or three are usual
ROUNDING = 1e-15  # relative, of a sum: beyond, the bracket would be halved to its last bit for nothing
BIAS_STEPS = 200  # bracketed Newton on a monotone piecewise linear function; a handful is usual


@jit
def answer(z, centre, step, epsilon, lower, upper):
    """The multiplier of one sample; without branches, so that loops over samples vectorise."""
    t = centre + step * z
    k = step * epsilon
    return min(max(t - min(max(t, -k), k), lower), upper)


@jit(fastmath=REASSOCIATE)
def propose_linear(u, centre, s, rate, linear_term, epsilon, lower, upper, out):
    """Multipliers for linear losses; returns sum of losses and sum of comp."""
    losses = 0.0
    comp = 0.0
    for i in range(u.shape[0]):
        z = -(u[i] + linear_term[i])
        b = answer(z, centre[i], s * rate[i], epsilon[i], lower[i], upper[i])
        out[i] = b
        above, below = z - epsilon[i], -z - epsilon[i]
        inside = 2.0 * epsilon[i]
        losses += max(above, 0.0) * upper[i] - max(below, 0.0) * lower[i]
        comp += max(above, 0.0) * (upper[i] - b) + max(below, 0.0) * (b - lower[i])
        comp += max(b, 0.0) * max(min(-above, inside), 0.0) + max(-b, 0.0) * max(min(-below, inside), 0.0)
    return losses, comp


@jit(fastmath=REASSOCIATE)
def propose_squared(u, rate, linear_term, epsilon, lower, upper, out):
    """Multipliers for squared losses, which are (|z| - e)^2 r / 2 = b^2 / (2 r); comp is zero."""
    losses = 0.0
    for i in range(u.shape[0]):
        b = answer(-(u[i] + linear_term[i]), 0.0, rate[i], epsilon[i], lower[i], upper[i])
        out[i] = b
        losses += 0.5 * b * b / rate[i]
    return losses, 0.0


@jit(fastmath=CONTRACT)
def move(u, q, step, bias):
    """u += step q + bias, without copies."""
    for i in range(u.shape[0]):
        u[i] += step * q[i] + bias


@jit
def take_over(proposed, epsilon, lower, upper, beta, free, moved, delta):
    """Make the proposed multipliers the present ones; lists which moved and by how much, and returns how many."""
    n_moved = 0
    for i in range(beta.shape[0]):
        b = proposed[i]
        if b != beta[i]:
            moved[n_moved] = i
            delta[n_moved] = b - beta[i]
            n_moved += 1
            beta[i] = b
            free[i] = lower[i] < b < upper[i] and (b != 0.0 or epsilon[i] == 0.0)
    return n_moved


@jit
def list_differences(wanted, present, entered, left):
    """Samples to add to and to take out of a sum over a set; `present` becomes `wanted`."""
    n_entered = n_left = 0
    for i in range(wanted.shape[0]):
        if wanted[i] != present[i]:
            present[i] = wanted[i]
            if wanted[i]:
                entered[n_entered] = i
                n_entered += 1
            else:
                left[n_left] = i
                n_left += 1
    return n_entered, n_left


@jit(fastmath=REASSOCIATE)
def slope_along(u, q, t, centre, s, rate, linear_term, epsilon, lower, upper):
    """Sum of q b(u + t q), and sums over the free of s r q^2, s r q and s r: derivatives along q and the bias."""
    first = 0.0
    second = 0.0
    cross = 0.0
    mass = 0.0
    for i in range(u.shape[0]):
        step = s * rate[i]
        b = answer(-(u[i] + t * q[i] + linear_term[i]), centre[i], step, epsilon[i], lower[i], upper[i])
        first += q[i] * b
        is_free = (b > lower[i]) & (b < upper[i]) & ((b != 0.0) | (epsilon[i] == 0.0))
        weight = step * is_free
        second += weight * q[i] * q[i]
        cross += weight * q[i]
        mass += weight
    return first, second, cross, mass


@jit(fastmath=REASSOCIATE)
def sum_at(u, change, centre, s, rate, linear_term, epsilon, lower, upper):
    """Sum of the multipliers after a change of the bias, minus its slope, and the size of what was rounded in it."""
    total = 0.0
    slope = 0.0
    size = 0.0
    for i in range(u.shape[0]):
        step = s * rate[i]
        b = answer(-(u[i] + change + linear_term[i]), centre[i], step, epsilon[i], lower[i], upper[i])
        weight = step * ((b > lower[i]) & (b < upper[i]) & ((b != 0.0) | (epsilon[i] == 0.0)))
        total += b
        slope += weight
        size += abs(b) + weight * (abs(u[i] + change) + abs(linear_term[i]))
    return total, slope, size


@jit
def bias_change(u, centre, s, rate, linear_term, epsilon, lower, upper, change=0.0):
    """Change of the bias after which the multipliers sum to zero: the exact minimum over an unpenalised bias.

    The sum falls as the bias grows, piecewise linearly, from sum hi > 0 to sum lo < 0: Newton steps inside a bracket,
    from the given guess.
    """
    low, high = -np.inf, np.inf
    reach = 1.0
    for _ in range(BIAS_STEPS):
        total, slope, size = sum_at(u, change, centre, s, rate, linear_term, epsilon, lower, upper)
        if abs(total) <= ROUNDING * size:
            break
        if total > 0.0:
            low = change
        else:
            high = change
        target = change + total / slope if slope > 0.0 else np.inf
        if not low < target < high:
            if low == -np.inf:
                target = high - reach
            elif high == np.inf:
                target = low + reach
            else:
                target = 0.5 * (low + high)
            reach *= 2.0
        if target == change:
            break
        change = target
    return change


@jit
def line_minimum(u, q, slope0, linear, quadratic, free_bias, centre, s, rate, linear_term, epsilon, lower, upper):
    """Step t along q, and the change of the bias there: bracketed Newton from the full step.

    linear + t quadratic - sum q b(u + t q) is the derivative along q. An unpenalised bias is set to its minimum at
    every t, so that the search runs along the valley and not into its wall; by the envelope theorem the derivative
    stays the same sum. Ends where it is a tenth of `slope0`, the one at zero (a negative number).
    """
    t, low, high = 1.0, 0.0, np.inf
    bias = 0.0
    moved = np.empty(u.shape[0] if free_bias else 0)
    for _ in range(LINE_STEPS):
        if free_bias:
            for i in range(u.shape[0]):
                moved[i] = u[i] + t * q[i]
            bias = bias_change(moved, centre, s, rate, linear_term, epsilon, lower, upper, bias)
            for i in range(u.shape[0]):
                moved[i] += bias
            first, second, cross, mass = slope_along(moved, q, 0.0, centre, s, rate, linear_term, epsilon, lower, upper)
            if mass > 0.0:
                second -= cross * cross / mass
        else:
            first, second, _, _ = slope_along(u, q, t, centre, s, rate, linear_term, epsilon, lower, upper)
        derivative = linear + t * quadratic - first
        if abs(derivative) <= 0.1 * abs(slope0):
            break
        if derivative > 0.0:
            high = t
        else:
            low = t
        curvature = quadratic + second
        target = t - derivative / curvature if curvature > 0.0 else np.inf
        if not low < target < high:
            target = 0.5 * (low + high) if high < np.inf else 2.0 * t
        t = target
    return t, bias


@jit
def answers(u, centre, s, rate, linear_term, epsilon, lower, upper, out):
    """The multipliers of all samples."""
    for i in range(u.shape[0]):
        out[i] = answer(-(u[i] + linear_term[i]), centre[i], s * rate[i], epsilon[i], lower[i], upper[i])

"""Pair steps by several threads: the same steps as by one, whoever comes, and an end when somebody keeps the others
waiting."""

import threading
import time

import numpy as np
import pytest

from widemargin import SVC
from widemargin._jit import INTERPRETED
from widemargin.solvers import block, pair_team
from widemargin.solvers.packed import key_limits
from widemargin.solvers.pair_steps import solve_pairs
from widemargin.solvers.pair_team import LINE, Team, solve_together

pytestmark = pytest.mark.skipif(INTERPRETED, reason="without the compiler one thread makes all steps")


def problem(rng, n, kinked=False):
    """A block with variables on both bounds and inside, its gradient shifted to the middle."""
    X = rng.normal(size=(n, 3))
    K = np.exp(-0.5 * np.square(X[:, None] - X[None]).sum(axis=2)).astype(np.float32)
    hi = np.where(rng.random(n) < 0.5, 5.0, 0.0)
    lo = hi - 5.0
    if kinked:
        lo, hi = np.full(n, -5.0), np.full(n, 5.0)
    ridge = rng.uniform(0.0, 0.1, n)
    kink = rng.uniform(0.0, 0.3, n) * kinked
    f = rng.normal(size=n).astype(np.float32)
    return (K, f, np.zeros(n), lo, hi, kink, ridge), (np.diag(K) + ridge).astype(np.float32)


def copied(arguments):
    K, f, beta, *rest = arguments
    return (K, f.copy(), beta.copy(), *rest)


@pytest.mark.parametrize("kinked", [False, True])
@pytest.mark.parametrize("size", [1, 2, 3])
@pytest.mark.parametrize("most", [0, 1, 7, 400, 100_000])
def test_the_number_of_threads_changes_no_bit(rng, kinked, size, most):
    arguments, diagonal = problem(rng, 211, kinked)
    keys = key_limits(211, np.dtype(np.float32))
    alone, together = copied(arguments), copied(arguments)
    expected = solve_pairs(*alone, diagonal, np.array([0, 211]), 1e-3, most, *keys)
    team = Team(size)
    found = team.together(together, diagonal, 1e-3, most, keys, size)
    if not team.keeps_up:  # more threads than cores: whoever goes on finds everything as it should be
        more = solve_pairs(*together, diagonal, np.array([0, 211]), 1e-3, most - found[0], *keys)
        found = (found[0] + more[0], more[1], min(found[2], more[2]))
    assert found == expected
    np.testing.assert_array_equal(together[1], alone[1])
    np.testing.assert_array_equal(together[2], alone[2])
    if most == 100_000:
        assert found[1] <= 1e-3


def test_a_curvature_below_zero_is_told(rng):
    (K, *rest), _ = problem(rng, 60)
    K = K.copy()
    K[:30, 30:] = K[30:, :30] = 1.5
    diagonal, keys = np.diag(K).copy(), key_limits(60, np.dtype(np.float32))
    expected = solve_pairs(*copied((K, *rest)), diagonal, np.array([0, 60]), 1e-3, 300, *keys)
    assert expected[2] < 0.0
    found = Team(2).together(copied((K, *rest)), diagonal, 1e-3, 300, keys, 2)
    assert found == expected or found[2] < 0.0


def test_threads_that_come_too_late_are_not_waited_for(rng):
    arguments, diagonal = problem(rng, 100)
    keys = key_limits(100, np.dtype(np.float32))
    alone, here = copied(arguments), copied(arguments)
    expected = solve_pairs(*alone, diagonal, np.array([0, 100]), 1e-3, 500, *keys)
    door, board, outcome = np.zeros(1, np.int64), np.zeros(2 * 4 * LINE), np.zeros(4)
    shared = (diagonal, 1e-3, 500, *keys, 4, door, board.view(np.int64), board, outcome)
    solve_together(*here, *shared)  # three more were expected
    assert (int(outcome[0]), outcome[1]) == expected[:2] and outcome[3] == 0.0
    kept = here[1].copy()
    solve_together(*here, *shared)  # and now one comes
    np.testing.assert_array_equal(here[1], kept)


def test_all_leave_when_one_keeps_the_others_waiting(rng):
    """The test plays thread 0, which answers a hundred times later than a meeting may take."""
    arguments, diagonal = problem(rng, 400)
    keys = key_limits(400, np.dtype(np.float32))
    door, board, outcome = np.ones(1, np.int64), np.zeros(2 * 2 * LINE), np.zeros(4)
    words = board.view(np.int64)
    words[pair_team.COUNT] = 2  # the door is closed, and two are inside
    shared = (diagonal, 1e-6, 10_000, *keys, 2, door, words, board, outcome)
    other = threading.Thread(target=solve_together, args=(*copied(arguments), *shared))
    other.start()
    nothing = np.array([0.0, 2.0**31 - 1, 0.0, -1e30, 0.0, 0.0])  # a key no scan can give, no slope that can fall
    for phase in range(1, 2000):
        time.sleep(0.002)
        line = (phase & 1) * 2 * LINE
        board[line + 1 : line + 6] = nothing[1:]
        board[line + pair_team.KEY] *= 1 - (phase & 1)  # lowest slopes are looked for in even phases
        words[line] = phase
        if not other.is_alive():
            break
    other.join(10.0)
    assert not other.is_alive() and phase < 200


def test_a_team_that_did_not_keep_up_is_not_asked_again(rng):
    arguments, _ = problem(rng, 2000)
    team = Team(2)
    one_group = np.array([0, 2000])
    assert team.size(arguments[0], one_group) == 2
    assert team.size(arguments[0], np.array([0, 1000, 2000])) == 1  # steps of two groups are made by one thread
    assert team.size(arguments[0].astype(np.float64), one_group) == 1
    assert team.size(arguments[0][:500, :500], one_group) == 1
    team.keeps_up = False
    assert team.size(arguments[0], one_group) == 1


def test_a_fit_goes_on_alone_after_the_team_has_left(rng, monkeypatch):
    """The steps of a call that ended early are made up for, and the answer is the same."""
    X, y = rng.normal(size=(2600, 4)), rng.integers(0, 2, 2600)
    expected = SVC(C=10.0, n_jobs=1).fit(X, y)
    asked = []

    def leaves_after_ten(self, arguments, diagonal, tol, most, keys, size):
        asked.append(most)
        self.keeps_up = False
        return solve_pairs(*arguments, diagonal, np.array([0, len(diagonal)]), tol, min(10, most), *keys)

    monkeypatch.setattr(Team, "together", leaves_after_ten)
    monkeypatch.setattr(pair_team, "SHARE", 100)
    monkeypatch.setattr(block, "Team", lambda n_threads: Team(2))
    found = SVC(C=10.0, n_jobs=1).fit(X, y)
    assert len(asked) == 1
    assert found.certificate_.holds and found.certificate_.iterations == expected.certificate_.iterations
    np.testing.assert_array_equal(found.dual_coef_, expected.dual_coef_)

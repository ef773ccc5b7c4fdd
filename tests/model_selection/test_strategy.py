"""Which cells a search tries next, on tables of scores written by hand."""

import numpy as np
import pytest

from widemargin.model_selection.strategy import (
    MAX_EXTENSIONS,
    Axis,
    End,
    around,
    best,
    beyond,
    coarse,
    next_round,
    one_se,
    open_ends,
)

C = Axis("C", (1.0, 10.0, 100.0))
GAMMA = Axis("gamma", (0.1, 1.0))
AXES = (C, GAMMA)


def table(rows, axes=AXES, spread=0.0):
    """Scores of two folds around the given means; rows are values of C, columns of gamma; None was not tried."""
    return {
        (c, g): np.array([score - spread, score + spread])
        for c, row in zip(axes[0].values, rows)
        for g, score in zip(axes[1].values, row)
        if score is not None
    }


def played(axes, function):
    """Play a search to its end on a function of the candidate; the rounds, and the table."""
    scores, rounds = {}, []
    while True:
        found = next_round(axes, scores)
        rounds.append(found)
        new = [one for one in found.candidates if one not in scores]
        if not new:
            return rounds, scores
        scores |= {one: np.full(3, function(*one)) for one in new}


def test_the_best_cell_is_the_simplest_of_equals():
    scores = table([[0.8, 0.9], [0.9, 0.9], [0.9, 0.7]])
    assert best(AXES, scores) == (1.0, 1.0)
    assert best(AXES, table([[np.nan, 0.2], [0.1, 0.1], [None, None]])) == (1.0, 1.0)
    assert best(AXES, {}) is None and best(AXES, table([[np.nan] * 2] * 3)) is None
    three = (C, Axis("epsilon", (0.1, 0.2)))
    assert best(three, table([[0.5, 0.5], [0.1, 0.1], [0.1, 0.1]], three)) == (1.0, 0.2)  # the wider tube


def test_one_se_takes_the_smallest_C_then_gamma_within_one_standard_error():
    """Folds at mean -+ 0.03 have a standard error of 0.03."""
    scores = table([[0.80, 0.86], [0.88, 0.90], [0.87, 0.89]], spread=0.03)
    assert best(AXES, scores) == (10.0, 1.0)
    assert one_se(AXES, scores) == (10.0, 0.1)
    assert one_se(AXES, table([[0.80, 0.875], [0.88, 0.90], [0.87, 0.89]], spread=0.03)) == (1.0, 1.0)
    assert one_se(AXES, table([[0.80, 0.875], [0.88, 0.90], [0.87, 0.89]], spread=0.0)) == (10.0, 1.0)
    assert one_se(AXES, {}) is None


@pytest.mark.parametrize(
    ("rows", "ends"),
    [
        ([[0.1, 0.1], [0.9, 0.9], [0.1, 0.1]], []),
        ([[0.9, 0.8], [0.8, 0.8], [0.1, 0.1]], [End(0, -1), End(1, -1)]),
        ([[0.1, 0.1], [0.1, 0.1], [0.1, 0.9]], [End(0, 1), End(1, 1)]),
        ([[0.9, 0.9], [0.9, 0.9], [0.9, 0.9]], []),  # a plateau has no edge
        ([[0.9, 0.9], [0.9, 0.1], [0.1, 0.1]], []),
    ],
)
def test_an_end_is_open_only_where_it_is_strictly_better(rows, ends):
    assert open_ends(AXES, table(rows)) == ends


def test_a_gain_within_chance_is_no_edge():
    """Folds at mean -+ 0.03 have a standard error of 0.03; a tenth of it does not count."""
    rows = [[0.8, 0.8], [0.8, 0.8], [0.8, 0.804]]
    assert open_ends(AXES, table(rows, spread=0.0)) == [End(0, 1), End(1, 1)]
    assert open_ends(AXES, table(rows, spread=0.03)) == [End(0, 1), End(1, 1)]
    assert open_ends(AXES, table(rows, spread=0.05)) == []


def test_cells_beyond_an_edge_lie_beside_the_best_cell():
    axes = (C, Axis("gamma", (0.01, 0.1, 1.0, 10.0)))
    tried = coarse(axes)
    assert beyond(axes, tried, (100.0, 0.1), [End(0, 1)]) == [(1000.0, 0.01), (1000.0, 0.1), (1000.0, 1.0)]
    corner = beyond(axes, tried, (1.0, 10.0), [End(0, -1), End(1, 1)])
    assert sorted(corner) == [(0.1, 10.0), (0.1, 100.0), (1.0, 100.0)]


def test_neighbours_at_half_the_step():
    cells = around(AXES, (10.0, 1.0), 0.5)
    assert len(cells) == 9 and (10.0, 1.0) in cells
    assert {c for c, _ in cells} == {3.16, 10.0, 31.6} == {g * 10 for _, g in cells}
    fixed = (C, Axis("gamma", (0.1, 1.0), is_free=False))
    assert around(fixed, (10.0, 1.0), 0.5) == [(3.16, 1.0), (10.0, 1.0), (31.6, 1.0)]
    line = (C, Axis("epsilon", (0.1, 0.4, 1.6), along_best=True))
    assert around(line, (10.0, 0.4), 0.5) == [(3.16, 0.4), (10.0, 0.4), (31.6, 0.4), (10.0, 0.2), (10.0, 0.8)]


def test_a_peak_inside_is_refined_and_not_extended():
    def peak(c, gamma):
        return 1.0 - (np.log10(c) - 1.3) ** 2 - (np.log10(gamma) + 0.4) ** 2

    rounds, scores = played((C, Axis("gamma", (0.01, 0.1, 1.0, 10.0))), peak)
    assert [one.stage for one in rounds] == ["coarse", "refine", "refine", "done"]
    assert len(scores) == 12 + 8 + 8 and rounds[-1].extensions == {}
    found = best(AXES, scores)
    assert found[0] == pytest.approx(10**1.3, rel=0.4) and found[1] == pytest.approx(10**-0.4, rel=0.4)


def test_a_slope_is_followed_until_the_extensions_are_used_up():
    rounds, scores = played(AXES, lambda c, gamma: np.log10(c))
    assert [one.stage for one in rounds][:4] == ["coarse", "extend", "extend", "extend"]
    assert rounds[-1].extensions == {End(0, 1): MAX_EXTENSIONS}
    assert (100_000.0, 0.1) in scores and (1_000_000.0, 0.1) not in scores
    assert End(0, 1) in open_ends(AXES, scores)


def test_a_peak_outside_is_found_by_extension():
    rounds, scores = played(AXES, lambda c, gamma: -abs(np.log10(c) - 3.0) - abs(np.log10(gamma)))
    assert best(AXES, scores) == (1000.0, 1.0)
    assert rounds[-1].extensions[End(0, 1)] == 2 and End(0, -1) not in rounds[-1].extensions
    assert open_ends(AXES, scores) == []


def test_a_refinement_without_gain_is_the_last():
    rounds, scores = played(AXES, lambda c, gamma: float((c, gamma) == (10.0, 0.1)) - 1e-6 * abs(np.log10(gamma) + 1))
    assert [one.stage for one in rounds][-2:] == ["refine", "done"]
    assert sum(one.stage == "refine" for one in rounds) == 1


def test_values_that_are_given_are_searched_as_they_are():
    axes = (C._replace(is_free=False), GAMMA._replace(is_free=False))
    rounds, scores = played(axes, lambda c, gamma: c + gamma)
    assert [one.stage for one in rounds] == ["coarse", "done"] and list(scores) == coarse(axes)


def test_epsilon_is_searched_along_the_best_cell_only():
    axes = (C, GAMMA, Axis("epsilon", (0.1, 0.4, 1.6), along_best=True))
    rounds, scores = played(axes, lambda c, gamma, eps: -abs(np.log10(c) - 1.0) - gamma - 0.01 * abs(np.log(eps / 0.4)))
    assert rounds[0].candidates == [(c, g, 0.4) for c in C.values for g in GAMMA.values]
    assert rounds[1].stage == "line" and rounds[1].candidates == [(10.0, 0.1, e) for e in (0.1, 0.4, 1.6)]


def test_a_table_that_was_cut_continues_where_it_ended():
    def peak(c, gamma):
        return 1.0 - (np.log10(c) - 1.3) ** 2 - (np.log10(gamma) + 0.4) ** 2

    whole, scores = played(AXES, peak)
    cells = list(scores)
    for cut in (0, 3, len(coarse(AXES)), len(coarse(AXES)) + 2, len(cells)):
        part = {one: scores[one] for one in cells[:cut]}
        while missing := [one for one in next_round(AXES, part).candidates if one not in part]:
            part |= {one: np.full(3, peak(*one)) for one in missing}
        assert list(part) == cells


def test_failed_cells_are_passed_over():
    rounds, scores = played(AXES, lambda c, gamma: np.nan if c > 10 else c)
    assert best(AXES, scores)[0] == 10.0
    assert played(AXES, lambda c, gamma: np.nan)[0][-1].stage == "done"

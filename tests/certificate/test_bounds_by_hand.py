"""The terms of a certificate on problems of one to four variables, against values worked out by hand."""

from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest

from widemargin.certificate import certify_function, combine
from widemargin.certificate.bounds import (
    COMPUTED,
    FEASIBILITY,
    LARGEST,
    SMALLEST,
    TINY,
    Numbers,
    Point,
    doubtful_slopes,
    evaluate_point,
    gap_at,
    loss_excess,
    mending_cost,
    safe_hard_scale,
    summarise,
)
from widemargin.certificate.certificate import FACTS, Certificate, CertificateTable
from widemargin.certificate.in_memory import certify_point, takes
from widemargin.certificate.prove import samples_in_doubt
from widemargin.gram.scores import Scores
from widemargin.kernels.errors import UNIT, ErrorTerms
from widemargin.monitor.status import Status
from widemargin.problems.dual import SignedDual
from widemargin.problems.optimality import FREE, FREE_SUM, HIGHEST, LOWEST

INF = np.inf
ROUNDING = 1e-12  # relative: more than all roundings of these small problems, far less than any slip


def close(value):
    return pytest.approx(value, rel=ROUNDING, abs=1e-300)


def dual_of(linear_term, lower, upper, **more):
    arrays = (np.array(values, float) for values in (linear_term, lower, upper))
    return SignedDual(*arrays, **{name: np.array(v, float) if name != "n_groups" else v for name, v in more.items()})


def point_of(beta, Kb, error=None):
    return Point(np.array(beta, float), np.array(Kb, float), np.zeros(len(beta)) if error is None else np.array(error))


def numbers_of(**changed):
    return Numbers(**dict.fromkeys(Numbers._fields, 0.0) | changed)


# ---- phi = max g - g(b), g(b) = v b - D b^2 / 2 - epsilon |b|


@pytest.mark.parametrize("mirror", [1.0, -1.0])
@pytest.mark.parametrize(
    ("v", "b", "lower", "upper", "diagonal", "epsilon", "phi"),
    [
        (3.0, 0.0, 0.0, 2.0, 0.0, 0.0, 6.0),
        (3.0, 1.0, 0.0, 2.0, 0.0, 0.0, 3.0),
        (3.0, 2.0, 0.0, 2.0, 0.0, 0.0, 0.0),
        (-3.0, 1.0, 0.0, 2.0, 0.0, 0.0, 3.0),
        (-3.0, 0.0, 0.0, INF, 0.0, 0.0, 0.0),
        (0.0, 1.0, 0.0, 2.0, 0.0, 0.0, 0.0),
        (3.0, 0.0, -2.0, 2.0, 0.0, 1.0, 4.0),
        (3.0, 1.0, -2.0, 2.0, 0.0, 1.0, 2.0),
        (3.0, -1.0, -2.0, 2.0, 0.0, 1.0, 8.0),
        (0.5, 1.0, -2.0, 2.0, 0.0, 1.0, 0.5),
        (0.5, -1.0, -2.0, 2.0, 0.0, 1.0, 1.5),
        (1.0, 0.0, -2.0, 2.0, 0.0, 1.0, 0.0),  # a slope of epsilon is flat
        (3.0, 0.0, 0.0, INF, 2.0, 0.0, 2.25),
        (3.0, 1.0, 0.0, INF, 2.0, 0.0, 0.25),
        (3.0, 4.0, 0.0, INF, 2.0, 0.0, 6.25),
        (3.0, 0.0, 0.0, 1.0, 2.0, 0.0, 2.0),
        (3.0, 0.5, 0.0, 1.0, 2.0, 0.0, 0.75),
        (3.0, 0.0, -INF, INF, 2.0, 1.0, 1.0),
        (3.0, 2.0, -INF, INF, 2.0, 1.0, 1.0),
        (3.0, -1.0, -INF, INF, 2.0, 1.0, 6.0),
        (-3.0, 2.0, 0.0, INF, 2.0, 0.0, 10.0),
    ],
)
def test_loss_excess(v, b, lower, upper, diagonal, epsilon, phi, mirror):
    ends = (lower, upper) if mirror > 0 else (-upper, -lower)
    assert loss_excess(mirror * v, mirror * b, *ends, diagonal, epsilon) == close(phi)


# ---- one point


def test_thresholds_and_numbers_of_a_point():
    """Hinge with C = 2 and K b = (0.5, -0.5, 1), known up to 0.125: slopes f = K b + c, c = -y."""
    dual = dual_of([-1.0, 1.0, -1.0], [0.0, -2.0, 0.0], [2.0, 0.0, 2.0])
    point = point_of([1.0, -1.0, 0.0], [0.5, -0.5, 1.0], [0.125, 0.125, 0.25])
    tables, numbers = evaluate_point(dual.terms, point, 4.0)
    assert tables.shape == (3, 1, 4)
    expected = {COMPUTED: (-0.5, 0.5), LARGEST: (-0.625, 0.625), SMALLEST: (-0.375, 0.375)}
    for kind, (lowest, highest) in expected.items():
        assert tables[kind, 0, LOWEST] == close(lowest) and tables[kind, 0, HIGHEST] == close(highest)
        assert tables[kind, 0, FREE] == 2 and tables[kind, 0, FREE_SUM] == close(0.0)
    assert numbers.value == close(1.5)  # -(0.5 * 0.5 - 1) - (0.5 * 0.5 - 1)
    assert numbers.squared_length == close(1.0)
    assert numbers.length_error == close(0.25) and numbers.value_error == close(0.125)
    assert numbers.infeasibility == 0.0 == numbers.unbalanced == numbers.mending


@np.errstate(invalid="ignore")  # not said by compiled code
def test_a_value_that_is_not_finite_leaves_no_threshold_and_no_feasibility():
    dual = dual_of([-1.0, 1.0], [0.0, -2.0], [2.0, 0.0])
    for Kb in (INF, -INF, np.nan):
        tables, numbers = evaluate_point(dual.terms, point_of([1.0, -1.0], [Kb, 0.0]), 1.0)
        assert np.isnan(tables[:, :, FREE_SUM]).all() and numbers.infeasibility == INF


def test_excess_over_the_box_and_sums_that_are_off():
    dual = dual_of([-1.0, 1.0], [0.0, -2.0], [2.0, 0.0])
    _, outside = evaluate_point(dual.terms, point_of([2.5, -2.5], [0.0, 0.0]), 1.0)
    assert outside.infeasibility == close(0.2) and outside.mending == INF
    _, off = evaluate_point(dual.terms, point_of([1.5, -1.0], [0.0, 0.0]), 4.0)
    assert off.unbalanced == close(0.5) and off.infeasibility == close(0.2)
    assert off.mending == close(0.5 * 1.0 + 0.5 * 4.0 * 0.25)  # |f| = 1 along the way, K_tt <= 4


def test_what_underflow_may_take_is_counted():
    _, numbers = evaluate_point(dual_of([0.0] * 3, [0.0] * 3, [1.0] * 3).terms, point_of([0.0] * 3, [0.0] * 3), 1.0)
    assert numbers.length_error >= 12 * TINY and numbers.value_error >= 12 * TINY


def test_roundings_of_the_value_are_counted():
    """Three variables, each of them with |b| (|K b| + |c|) = 1.5, and one rounding of each addition at least."""
    dual = dual_of([-1.0, 1.0, -1.0], [0.0, -2.0, 0.0], [2.0, 0.0, 2.0])
    _, numbers = evaluate_point(dual.terms, point_of([1.0, -1.0, 1.0], [0.5, -0.5, 0.5]), 1.0)
    assert 3 * UNIT * 4.5 <= numbers.value_error <= 1e-14 and 3 * UNIT * 4.5 <= numbers.length_error <= 1e-14


def test_a_sum_whose_corrections_round_as_well():
    beta = [1.0, 2.0**-60, 2.0**-120, -1.0]
    dual = dual_of([0.0] * 4, [-2.0] * 4, [2.0] * 4)
    _, numbers = evaluate_point(dual.terms, point_of(beta, [0.0] * 4), 1.0)
    assert sum(map(Fraction, beta)) <= Fraction(numbers.unbalanced) <= Fraction(2.0**-60) * Fraction(1001, 1000)


def test_mending_takes_the_variable_of_least_slope_with_room():
    dual = dual_of([3.0, 1.0, -2.0], [0.0] * 3, [1.0] * 3, diagonal=[0.0, 0.0, 2.0])
    point = point_of([0.5, 0.1, 1.0], [0.0] * 3)
    assert mending_cost(0.25, dual.terms, point, 0) == close(0.5)  # of the third: |-2 + 2 b| = 0, D |change| = 0.5
    assert mending_cost(0.05, dual.terms, point, 0) == close(0.1)
    assert mending_cost(-0.25, dual.terms, point, 0) == close(1.0)  # the third is at its upper bound
    assert mending_cost(-0.95, dual.terms, point, 0) == INF
    assert mending_cost(0.0, dual.terms, point, 0) < 1e-14


# ---- gap


def test_gap_of_one_variable():
    """v = r - c - s K b = 0.25 + 1 - 0.5: a multiplier of 1 in [0, 2] is 0.75 from the best one, 1 at v + 0.25."""
    dual, excess = dual_of([-1.0], [0.0], [2.0]), np.empty(1)
    point = point_of([1.0], [0.5], [0.25])
    bound, computed = gap_at(dual.terms, point, np.array([0.25]), 1.0, numbers_of(), excess)
    assert (bound, computed, excess[0]) == (close(1.0), close(0.75), close(0.25))
    numbers = numbers_of(squared_length=3.0, length_error=1.0, unbalanced=0.5)
    bound, computed = gap_at(dual.terms, point, np.array([0.25]), 0.5, numbers, excess)
    # v = 1 with an error of 0.125; (1 - s)^2 / 2 = 0.125 times 3 + 1; |r| times 0.5
    assert (bound, computed) == (close(1.125 + 0.5 + 0.125), close(1.0 + 0.375))


def test_the_width_of_the_tube_is_part_of_the_rounding():
    dual = dual_of([0.0], [-1.0], [1.0], epsilon=[1.0])
    bound, computed = gap_at(dual.terms, point_of([1.0], [0.0]), np.zeros(1), 1.0, numbers_of(), np.empty(1))
    assert computed == 1.0 < bound == close(1.0)


def test_no_group_means_a_threshold_of_zero():
    dual = dual_of([-1.0], [0.0], [2.0], n_groups=0)
    assert gap_at(dual.terms, point_of([0.0], [0.5]), np.zeros(0), 1.0, numbers_of(), np.empty(1))[1] == close(1.0)


def test_a_scale_that_hard_margins_allow():
    """y = +1 and y = -1 with infinite boxes: s (K b - r) >= 1, and <= -1 on the other side."""
    dual = dual_of([-1.0, 1.0], [0.0, -INF], [INF, 0.0])
    for Kb, r, scale, expected in [
        ([2.0, -4.0], 0.0, 0.125, 0.5),
        ([2.0, -4.0], 0.0, 1.0, 1.0),
        ([4.0, -2.0], 0.0, 0.125, 0.5),
        ([5.0, -3.0], 1.0, 0.125, 0.25),
        ([1.0, -4.0], 1.0, 0.125, 0.0),  # on the boundary: no scale is enough
        ([-1.0, -4.0], 0.0, 0.125, 0.0),
    ]:
        assert safe_hard_scale(dual.terms, point_of([0.0, 0.0], Kb), np.array([r]), scale) == close(expected)
    far = dual_of([-2.0], [0.0], [INF])
    assert safe_hard_scale(far.terms, point_of([0.0], [4.0]), np.zeros(1), 0.125) == close(0.5)
    two_groups = SignedDual(
        *(np.array(one) for one in ([-1.0, -1.0], [0.0, 0.0], [INF, INF])), group=np.array([0, 1]), n_groups=2
    )
    assert safe_hard_scale(two_groups.terms, point_of([0.0, 0.0], [2.0, 5.0]), np.array([0.0, 4.0]), 0.125) == close(
        1.0
    )
    soft = dual_of([-1.0, 1.0], [0.0, -INF], [INF, 0.0], diagonal=[1.0, 1.0])
    assert safe_hard_scale(soft.terms, point_of([0.0, 0.0], [-1.0, 1.0]), np.zeros(1), 0.125) == 0.125
    tube = dual_of([-1.0], [0.0], [INF], epsilon=[0.5])
    assert safe_hard_scale(tube.terms, point_of([0.0], [2.0], [0.5]), np.zeros(1), 0.125) == close(1.0 / 3.0)


@pytest.mark.parametrize(("n_groups", "reach"), [(1, 0.5), (0, 1.0)])
def test_slopes_in_doubt(n_groups, reach):
    """tol = 1 about a midpoint of zero: samples at 0 may rise, those at 1 may fall, and the last one both."""
    f = [reach + 0.1, -reach + 0.1, -reach - 0.1, reach - 0.1, reach + 0.1, -9.0, 0.0, 0.0]
    b = [0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 0.0, 0.5]
    dual = dual_of(f, [0.0] * 8, [1.0] * 8, n_groups=n_groups)
    table = np.array([[-0.5, 0.5, 0.0, 0.0]])
    for error, expected in [
        (0.0, [0, 0, 1, 0, 1, 0, 0, 0]),
        (0.2, [0, 1, 1, 1, 1, 0, 0, 0]),
        (reach, [0, 1, 1, 1, 1, 0, 0, 0]),  # the last two are at the very end, and their slopes are exact
        (reach + 0.1, [0, 1, 1, 1, 1, 0, 1, 1]),
    ]:
        found = doubtful_slopes(dual.terms, point_of(b, [0.0] * 8, [error] * 8), table, 1.0)
        assert found.tolist() == [bool(one) for one in expected]


@pytest.mark.parametrize(
    ("criterion", "tol", "expected"),
    [("kkt", 1.2, []), ("kkt", 1.05, [0]), ("kkt", 0.8, []), ("gap", 0.4, []), ("gap", 0.3, [0])],
)
def test_samples_in_doubt(criterion, tol, expected):
    """Slopes -1/2 and 1/2, the first up to 1/8: a violation between 7/8 and 9/8.

    Primal 2 at s = 2 and dual 3/2, up to 1/16: the gap is at most 1/2 (1 + 1/8) + 2/8 = 13/16, relative to
    23/16 + 13/16: 0.361, and 0.25 without the error.
    """
    dual = dual_of([-1.0, 1.0], [0.0, -2.0], [2.0, 0.0])
    scores = Scores(np.array([0.5, -0.5]), np.array([0.125, 0.0]))
    assert samples_in_doubt(dual, np.array([1.0, -1.0]), scores, tol, criterion).tolist() == expected


def test_facts_of_a_certificate():
    facts = np.empty(len(FACTS))
    numbers = numbers_of(value=10.0, value_error=1.0, mending=0.5, infeasibility=1e-12)
    summarise(0.1, 0.05, 2.0, numbers, facts)
    assert facts[:7].tolist() == close([13.0, 8.5, 2.0 / 11.0, 10.0, 0.1, 0.05, 1e-12])
    summarise(0.1, 0.05, 0.0, numbers_of(), facts)
    assert facts[2] == 0.0
    summarise(0.1, 0.05, 2.0, numbers_of(value=-0.5, value_error=1.0), facts)
    assert facts[2] == 2.0 and facts[1] == -1.5
    summarise(0.1, 0.05, 1.8, numbers_of(value=0.1, value_error=1.0), facts)  # dual -0.9 and primal 0.9 are possible
    assert facts[2] == 2.0
    summarise(0.1, 0.05, 3.0, numbers_of(value=0.0), facts)
    assert facts[2] == close(1.0)
    summarise(0.1, 0.05, INF, numbers_of(value=1.0, mending=INF), facts)
    assert facts[:3].tolist() == [INF, -INF, INF] and facts[6] == close(2.0 * FEASIBILITY)
    summarise(0.1, 0.05, np.nan, numbers_of(value=np.nan), facts)
    assert facts[0] == INF and facts[1] == -INF


# ---- rows in memory


def certified(rows, errors, beta, incremental=(0.0, 0.0)):
    """The point with K b summed from all rows, and the facts by name; y = (1, -1), C = 2, k(x, x) = 4."""
    dual, point, facts = dual_of([-1.0, 1.0], [0.0, -2.0], [2.0, 0.0]), point_of(beta, [9.0, 9.0]), np.empty(len(FACTS))
    certify_point(
        np.array(rows), np.arange(2), errors, dual.terms, point, np.full(2, 4.0), np.array(incremental), facts
    )
    return point, dict(zip(FACTS, facts.tolist(), strict=True))


@pytest.mark.parametrize(("size", "units"), [([2.0, 3.0], (6.0, 9.0)), ([INF, INF], (5.0, 7.5))])
def test_rows_are_summed_with_their_errors(size, units):
    """b = 1/4 times the row (2, 3): (1 + 5) u |k_t| |k_s| |b|, or (2 + 8) u |b| |k_ts| where sizes are not known."""
    left, right, rows = np.array([[1.0], [10.0]]), np.array([[0.1], [0.2]]), [[2.0, 3.0], [3.0, 5.0]]
    for factor in (0.0, 1.0):
        point, facts = certified(rows, ErrorTerms(factor * left, right, np.array(size)), [0.25, 0.0], (0.5, 0.625))
        assert point.Kb.tolist() == [0.5, 0.75]
        expected = np.array(units) * UNIT + factor * left[:, 0] * 0.025
        assert (point.error >= expected).all() and (point.error <= 1.03 * expected).all()
        assert (facts["rounding"], facts["drift"]) == (point.error[1], 0.125)
        assert (facts["n_support"], facts["n_free"]) == (1, 1)
        assert facts["objective"] == close(0.25 * (1.0 - 0.25)) and facts["computed"] == close(1.75 + 0.5)
        assert facts["infeasibility"] == close(1.0)  # the sum is off by all that there is
    point, facts = certified(rows, ErrorTerms(left, right, np.array(size)), [0.0, 0.0])
    assert point.Kb.tolist() == [0.0, 0.0] == point.error.tolist()
    assert facts["rounding"] == facts["drift"] == facts["n_support"] == facts["n_free"] == 0.0


def test_a_negative_square_within_its_error_is_no_refutation():
    """K = -0.0005 I, b = (1, -1): b'K b = -0.001, known up to 4 times the error of a value."""
    for error, is_refuted in [(0.0002, True), (0.0003, False)]:
        errors = ErrorTerms(np.full((2, 1), error), np.ones((2, 1)), np.zeros(2))
        _, facts = certified([[-0.0005, 0.0], [0.0, -0.0005]], errors, [1.0, -1.0])
        assert (facts["primal"] == INF) == is_refuted
        assert facts["objective"] == close(2.0 + 0.0005)
        scores = Scores(np.array([-0.0005, 0.0005]), np.full(2, 2.0 * error))
        general = certify_function(dual_of([-1.0, 1.0], [0.0, -2.0], [2.0, 0.0]), np.array([1.0, -1.0]), scores, 1e-3)
        assert (general.primal == INF) == is_refuted


def test_the_primal_is_taken_at_its_best_scale():
    """K = I / 4, b = (1, -1): 1/4 s^2 + 4 (1 - s / 4) is least at s = 2, where it is 3."""
    errors = ErrorTerms(np.zeros((2, 1)), np.zeros((2, 1)), np.ones(2))
    _, facts = certified([[0.25, 0.0], [0.0, 0.25]], errors, [1.0, -1.0])
    assert facts["primal"] == pytest.approx(3.0, rel=1e-3) and facts["objective"] == close(1.75)


def test_which_problems_are_certified_from_rows():
    gram, soft = SimpleNamespace(store="rows"), dual_of([-1.0, 1.0], [0.0, -2.0], [2.0, 0.0])
    assert takes(soft, gram, "kkt")
    assert not takes(soft, gram, "gap") and not takes(soft, SimpleNamespace(store=None), "kkt")
    assert not takes(dual_of([-1.0, 1.0], [0.0, -INF], [INF, 0.0]), gram, "kkt")
    assert not takes(dual_of([-1.0], [0.0], [2.0], n_groups=0), gram, "kkt")
    assert not takes(dual_of([], [], []), gram, "kkt")


# ---- many certificates


def table_of(rows, **about):
    facts = np.zeros((len(rows), len(FACTS)))
    for row, given in zip(facts, rows, strict=True):
        for name, value in given.items():
            row[FACTS.index(name)] = value
    about = {"tol": 1e-3, "is_psd": True, "status": Status.OPTIMAL, "rows_computed": 0, "seconds": 0.5} | about
    return CertificateTable(facts, np.zeros(len(rows)), np.array([3, 4]), about, shared_rows=7)


def test_a_table_holds_if_all_of_its_rows_do():
    edge = {"infeasibility": FEASIBILITY, "violation": 1e-3}
    assert table_of([edge, {}]).all_hold
    assert not table_of([edge, {"infeasibility": 1.001 * FEASIBILITY}]).all_hold
    assert not table_of([{"violation": 1.001e-3}, edge]).all_hold
    assert not table_of([edge, {}], status=Status.INDEFINITE).all_hold
    assert table_of([edge, {"primal": INF}]).all_hold
    assert not table_of([edge, {"primal": INF}], is_psd=False).all_hold
    assert all(table[k].holds for table in (table_of([edge, {}]),) for k in range(2))


@pytest.mark.parametrize(("criterion", "first"), [("kkt", "largest KKT violation"), ("gap", "relative gap")])
def test_what_has_to_be_small_is_printed_first(criterion, first):
    lines = str(Certificate(1.0, 1.0, 0.25, 0.5, 0.0, 1e-3, criterion=criterion)).splitlines()
    assert lines[1].startswith(first) and {lines[1][:12], lines[2][:12]} == {"largest KKT ", "relative gap"}


def test_combined_costs_are_sums():
    both = combine(table_of([{"primal": 1.0, "drift": 0.25}, {"primal": 2.0, "drift": np.nan}]))
    assert (both.primal, both.iterations, both.rows_computed, both.seconds, both.drift) == (3.0, 7, 7, 1.0, 0.25)
    one = Certificate(1.0, 1.0, 0.0, 0.0, 0.0, 1e-3, rows_computed=5)
    assert combine([one, one]).rows_computed == 10

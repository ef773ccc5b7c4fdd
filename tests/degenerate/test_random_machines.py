"""Machines drawn at random: any kernel, any C over eight decades, few samples, equal samples, zero weights, no bias."""

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.oracles import KERNELS, MACHINES, GivenMatrix, noisy_scores, solve_qp, values_at
from tests.samples import train_one
from widemargin.monitor.status import Status
from widemargin.problems.fixed_bias import without_bias

TOL = 1e-4


@settings(max_examples=100)
@given(
    seed=st.integers(0, 2**32 - 1),
    machine=st.sampled_from(sorted(MACHINES)),
    kernel=st.sampled_from(sorted(KERNELS)),
    n=st.integers(4, 60),
    features=st.integers(1, 5),
    exponent=st.floats(-3, 5),
    rounded=st.booleans(),
    weighted=st.booleans(),
    bias=st.booleans(),
)
def test_answer_certificate_and_oracle_agree(seed, machine, kernel, n, features, exponent, rounded, weighted, bias):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, features))
    X = np.round(X) if rounded else X  # on a grid many samples are equal
    weight = rng.choice([0.0, 0.5, 1.0, 3.0], n) if weighted else np.ones(n)
    target = noisy_scores(X, rng) if X.std() > 0 else rng.normal(size=n)
    assume(np.isfinite(target).all())
    try:
        dual = MACHINES[machine](target, weight if machine == "nu_classification" else weight * 10.0**exponent)
    except ValueError:  # nu too large for the smaller class
        assume(False)
    dual = dual if bias else without_bias(dual)
    K = KERNELS[kernel][1](X, X)
    trained = train_one(GivenMatrix(K), None, dual, tol=TOL, time_limit=60.0)
    beta, certificate = trained.solution.beta, trained.certificate
    here = values_at(dual, K, beta)
    total = np.abs(beta).sum()
    assert trained.solution.status is Status.OPTIMAL and certificate.holds
    assert here.violation <= TOL * (1 + 1e-6)
    assert here.infeasibility <= 1e-9 * total
    rounding = 1e-13 * (total**2 * np.abs(K).max() + total * np.abs(dual.linear_term).max(initial=0.0))
    assert certificate.primal - certificate.dual >= -rounding
    best, _ = solve_qp(dual, K)
    assert here.objective - best <= TOL * total + 1e-6 * abs(best) + 1e-9  # what a violation of TOL allows

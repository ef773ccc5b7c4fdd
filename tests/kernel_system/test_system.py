"""Solutions of (K + D) a = y and the bounds that come with them, against dense solves."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.oracles import GivenMatrix
from widemargin.kernels import Gaussian, Laplacian, Linear
from widemargin.monitor.status import Status
from widemargin.solvers.kernel_system.conjugate_gradient import descend
from widemargin.solvers.kernel_system.preconditioner import PartialFactor, Preconditioner
from widemargin.training.kernel_system import KernelSystem, NotPositiveDefinite, SystemRule


def problem(n=200, d=3, m=1, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, np.sin(X[:, :1]) + 0.1 * rng.normal(size=(n, m)), rng.uniform(0.01, 0.3, n)


@pytest.mark.parametrize("solver", ["cholesky", "cg", "plain-cg", "auto"])
@pytest.mark.parametrize("kernel", [Gaussian(0.5), Laplacian(0.3), Linear()], ids=str)
def test_all_ways_reach_the_dense_solution(kernel, solver):
    X, y, noise = problem(m=3)
    tol = 1e-8 if isinstance(kernel, Linear) else 1e-10  # rounding errors of its larger values leave less to prove
    solved = KernelSystem(kernel, X, n_jobs=2).solve(noise, y, SystemRule(tol), solver)
    A = kernel(X) + np.diag(noise)
    exact = np.linalg.solve(A, y)
    assert solved.certificate.holds
    np.testing.assert_allclose(kernel(X) @ solved.coefficients, kernel(X) @ exact, rtol=0, atol=10 * tol)
    Q = np.einsum("ij,ij->j", y, exact)
    assert (solved.certificate.lower <= Q * (1 + 1e-12)).all()
    assert (solved.certificate.upper >= Q * (1 - 1e-12)).all()


@pytest.mark.parametrize("steps", [1, 2, 7])
def test_plain_conjugate_gradients_are_those_of_table_7_3(steps):
    """The table, written out, with unequal noise too; and the bounds hold without a preconditioner."""
    X, y, noise = problem()
    C = Gaussian(0.5)(X) + np.diag(noise)
    alpha, g = np.zeros(len(X)), y[:, 0].copy()
    h = g.copy()
    for _ in range(steps):
        length = (g @ g) / (g @ C @ h)
        alpha, new = alpha + length * h, g - length * C @ h
        h, g = new + (new @ new) / (g @ g) * h, new
    solved = KernelSystem(Gaussian(0.5), X).solve(noise, y, SystemRule(1e-12, max_iter=steps), "plain-cg")
    np.testing.assert_allclose(solved.coefficients[:, 0], alpha, rtol=1e-7, atol=1e-9)
    certificate, Q = solved.certificate, float(y[:, 0] @ np.linalg.solve(C, y[:, 0]))
    assert certificate.iterations == steps and certificate.rank == 0 and certificate.status is Status.MAX_ITER
    assert (certificate.history[:, 0] <= Q).all() and (certificate.history[:, 1] >= Q).all()
    assert certificate.lower[0] <= Q <= certificate.upper[0]


def test_a_preconditioner_saves_steps():
    X, y, noise = problem()
    steps = {
        s: KernelSystem(Gaussian(0.5), X).solve(noise, y, SystemRule(1e-8), s).iterations for s in ("cg", "plain-cg")
    }
    assert steps["cg"] < 0.5 * steps["plain-cg"]


@given(
    seed=st.integers(0, 10_000),
    n=st.integers(2, 60),
    log_gamma=st.floats(-4, 3),
    log_noise=st.floats(-5, 2),
    steps=st.integers(0, 12),
)
def test_bounds_hold_at_every_step(seed, n, log_gamma, log_noise, steps):
    """Whatever the kernel, noise and moment of stopping: lower <= Q <= upper, and predictions within the error."""
    X, y, noise = problem(n, seed=seed)
    noise = noise * np.exp(log_noise)
    kernel = Gaussian(float(np.exp(log_gamma)))
    system = KernelSystem(kernel, X)
    certificate = (solved := system.solve(noise, y, SystemRule(1e-12, max_iter=steps), "cg")).certificate
    K = kernel(X)
    exact = np.linalg.solve(K + np.diag(noise), y)
    Q = float(y[:, 0] @ exact[:, 0])
    slack = 1e-9 * Q
    history = certificate.history
    assert (history[:, 0] <= Q + slack).all() and (history[:, 1] >= Q - slack).all()
    assert certificate.lower[0] <= Q + slack and certificate.upper[0] >= Q - slack
    rms = float(np.sqrt(np.mean(y**2)))
    wrong = float(np.abs(K @ (solved.coefficients - exact)).max())
    assert wrong <= certificate.error * rms + 1e-9 * rms


@given(seed=st.integers(0, 1000), rank=st.integers(1, 40))
def test_the_preconditioner_is_below_the_matrix(seed, rank):
    """M <= A for any number of pivots: the smallest eigenvalue of A - M is not negative."""
    X, _, noise = problem(40, seed=seed)
    kernel = Gaussian(0.7)
    samples = kernel.prepare(X)
    M = Preconditioner(PartialFactor(kernel, samples, kernel.diag(samples), 1e-9, 1, rank), noise)
    F = M.factor.F
    dense = F @ F.T + np.diag(noise)
    assert np.linalg.eigvalsh(kernel(X) - F @ F.T).min() > -1e-10
    R = np.random.default_rng(seed).normal(size=(40, 2))
    np.testing.assert_allclose(M.solve(R), np.linalg.solve(dense, R), rtol=1e-8, atol=1e-8)
    assert M.log_determinant() == pytest.approx(np.linalg.slogdet(dense)[1], rel=1e-9, abs=1e-9)


def test_the_lower_bound_rises_and_the_bounds_close_in():
    X, y, noise = problem(1500, d=6)
    history = KernelSystem(Gaussian(0.5), X).solve(noise, y, SystemRule(1e-10), "cg").certificate.history
    assert len(history) > 5
    assert (np.diff(history[:, 0]) >= -1e-9 * history[-1, 0]).all()
    width = history[:, 1] - history[:, 0]
    assert width[-1] < 1e-12 * width[0]


def test_float32_tiles_are_refined_to_the_float64_answer():
    X, y, noise = problem(1300, d=4)
    noise = noise + 0.5
    half = 1300 * 2400 * 2 / (1 << 20)  # megabytes in which float32 tiles fit and float64 tiles do not
    system = KernelSystem(Gaussian(0.5), X, cache_size=half)
    solved = system.solve(noise, y, SystemRule(1e-10), "cg")
    assert system.tiles(0.5).dtype == np.float32
    assert solved.certificate.holds
    exact = np.linalg.solve(Gaussian(0.5)(X) + np.diag(noise), y)
    np.testing.assert_allclose(solved.coefficients, exact, rtol=0, atol=1e-9)


def test_auto_gives_up_conjugate_gradients_that_crawl():
    X, y, noise = problem(1300, d=8)
    solved = KernelSystem(Gaussian(3.0), 0.2 * X).solve(0.0001 * noise, y, SystemRule(1e-8), "auto")
    assert solved.certificate.method == "cholesky"
    easy = KernelSystem(Gaussian(0.05), X).solve(noise, y, SystemRule(1e-8), "auto")
    assert easy.certificate.method == "cg"


def test_limits_return_the_best_so_far():
    X, y, noise = problem(1200, d=8)
    system = KernelSystem(Gaussian(0.3), X)
    few = system.solve(0.01 * noise, y, SystemRule(1e-12, max_iter=3), "cg").certificate
    assert few.status is Status.MAX_ITER and few.iterations == 3 and not few.holds and 0 < few.error < np.inf
    short = system.solve(0.01 * noise, y, SystemRule(1e-12, time_limit=1e-9), "cg").certificate
    assert short.status is Status.TIME_LIMIT
    assert "DOES NOT HOLD" in str(short)


def test_ctrl_c_returns_the_best_so_far():
    X, y, noise = problem(300)

    def impatient(info):
        assert info.bounds[0] <= info.bounds[1]
        if info.iterations == 2:
            raise KeyboardInterrupt

    answer = KernelSystem(Gaussian(0.3), X).solve(0.01 * noise, y, SystemRule(1e-12), "cg", impatient)
    assert answer.certificate.status is Status.INTERRUPTED
    assert answer.certificate.iterations == 2
    exact = float(y[:, 0] @ np.linalg.solve(Gaussian(0.3)(X) + np.diag(0.01 * noise), y)[:, 0])
    assert answer.certificate.lower[0] <= exact <= answer.certificate.upper[0]


def test_an_indefinite_kernel_is_found_out():
    K = np.diag([1.0, -2.0, 1.0])
    noise = np.full(3, 0.1)
    with pytest.raises(NotPositiveDefinite):
        KernelSystem(GivenMatrix(K), np.arange(3)[:, None]).solve(noise, np.ones((3, 1)), SystemRule(), "cholesky")
    A = SimpleNamespace(multiply=lambda V, *rest: (K + np.diag(noise)) @ V, precondition=lambda R: R)
    run = descend(A, np.ones((3, 1)), np.zeros(1), max_iter=10)
    assert run.status is Status.INDEFINITE


def test_no_noise_is_no_work_for_conjugate_gradients():
    with pytest.raises(NotPositiveDefinite, match="noise"):
        KernelSystem(Gaussian(1.0), np.eye(3)).solve(np.zeros(3), np.ones((3, 1)), SystemRule(), "cg")


def test_targets_of_zero():
    solved = KernelSystem(Gaussian(1.0), np.eye(3)).solve(np.ones(3), np.zeros((3, 1)), SystemRule(), "cg")
    assert solved.certificate.holds and not solved.coefficients.any()


def test_pivots_are_drawn_where_next_to_nothing_is_left():
    """Shares that underflow to zero cannot be drawn, and were asked for."""
    kernel = GivenMatrix(np.diag([1.0, 1e-320, 1e-320, 1e-320]))
    samples = kernel.prepare()
    factor = PartialFactor(kernel, samples, kernel.diag(samples), 1e-9, 1, rank=40)
    assert factor.rank >= 1 and factor.rest < 1e-300


def test_an_indefinite_diagonal_does_not_stop_the_preconditioner():
    kernel = GivenMatrix(np.diag([1.0, -1.0, 0.5]))
    samples = kernel.prepare()
    assert PartialFactor(kernel, samples, kernel.diag(samples), 1e-9, 1).rank >= 1


def test_every_step_comes_closer_even_where_the_bound_grows():
    X, y, noise = problem(400, d=6)
    system = KernelSystem(Gaussian(0.5), X)
    A = Gaussian(0.5)(X) + np.diag(0.01 * noise)
    exact = np.linalg.solve(A, y)
    distances = []
    for steps in range(6):
        wrong = system.solve(0.01 * noise, y, SystemRule(1e-12, max_iter=steps), "cg").coefficients - exact
        distances.append(float(wrong[:, 0] @ A @ wrong[:, 0]))
    assert (np.diff(distances) < 0).all()

"""A call of fit, partial_fit or resume that fails leaves the estimator as it was, attribute by attribute."""

import os
import signal
import warnings

import joblib
import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.exceptions import ConvergenceWarning

from widemargin import (
    LSSVC,
    RVR,
    SVC,
    GaussianProcessRegressor,
    KernelLMS,
    KernelPerceptron,
    KernelRidge,
    LinearSVC,
    Status,
)
from widemargin.kernels import Gaussian
from widemargin.monitor.interrupt import CtrlC, Termination

X, Y = make_classification(60, 5, random_state=0)
OTHER = make_classification(80, 4, n_informative=3, n_redundant=0, n_classes=3, n_clusters_per_class=1, random_state=1)


class Broken(Gaussian):
    """A kernel that raises once it is used."""

    def __init__(self, error):
        super().__init__(1.0)
        self.error = error

    def prepare(self, *arguments, **options):
        raise self.error


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("error", [KeyboardInterrupt(), MemoryError("no memory left")], ids=["Ctrl-C", "memory"])
@pytest.mark.parametrize("machine", [KernelRidge, LSSVC, KernelLMS, KernelPerceptron, RVR])
def test_a_second_fit_that_fails_changes_nothing(machine, error):
    model = machine(kernel=Gaussian(1.0)).fit(X, Y)
    model.kernel = Broken(error)
    before = joblib.hash({name: value for name, value in vars(model).items() if name != "kernel"})
    with pytest.raises(type(error)):
        model.fit(*OTHER)
    assert joblib.hash({name: value for name, value in vars(model).items() if name != "kernel"}) == before


def test_a_second_fit_without_memory_changes_nothing():
    """Unlike Ctrl-C, after which a support vector machine is fitted, if only to its start."""
    model = SVC(kernel=Gaussian(1.0)).fit(X, Y)
    model.kernel = Broken(MemoryError("no memory left"))
    before = set(vars(model)), model.n_features_in_, model.classes_.tolist(), model.dual_coef_.tolist()
    with pytest.raises(MemoryError):
        model.fit(*OTHER)
    assert (set(vars(model)), model.n_features_in_, model.classes_.tolist(), model.dual_coef_.tolist()) == before


def test_a_first_fit_that_fails_leaves_no_attributes():
    model = SVC()
    before = set(vars(model))
    with pytest.raises(ValueError, match="number of classes"):
        model.fit(X, np.zeros(60))
    assert set(vars(model)) == before


@pytest.mark.parametrize("machine", [KernelPerceptron, KernelLMS])
def test_a_pass_that_fails_leaves_what_was_learned_before(machine, monkeypatch):
    model = machine(kernel=Gaussian(1.0), **({"max_iter": 1} if machine is KernelPerceptron else {}))
    model.partial_fit(X, Y)
    before, passes = joblib.hash(vars(model)), []

    def at_the_end(*arguments, **options):
        passes.append(1)
        raise KeyboardInterrupt

    if machine is KernelPerceptron:
        monkeypatch.setattr(KernelPerceptron, "_keep", at_the_end)
    else:
        monkeypatch.setattr("widemargin.estimators.kernel_lms.sweep", at_the_end)
    with pytest.raises(KeyboardInterrupt):
        model.partial_fit(X[::-1] + 0.1, 1 - Y[::-1])
    assert passes and joblib.hash(vars(model)) == before


def test_ctrl_c_that_compiled_code_turned_into_another_error_is_a_keyboard_interrupt(monkeypatch):
    """As Numba does where a signal comes while it unpacks the results of a compiled function."""
    model = KernelPerceptron().fit(X, Y)
    before = joblib.hash(vars(model))

    def interrupted(*arguments):
        error = SystemError("go_through returned a result with an exception set")
        error.__cause__ = SystemError("_numba_unpickle returned a result with an exception set")
        error.__cause__.__cause__ = KeyboardInterrupt()
        raise error

    monkeypatch.setattr("widemargin.models.perceptron_history.go_through", interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.fit(*OTHER)
    assert joblib.hash(vars(model)) == before


def test_a_warning_turned_into_an_error_leaves_the_model():
    model = SVC(max_iter=1)
    with pytest.raises(ConvergenceWarning):
        model.fit(X, Y)
    assert model.status_ is Status.MAX_ITER and model.predict(X).shape == Y.shape


@pytest.mark.skipif(os.name == "nt", reason="needs POSIX signals")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_an_interrupted_resume_of_a_linear_model_is_kept_and_counts_its_iterations(monkeypatch):
    from widemargin.problems.linear import LinearRun

    model = LinearSVC(C=100.0, max_iter=1, tol=1e-9).fit(X, Y)
    first, ask, presses = model.n_iter_, LinearRun.__init__, []

    def pressed(self, *arguments, **options):
        if not presses:
            presses.append(signal.raise_signal(signal.SIGINT))
        ask(self, *arguments, **options)

    monkeypatch.setattr(LinearRun, "__init__", pressed)
    with pytest.raises(KeyboardInterrupt) as raised:
        model.resume(X, Y, max_iter=1000)
    assert raised.type is KeyboardInterrupt  # of which Python ends a script by the signal
    assert model.status_ is Status.INTERRUPTED and model.n_iter_ >= first


@pytest.mark.skipif(os.name == "nt", reason="needs POSIX signals")
@pytest.mark.parametrize("moment", ["enter", "exit"])
def test_a_signal_between_two_handlers_restores_both(moment, monkeypatch):
    """SIGTERM comes when Ctrl-C's handler was replaced and its own was not; at the end the other way round."""
    termination = Termination()
    before = signal.signal(signal.SIGTERM, termination)
    set_handler, calls = signal.signal, []
    arrives_after = {"enter": 1, "exit": 3}[moment]
    number = signal.SIGTERM if moment == "enter" else signal.SIGINT

    def counted(*arguments):
        replaced = set_handler(*arguments)
        calls.append(arguments)
        if len(calls) == arrives_after:
            signal.raise_signal(number)
        return replaced

    try:
        monkeypatch.setattr(signal, "signal", counted)
        with pytest.raises(KeyboardInterrupt), CtrlC():
            pass
        monkeypatch.undo()
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
        assert signal.getsignal(signal.SIGTERM) is termination
    finally:
        signal.signal(signal.SIGTERM, before)


def test_a_warning_in_the_middle_of_a_refit_leaves_the_first_model():
    """The optimiser of a Gaussian process warns before the coefficients are solved for."""
    rng = np.random.default_rng(0)
    A, B = rng.normal(size=(30, 1)), rng.normal(size=(40, 2))
    kernel = Gaussian(1.0)
    model = GaussianProcessRegressor(kernel, noise_variance=0.1, optimizer=None).fit(A, np.sin(A[:, 0]))
    expected = model.predict(A)

    def warns(*arguments):
        warnings.warn("not converged", ConvergenceWarning, stacklevel=1)

    with pytest.MonkeyPatch.context() as patched, warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        patched.setattr(GaussianProcessRegressor, "_fit_theta", warns)
        patched.setattr(GaussianProcessRegressor, "_fit_coefficients", warns)
        with pytest.raises(ConvergenceWarning):
            model.fit(B, B[:, 0])
    assert model.n_features_in_ == 1 and model.X_train_.shape == (30, 1)
    np.testing.assert_array_equal(model.predict(A), expected)

"""How each library is called, at its best: one small class per library, all with the same three questions.

supports(problem)        whether it can train this machine with this kernel exactly as the problem says
fit(problem, X, y)       a fitted model; this call is what is timed
answer(problem, model)   its numbers in the layout of checker.Answer

Every library gets float64 data, `tol` of the problem, 2000 MB of kernel cache where it takes one, and the same threads.
Snap ML has no multipliers, no exact Gaussian kernel and a penalised bias: it takes part where the kernel is linear, and
its answer cannot be called exact.
"""

from __future__ import annotations

import importlib.util
import os
from importlib.metadata import version
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from benchmarks.peers.checker import Answer
from benchmarks.peers.problems import PEER_CACHE_MB, Problem

SKLEARN_NAMES = {"svc": "SVC", "nu_svc": "NuSVC", "svr": "SVR", "nu_svr": "NuSVR", "one_class": "OneClassSVM"}


#: Ways to run an OpenMP library, as variables of its process; tuning.py tells which suits it.
OPENMP_SETTINGS = {
    "threads that sleep": {"OMP_WAIT_POLICY": "passive"},
    "threads that spin": {"OMP_WAIT_POLICY": "active"},
    "one thread": {"OMP_NUM_THREADS": "1"},
}


class Library:
    """One library. `module` decides whether it is installed, `package` is what its version is asked for."""

    name = ""
    module = ""
    package = ""
    formats: tuple[str, ...] = ("dense", "csr")
    settings: dict[str, dict[str, str]] = {"": {}}
    has_multipliers = True

    def __init__(self, threads: int) -> None:
        self.threads = threads

    @classmethod
    def installed(cls) -> bool:
        return importlib.util.find_spec(cls.module) is not None

    @classmethod
    def version(cls) -> str:
        return version(cls.package)

    def supports(self, problem: Problem) -> bool:
        raise NotImplementedError

    def fit(self, problem: Problem, X: Any, y: NDArray) -> Any:
        raise NotImplementedError

    def answer(self, problem: Problem, model: Any) -> Answer:
        raise NotImplementedError

    def facts(self, model: Any) -> dict[str, Any]:
        """Iterations and the like, where the library tells."""
        return {}


class ScikitLearn(Library):
    """sklearn.svm."""

    name, module, package = "scikit-learn", "sklearn", "scikit-learn"

    def supports(self, problem: Problem) -> bool:
        return True

    def _settings(self, problem: Problem) -> dict[str, Any]:
        """Parameters in scikit-learn's spelling, those a machine knows."""
        settings: dict[str, Any] = {
            "kernel": problem.kernel,
            "gamma": problem.gamma,
            "degree": problem.degree,
            "coef0": problem.coef0,
            "tol": problem.tol,
            "cache_size": PEER_CACHE_MB,
        }
        if problem.machine in ("svc", "svr", "nu_svr"):
            settings["C"] = problem.C
        if problem.machine in ("nu_svc", "nu_svr", "one_class"):
            settings["nu"] = problem.nu
        if problem.machine == "svr":
            settings["epsilon"] = problem.epsilon
        return settings

    def _module(self) -> Any:
        import sklearn.svm

        return sklearn.svm

    def fit(self, problem: Problem, X: Any, y: NDArray) -> Any:
        model = getattr(self._module(), SKLEARN_NAMES[problem.machine])(**self._settings(problem))
        model.fit(*((X,) if problem.machine == "one_class" else (X, y)))  # ThunderSVM's one-class fit returns None
        return model

    def answer(self, problem: Problem, model: Any) -> Answer:
        coefficients = model.dual_coef_
        coefficients = coefficients.toarray() if sp.issparse(coefficients) else np.asarray(coefficients)
        classes, bias = None, np.atleast_1d(np.asarray(model.intercept_, np.float64)).ravel()
        if problem.machine in ("svc", "nu_svc"):
            classes = np.asarray(model.classes_)
            if len(classes) == 2:  # scikit-learn turns the sign of two-class machines round
                coefficients, bias = -coefficients, -bias
        support = np.asarray(model.support_, np.int64)
        return Answer(support, np.atleast_2d(coefficients).astype(np.float64), bias, classes)

    def facts(self, model: Any) -> dict[str, Any]:
        steps = getattr(model, "n_iter_", None)
        return {} if steps is None else {"iterations": int(np.sum(steps))}


class Widemargin(ScikitLearn):
    """Ourselves."""

    name, module, package = "widemargin", "widemargin", "widemargin"

    @classmethod
    def version(cls) -> str:
        import widemargin

        return widemargin.__version__

    def _module(self) -> Any:
        import widemargin

        return widemargin

    def _settings(self, problem: Problem) -> dict[str, Any]:
        return {**super()._settings(problem), "cache_size": problem.cache_size, "n_jobs": self.threads}

    def facts(self, model: Any) -> dict[str, Any]:
        proof = model.certificate_
        return {
            "iterations": int(proof.iterations),
            "rows_computed": int(proof.rows_computed),
            "own_violation": float(proof.violation),
            "holds": bool(proof.holds),
        }


class ScikitLearnIntelex(ScikitLearn):
    """sklearnex.svm; it has no one-class machine."""

    name, module, package = "scikit-learn-intelex", "sklearnex", "scikit-learn-intelex"

    def supports(self, problem: Problem) -> bool:
        return problem.machine != "one_class"

    def _module(self) -> Any:
        import sklearnex.svm

        return sklearnex.svm


class Libsvm(Library):
    """LIBSVM's own Python interface; reading the rows into its nodes is part of the fit, as it is for a user.

    Only CSR: from a dense array it builds each row in Python.
    """

    name, module, package = "libsvm", "libsvm", "libsvm-official"
    formats = ("csr",)
    settings = OPENMP_SETTINGS
    TYPES = {"svc": 0, "nu_svc": 1, "one_class": 2, "svr": 3, "nu_svr": 4}
    KERNELS = {"linear": 0, "poly": 1, "rbf": 2}

    def supports(self, problem: Problem) -> bool:
        return True

    def fit(self, problem: Problem, X: Any, y: NDArray) -> Any:
        from libsvm import svm, svmutil

        options = (
            f"-q -s {self.TYPES[problem.machine]} -t {self.KERNELS[problem.kernel]} -d {problem.degree} "
            f"-g {problem.gamma!r} -r {problem.coef0!r} -c {problem.C!r} -n {problem.nu!r} -p {problem.epsilon!r} "
            f"-m {PEER_CACHE_MB} -e {problem.tol!r}"
        )
        rows = svm.svm_problem(y, X)
        model = svmutil.svm_train(rows, svm.svm_parameter(options))
        return model, rows  # the model points into the rows

    def answer(self, problem: Problem, model: Any) -> Answer:
        machine = model[0]
        labels = machine.get_labels()
        columns = max(1, machine.nr_class - 1) if problem.machine in ("svc", "nu_svc") else 1
        pairs = columns * (columns + 1) // 2
        coefficients = np.array([np.ctypeslib.as_array(machine.sv_coef[k], (machine.l,)) for k in range(columns)])
        support = np.asarray(machine.get_sv_indices(), np.int64) - 1
        bias = -np.array(machine.rho[:pairs])
        classes = np.asarray(labels, float) if problem.machine in ("svc", "nu_svc") else None
        return Answer(support, coefficients, bias, classes)


class ThunderSVM(ScikitLearn):
    """thundersvm on the CPU, in float32. Dense only: its CSR fits were measured not to end, even on 900 rows."""

    name, module, package = "thundersvm", "thundersvm", "thundersvm-cpu"
    formats = ("dense",)
    settings = OPENMP_SETTINGS
    KERNELS = {"poly": "polynomial"}

    def supports(self, problem: Problem) -> bool:
        return True

    def _module(self) -> Any:
        import thundersvm

        return thundersvm

    def _settings(self, problem: Problem) -> dict[str, Any]:
        threads = int(os.environ.get("OMP_NUM_THREADS", self.threads))  # its own number overrides the variable
        settings = {**super()._settings(problem), "n_jobs": threads}
        settings["kernel"] = self.KERNELS.get(problem.kernel, problem.kernel)
        settings.pop("cache_size")
        return settings

    def answer(self, problem: Problem, model: Any) -> Answer:
        classes = None
        if problem.machine in ("svc", "nu_svc"):
            classes = self.classes
        bias = -np.atleast_1d(np.asarray(model.intercept_, np.float64))
        return Answer(np.asarray(model.support_, np.int64), np.atleast_2d(model.dual_coef_), bias, classes, single=True)

    def fit(self, problem: Problem, X: Any, y: NDArray) -> Any:
        if problem.machine in ("svc", "nu_svc"):
            self.classes = y[np.sort(np.unique(y, return_index=True)[1])]  # in the order in which they appear
        return super().fit(problem, X, y)


class SnapML(Library):
    """snapml's linear machine; its bias is a feature of constant value, hence penalised."""

    name, module, package = "snapml", "snapml", "snapml"
    has_multipliers = False

    def supports(self, problem: Problem) -> bool:
        return problem.machine == "svc" and problem.kernel == "linear"

    def fit(self, problem: Problem, X: Any, y: NDArray) -> Any:
        import snapml

        model = snapml.SupportVectorMachine(
            loss="hinge",
            regularizer=1.0 / problem.C,
            fit_intercept=True,
            tol=problem.tol,
            max_iter=100_000,
            n_jobs=self.threads,
        )
        return model.fit(X, y)


OURS = Widemargin.name
LIBRARIES: dict[str, type[Library]] = {
    kind.name: kind for kind in (Widemargin, ScikitLearn, ScikitLearnIntelex, Libsvm, ThunderSVM, SnapML)
}

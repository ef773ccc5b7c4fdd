"""Machines that solve linear systems, and relevance vector machines, through model files."""

import numpy as np
import pytest

from widemargin import LSSVC, LSSVR, RVC, RVR, KernelLMS, KernelRidge
from widemargin.io import FileError, load, save
from widemargin.kernels import Gaussian

MACHINES = {
    "ridge": KernelRidge(kernel="rbf", gamma=0.5, alpha=0.1),
    "ridge of a kernel": KernelRidge(kernel=2.0 * Gaussian(0.5), alpha=0.1),
    "least squares": LSSVR(C=3.0),
    "least mean squares": KernelLMS(kernel="rbf", gamma=0.5, max_iter=20),
    "relevance": RVR(gamma=0.5),
    "least-squares classes": LSSVC(C=3.0),
    "relevance classes": RVC(gamma=0.5),
}


@pytest.mark.parametrize("name", MACHINES)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_loaded_machines_answer_the_same(name, rng, tmp_path):
    X = rng.normal(size=(60, 3))
    y = np.where(X[:, 0] > 0.3, "high", "low") if "classes" in name else np.sin(X[:, 0]) + 0.1 * X[:, 1]
    model = MACHINES[name].fit(X, y)
    save(model, tmp_path / "m.model")
    again = load(tmp_path / "m.model")
    new = rng.normal(size=(10, 3))
    np.testing.assert_array_equal(again.predict(new), model.predict(new))
    if hasattr(model, "predict_proba"):
        np.testing.assert_array_equal(again.predict_proba(new), model.predict_proba(new))
    if hasattr(model, "certificate_"):
        assert str(again.certificate_) == str(model.certificate_)


def test_what_no_file_can_hold_yet_gets_a_sentence(rng, tmp_path):
    from widemargin import GaussianProcessRegressor

    X = rng.normal(size=(20, 2))
    with pytest.raises(FileError, match="GaussianProcessRegressor"):
        save(GaussianProcessRegressor(optimizer=None).fit(X, X[:, 0]), tmp_path / "gp.model")

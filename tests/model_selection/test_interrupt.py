"""Ctrl-C ends a search with KeyboardInterrupt, as in scikit-learn."""

import gc
import os
import signal
import threading

import joblib
import numpy as np
import pytest

from widemargin import SVC
from widemargin.model_selection import GridSearchCV

SECONDS = 0.5  # until Ctrl-C is pressed: the search takes minutes


@pytest.mark.skipif(os.name == "nt", reason="sends a POSIX signal")
@pytest.mark.parametrize("n_jobs", [None, 2])
def test_ctrl_c_raises(n_jobs):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 4)), rng.integers(0, 2, size=300)
    SVC().fit(X, y)  # compiled by now
    search = GridSearchCV(SVC(), {"C": np.logspace(-2, 3, 300), "gamma": np.logspace(-3, 1, 100)}, n_jobs=n_jobs)
    timer = threading.Timer(SECONDS, os.kill, (os.getpid(), signal.SIGINT))
    gc.disable()  # Python drops an exception in a callback of the collector, and Hypothesis has such callbacks
    timer.start()
    try:
        with joblib.parallel_config(backend="threading"), pytest.raises(KeyboardInterrupt):
            search.fit(X, y)
    finally:
        timer.cancel()
        gc.enable()
    assert not hasattr(search, "cv_results_")
    assert type(joblib.Parallel()._backend).__name__ == "LokyBackend"

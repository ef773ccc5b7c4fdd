"""What estimators show in a notebook."""

import numpy as np
import pytest
from sklearn import config_context

from tests.report.reading import Page
from widemargin import SVC, SVR

X = np.array([[-1.0, -1.0], [-2.0, -1.0], [1.0, 1.0], [2.0, 1.0]])


def test_a_fitted_estimator_shows_its_certificate():
    model = SVC(kernel="linear").fit(X, [0, 0, 1, 1])
    shown = model._repr_mimebundle_()["text/html"]
    assert "widemargin-certificate" in model._repr_html_()
    assert "certified</strong>" in shown
    assert "sk-estimator" in shown  # scikit-learn's own diagram stands above
    block = shown[shown.index("<details class=") :]
    rows = {row[0]: row[1] for rows in Page(block).tables.values() for row in rows}
    assert rows["primal, at most"] == f"{model.certificate_.primal:.10g}"
    assert rows["support vectors"].startswith("2 ")


def test_an_estimator_that_is_not_fitted_or_not_certified():
    assert "widemargin-certificate" not in SVR()._repr_html_()
    rng = np.random.default_rng(0)
    with pytest.warns(match="max_iter|steps"):
        model = SVR(max_iter=1).fit(rng.normal(size=(40, 2)), rng.normal(size=40))
    assert "not certified</strong>" in model._repr_html_()
    with config_context(display="text"):
        assert "text/html" not in model._repr_mimebundle_()

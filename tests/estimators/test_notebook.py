"""What estimators show in a notebook."""

import numpy as np
import pytest
from sklearn import config_context
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from tests.report.reading import Page
from widemargin import SVC, SVR, KernelRidge, verify

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


@pytest.mark.parametrize("kind", ["alone", "pipeline", "search"])
def test_diagrams_of_pipelines_and_searches_say_certified(kind):
    data, y = np.tile(X, (3, 1)), [0, 0, 1, 1] * 3
    pipeline = make_pipeline(StandardScaler(), SVC())
    search = GridSearchCV(pipeline, {"svc__C": [1.0, 10.0]}, cv=2)
    model = {"alone": SVC(), "pipeline": pipeline, "search": search}[kind]
    assert "certified" not in model._repr_html_()
    assert '<div class="caption">certified</div>' in model.fit(data, y)._repr_html_()


def test_certificates_and_their_comparison_are_tables():
    y = [0, 0, 1, 1]
    model = SVC(kernel="linear").fit(X, y)
    found = verify(model, X, y)
    for certificate in (model.certificate_, found, KernelRidge().fit(X, y).certificate_):
        (rows,) = Page(certificate._repr_html_()).tables.values()
        assert [row[0] for row in rows] == [line[:22].rstrip() for line in str(certificate).splitlines()[1:]]
    both = model.certificate_.compare(found, names=("fit", "<verify>"))
    (rows,) = Page(both._repr_html_()).tables.values()
    assert ["objective", f"{model.certificate_.objective:.10g}", f"{found.objective:.10g}"] in [list(r) for r in rows]
    assert "&lt;verify&gt;" in both._repr_html_()
    lines = str(both).splitlines()
    assert lines[0].split() == ["fit", "<verify>"]
    assert lines[1].split() == ["certificate", "holds", "holds"]

"""Pipelines and searches around our estimators, in everything that reads a fitted model."""

import numpy as np
import pandas as pd
import pytest
import sklearn.svm
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import widemargin
from widemargin import SVC, SVR, LinearSVC
from widemargin.inspection.pipelines import prepared, unwrap

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")

RNG = np.random.default_rng(0)
X = RNG.normal(100.0, 30.0, (80, 5))
Y = (X[:, 0] > X[:, 1]).astype(int)
PEOPLE = pd.DataFrame(
    {"age": RNG.normal(40, 9, 90), "town": RNG.choice(["Oslo", "Rome", "Bonn"], 90), "pay": RNG.normal(3000, 500, 90)}
)
ANSWERS = np.where((PEOPLE.age > 40) ^ (PEOPLE.town == "Rome"), "yes", "no")


def scaled():
    return make_pipeline(StandardScaler(), SVC())


def columns():
    parts = (StandardScaler(), ["age", "pay"]), (OneHotEncoder(), ["town"])
    return make_pipeline(make_column_transformer(*parts), SVC(C=10.0))


WRAPPED = {
    "pipeline": lambda: (scaled().fit(X, Y), X, Y),
    "search": lambda: (GridSearchCV(SVC(), {"C": [1, 10]}, cv=3).fit(X, Y), X, Y),
    "pipeline in a search": lambda: (GridSearchCV(scaled(), {"svc__C": [1, 10]}, cv=3).fit(X, Y), X, Y),
    "search in a pipeline": lambda: (
        make_pipeline(StandardScaler(), GridSearchCV(SVC(), {"C": [1, 10]}, cv=3)).fit(X, Y), X, Y
    ),
    "pipeline in a pipeline": lambda: (make_pipeline(PCA(4), scaled()).fit(X, Y), X, Y),
    "columns": lambda: (columns().fit(PEOPLE, ANSWERS), PEOPLE, ANSWERS),
}  # fmt: skip


@pytest.fixture(params=WRAPPED)
def wrapped(request):
    return WRAPPED[request.param]()


def test_the_estimator_and_its_samples_give_the_answers_of_the_whole(wrapped):
    model, samples, _ = wrapped
    machine, before = unwrap(model)
    assert type(machine) is SVC
    assert np.array_equal(machine.decision_function(prepared(before, samples)), model.decision_function(samples))


def test_verify(wrapped):
    model, samples, y = wrapped
    found = widemargin.verify(model, samples, y)
    assert found.holds
    assert found.objective == pytest.approx(unwrap(model)[0].certificate_.objective, rel=1e-6)


def test_margins(wrapped):
    model, samples, y = wrapped
    sign = np.where(y == model.classes_[1], 1.0, -1.0)
    assert np.array_equal(widemargin.margins(model, samples, y).functional, sign * model.decision_function(samples))


@pytest.mark.parametrize("kind", ["boundary", "kkt", "kernel", "scaling"])
def test_pictures(wrapped, kind):
    from widemargin.plots import plot

    options = {"repeats": 1, "sizes": [40, 60]} if kind == "scaling" else {}
    ax = plot(*wrapped, kind=kind, **options)
    assert ax.get_xlabel()
    matplotlib.pyplot.close("all")


def test_a_picture_of_text_columns_shows_the_features_made_of_them():
    from widemargin.plots import plot_boundary

    ax = plot_boundary(columns().fit(PEOPLE, ANSWERS), PEOPLE, ANSWERS, features=(0, 4))
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("standardscaler__age", "onehotencoder__town_Rome")
    matplotlib.pyplot.close("all")


def test_auto_draws_the_best_estimator_of_a_search_over_one_parameter():
    from widemargin.plots import plot

    search = GridSearchCV(make_pipeline(StandardScaler(), SVR()), {"svr__C": [1, 10]}, cv=3).fit(X, X[:, 0])
    assert plot(search, X, X[:, 0]).get_xlabel() == "prediction f(x)"
    matplotlib.pyplot.close("all")


def test_verify_takes_the_rounding_of_fit_transform_but_no_other_data():
    model = make_pipeline(StandardScaler(), PCA(3), sklearn.svm.SVC()).fit(X, Y)
    assert widemargin.verify(model, X, Y).holds
    with pytest.raises(ValueError, match="training data"):
        widemargin.verify(model, X + 1.0, Y)


def test_a_search_without_a_model_says_so():
    search = GridSearchCV(SVC(), {"C": [1, 10]}, cv=3, refit=False).fit(X, Y)
    with pytest.raises(ValueError, match="refit=True"):
        widemargin.verify(search, X, Y)


def test_the_error_names_the_estimator_inside():
    with pytest.raises(TypeError, match="LinearSVC"):
        widemargin.verify(make_pipeline(StandardScaler(), LinearSVC()).fit(X, Y), X, Y)

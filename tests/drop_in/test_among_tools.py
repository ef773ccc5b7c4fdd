"""Each machine among the tools of scikit-learn: frames, pipelines, searches, routing, calibration, displays."""

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import BaggingClassifier, StackingClassifier
from sklearn.inspection import DecisionBoundaryDisplay, permutation_importance
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, KFold, cross_val_predict
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from widemargin import SVC, SVR, NuSVC, NuSVR, OneClassSVM

pytestmark = pytest.mark.needs_compiler  # too many fits for interpreted code

CLASSIFIERS = [SVC(), NuSVC(nu=0.2)]
MACHINES = [*CLASSIFIERS, SVR(), NuSVR(), OneClassSVM(nu=0.2)]
NAMES = ["sepal length", "sepal width", "petal length", "petal width"]

each_machine = pytest.mark.parametrize("machine", MACHINES, ids=lambda machine: type(machine).__name__)
each_classifier = pytest.mark.parametrize("machine", CLASSIFIERS, ids=lambda machine: type(machine).__name__)


@each_machine
@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames(machine, library, iris):
    frames = pytest.importorskip(library)
    X, y = iris
    expected = clone(machine).fit(X, y)
    frame = frames.DataFrame(dict(zip(NAMES, X.T)))
    fitted = clone(machine).fit(frame, frames.Series(y))
    np.testing.assert_array_equal(fitted.dual_coef_, expected.dual_coef_)
    np.testing.assert_array_equal(fitted.predict(frame), expected.predict(X))
    assert fitted.feature_names_in_.tolist() == NAMES and fitted.n_features_in_ == 4
    with pytest.raises(ValueError, match="feature names should match"):
        fitted.predict(frame[NAMES[::-1]])
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        fitted.predict(X)


@each_machine
def test_names_reach_the_last_step_of_a_pipeline(machine, iris):
    pandas = pytest.importorskip("pandas")
    X, y = iris
    pipeline = make_pipeline(StandardScaler(), clone(machine)).set_output(transform="pandas")
    pipeline.fit(pandas.DataFrame(X, columns=NAMES), y)
    assert pipeline[-1].feature_names_in_.tolist() == NAMES
    plain = make_pipeline(StandardScaler(), clone(machine)).fit(X, y)
    np.testing.assert_allclose(pipeline.predict(pandas.DataFrame(X, columns=NAMES)), plain.predict(X), atol=1e-12)


@each_machine
def test_weights_are_routed_through_a_pipeline(machine, iris):
    X, y = iris
    weight = np.linspace(0.5, 2.0, len(y))
    with sklearn.config_context(enable_metadata_routing=True):
        assert machine.get_metadata_routing().fit.requests["sample_weight"] is None
        pipeline = make_pipeline(StandardScaler(), clone(machine).set_fit_request(sample_weight=True))
        pipeline[0].set_fit_request(sample_weight=False)
        pipeline.fit(X, y, sample_weight=weight)
    direct = clone(machine).fit(StandardScaler().fit_transform(X), y, sample_weight=weight)
    np.testing.assert_array_equal(pipeline[-1].dual_coef_, direct.dual_coef_)
    assert not np.array_equal(direct.intercept_, clone(machine).fit(StandardScaler().fit_transform(X), y).intercept_)


@pytest.mark.parametrize("machine", MACHINES[:-1], ids=lambda machine: type(machine).__name__)
def test_grid_search_over_a_pipeline(machine, iris):
    X, y = iris
    name = type(machine).__name__.lower()
    strength = "nu" if name == "nusvc" else "C"
    folds = KFold(3, shuffle=True, random_state=0)
    grid = {f"{name}__{strength}": [0.1, 0.3], f"{name}__kernel": ["rbf", "linear"]}
    search = GridSearchCV(make_pipeline(StandardScaler(), clone(machine)), grid, cv=folds, error_score="raise")
    search.fit(X, y)
    best = clone(search.estimator).set_params(**search.best_params_).fit(X, y)
    np.testing.assert_array_equal(search.predict(X), best.predict(X))
    assert len(search.cv_results_["params"]) == 4 and search.best_score_ > 0.8


@each_classifier
@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
def test_calibrated_probabilities(machine, method, iris):
    X, y = iris
    calibrated = CalibratedClassifierCV(clone(machine), method=method, cv=3).fit(X, y)
    probabilities = calibrated.predict_proba(X)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
    assert log_loss(y, probabilities) < 0.5 < np.log(3)


@each_classifier
def test_ensembles_and_meta_classifiers(machine, iris):
    X, y = iris
    for meta in (
        OneVsRestClassifier(clone(machine)),
        BaggingClassifier(clone(machine), n_estimators=3, random_state=0),
        StackingClassifier([("machine", clone(machine))], final_estimator=SVC(kernel="linear"), cv=3),
    ):
        assert meta.fit(X, y).score(X, y) > 0.9


@each_machine
def test_cross_validated_predictions(machine, iris):
    X, y = iris
    predicted = cross_val_predict(machine, X, y, cv=3)
    assert predicted.shape == y.shape and np.isfinite(predicted).all()


@pytest.mark.parametrize("machine", MACHINES[:-1], ids=lambda machine: type(machine).__name__)
def test_permutation_importance_finds_the_feature_that_matters(machine):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3))
    fitted = clone(machine).fit(X, X[:, 1] > 0)
    importance = permutation_importance(fitted, X, X[:, 1] > 0, n_repeats=3, random_state=0).importances_mean
    assert importance.argmax() == 1


@pytest.mark.parametrize("machine", [*CLASSIFIERS, OneClassSVM(nu=0.2)], ids=lambda machine: type(machine).__name__)
def test_decision_boundary_display(machine, iris):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    X, y = iris[0][:100, 1:3], iris[1][:100]
    fitted = clone(machine).fit(X, y)
    display = DecisionBoundaryDisplay.from_estimator(fitted, X, grid_resolution=12, response_method="decision_function")
    grid = np.column_stack([display.xx0.ravel(), display.xx1.ravel()])
    np.testing.assert_allclose(display.response.ravel(), fitted.decision_function(grid))
    plt.close("all")


@each_machine
def test_html_and_text(machine, iris):
    fitted = clone(machine).fit(*iris)
    html = fitted._repr_html_()
    assert type(machine).__name__ in html and "gamma" in html
    changed = type(machine)(kernel="linear", tol=0.01)
    assert repr(changed) == f"{type(machine).__name__}(kernel='linear', tol=0.01)"

"""One door: every kind is reached by its name, and the obvious one without."""

import ast
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.model_selection import GridSearchCV

from widemargin import SVC, SVCCV, SVR, OneClassSVM, plots
from widemargin.plots import plot
from widemargin.plots.kinds import KINDS
from widemargin.training.trace import Trace


def test_every_kind_draws_on_the_given_axes(moons):
    X, y = moons
    model = SVC(solver=Trace().of("platt")).fit(X, y)
    regression = SVR().fit(X, y)
    search = GridSearchCV(SVC(), {"C": [1, 10], "gamma": [0.1, 1.0]}, cv=2).fit(X, y)
    likely = SVCCV(Cs=[1.0], gammas=[1.0], cv=3).fit(X, y)
    models = dict.fromkeys(KINDS, model) | {"tube": regression, "grid": search, "reliability": likely}
    options = {"scaling": {"sizes": [10, 20], "repeats": 1}, "boundary": {"resolution": 50}}
    for kind, chosen in models.items():
        ax = plt.subplots()[1]
        assert plot(chosen, X, y, kind, ax, **options.get(kind, {})) is ax
        assert ax.has_data()


def test_auto_chooses_by_the_model(moons):
    X, y = moons
    assert plot(SVR().fit(X, y), X, y).get_ylabel() == "target y"
    assert plot(OneClassSVM().fit(X), X).get_xlabel() == "feature 1"
    search = GridSearchCV(SVC(), {"C": [1, 10], "gamma": [0.1, 1.0]}, cv=2).fit(X, y)
    assert plot(search).get_xlabel() == "gamma"
    wide, classes = load_wine(return_X_y=True)
    assert plot(SVC().fit(wide, classes), wide, classes, resolution=40).get_xlabel().startswith("component 1")


def test_wrong_kinds_and_missing_data(moons):
    X, y = moons
    model = SVC().fit(X, y)
    with pytest.raises(ValueError, match="no picture of kind 'pie'; choose one of boundary, tube"):
        plot(model, X, y, kind="pie")
    with pytest.raises(ValueError, match="'kkt' needs the data"):
        plot(model, kind="kkt")
    with pytest.raises(ValueError, match="kept no history"):
        plot(model, kind="convergence")


@pytest.mark.parametrize("path", sorted(Path(plots.__file__).parent.glob("*.py")), ids=lambda path: path.stem)
def test_matplotlib_is_imported_only_when_something_is_drawn(path):
    for statement in ast.parse(path.read_text()).body:
        names = [alias.name for alias in statement.names] if isinstance(statement, ast.Import) else []
        names += [statement.module] if isinstance(statement, ast.ImportFrom) else []
        assert not any(name.startswith(("matplotlib", "contourpy", "pandas")) for name in names)


def test_nothing_drawn_depends_on_the_global_random_state(moons):
    X, y = moons
    wide = np.column_stack([X, X[:, ::-1], X**2])
    model = SVC().fit(wide, y)
    np.random.seed(1)  # noqa: NPY002
    first = plot(model, wide, y, resolution=30).images[0].get_array()
    np.random.seed(2)  # noqa: NPY002
    np.testing.assert_array_equal(plot(model, wide, y, resolution=30).images[0].get_array(), first)

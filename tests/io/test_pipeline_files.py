"""Pipelines in model files: all steps come back, and nothing but known transformers is ever made."""

import tracemalloc

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA
from sklearn.feature_selection import VarianceThreshold
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
)  # fmt: skip

from widemargin import SVC, SVR
from widemargin.io import FileError, load, save
from widemargin.storage.archive import read_archive, write_archive

RNG = np.random.default_rng(0)
X = RNG.normal(100.0, 30.0, (60, 4))
Y = (X[:, 0] > X[:, 1]).astype(int)
PEOPLE = pd.DataFrame(
    {"age": RNG.normal(40, 9, 60), "town": RNG.choice(["Oslo", "Rome", "Bonn"], 60), "rooms": RNG.integers(1, 4, 60)}
)
TABLES = {
    "one-hot": [(StandardScaler(), ["age"]), (OneHotEncoder(), ["town", "rooms"])],
    "one-hot, one left out": [(OneHotEncoder(drop="first", sparse_output=False), ["town"]), ("passthrough", ["age"])],
    "unknown towns": [(OneHotEncoder(handle_unknown="ignore"), [1]), (MinMaxScaler(), slice(0, 1))],
    "ordinal": [(OrdinalEncoder(), ["town"]), (make_pipeline(SimpleImputer(), RobustScaler()), ["age"])],
}


def reloaded(model, folder):
    save(model, folder / "a.model")
    return load(folder / "a.model")


@pytest.mark.parametrize("step", [
    StandardScaler(), MinMaxScaler(), MaxAbsScaler(), RobustScaler(), Normalizer(), PCA(3), SimpleImputer(),
    QuantileTransformer(n_quantiles=20), VarianceThreshold(), "passthrough",
], ids=str)  # fmt: skip
def test_a_loaded_pipeline_is_the_saved_one(tmp_path, step):
    model = Pipeline([("before", step), ("machine", SVC(C=10.0))]).fit(X, Y)
    again = reloaded(model, tmp_path)
    # PCA keeps a view of a larger array, whose strides a file does not; products with it may differ by rounding
    np.testing.assert_allclose(again.decision_function(X), model.decision_function(X), rtol=0, atol=1e-13)
    assert [name for name, _ in again.steps] == ["before", "machine"]
    assert again[-1].certificate_ == model[-1].certificate_


@pytest.mark.parametrize("remainder", ["drop", "passthrough"])
@pytest.mark.parametrize("table", TABLES)
def test_column_transformers(tmp_path, table, remainder):
    data = PEOPLE if remainder == "drop" else PEOPLE.assign(more=PEOPLE.age**2)
    model = make_pipeline(make_column_transformer(*TABLES[table], remainder=remainder), SVR(C=10.0)).fit(data, X[:, 0])
    again = reloaded(model, tmp_path)
    assert np.array_equal(again.predict(data), model.predict(data))
    assert again[:-1].get_feature_names_out().tolist() == model[:-1].get_feature_names_out().tolist()
    assert again.feature_names_in_.tolist() == data.columns.tolist()


def test_of_a_search_the_best_estimator_is_kept(tmp_path):
    search = GridSearchCV(make_pipeline(StandardScaler(), SVC()), {"svc__C": [1.0, 10.0]}, cv=3).fit(X, Y)
    again = reloaded(search, tmp_path)
    assert again.get_params()["svc__C"] == search.best_params_["svc__C"]
    assert np.array_equal(again.decision_function(X), search.decision_function(X))


class OwnScaler(StandardScaler):
    """A class of the user's."""


@pytest.mark.parametrize(
    ("step", "reason"),
    [
        (FunctionTransformer(np.log), "func"),
        (OwnScaler(), "OwnScaler"),
        (OneHotEncoder(max_categories=2, handle_unknown="ignore"), "max_categories"),
    ],
    ids=["function", "own class", "grouping"],
)
def test_what_no_safe_file_can_hold_is_refused_with_a_reason(tmp_path, step, reason):
    with pytest.raises(FileError, match=reason):
        save(make_pipeline(step, SVC()).fit(np.abs(X).round(-1) + 1.0, Y), tmp_path / "a.model")


def damaged(path, change):
    """Change the state of the first transformer in a file, and load it."""
    header, arrays = read_archive(path)
    steps = next(value for name, value in header["before"]["state"]["items"] if name == "steps")
    change(steps["items"][0]["items"][1])
    write_archive(path, header, arrays)
    return load(path)


@pytest.mark.parametrize("replacement", ["SVC", "Tool", "os.system"])
def test_only_known_classes_are_made(tmp_path, replacement):
    save(make_pipeline(StandardScaler(), SVC()).fit(X, Y), tmp_path / "a.model")
    with pytest.raises(FileError, match=replacement):
        damaged(tmp_path / "a.model", lambda step: step.update({"class": replacement}))


def test_no_method_is_replaced(tmp_path):
    save(make_pipeline(StandardScaler(), SVC()).fit(X, Y), tmp_path / "a.model")
    with pytest.raises(FileError, match="replaces the method transform"):
        damaged(tmp_path / "a.model", lambda step: step["state"]["items"].append(["transform", 1]))


def test_an_encoder_that_would_write_beyond_its_matrix_counts_its_features_again(tmp_path):
    towns = PEOPLE[["town"]].to_numpy(object)
    model = make_pipeline(OneHotEncoder(), SVC()).fit(towns, Y)
    save(model, tmp_path / "a.model")

    def lie(step):
        state = step["state"]["items"]
        state[[name for name, _ in state].index("_n_features_outs")][1]["items"] = [1]

    assert np.array_equal(damaged(tmp_path / "a.model", lie).predict(towns), model.predict(towns))


@pytest.mark.parametrize("features", [10**7, 10**13])
def test_a_step_of_more_features_than_its_arrays_have_is_refused(tmp_path, features):
    path = tmp_path / "a.model"
    save(make_pipeline(StandardScaler(), SVC()).fit(X, Y), path)
    header, arrays = read_archive(path)
    (_, steps) = next(pair for pair in header["before"]["state"]["items"] if pair[0] == "steps")
    state = steps["items"][0]["items"][1]["state"]["items"]
    next(pair for pair in state if pair[0] == "n_features_in_")[1] = features
    write_archive(path, header, arrays)
    tracemalloc.start()
    try:
        with pytest.raises(FileError, match="its arrays have 4 at most"):
            load(path)
        assert tracemalloc.get_traced_memory()[1] < 8e6
    finally:
        tracemalloc.stop()


def test_a_file_does_not_choose_where_a_pipeline_caches(tmp_path):
    folder = str(tmp_path / "cache")
    inner = Pipeline([("scale", StandardScaler()), ("turn", PCA(2))], memory=folder)
    again = reloaded(make_pipeline(inner, SVC()).fit(X, Y), tmp_path)
    assert again[0].memory is None

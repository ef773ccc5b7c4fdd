"""SVCCV and SVRCV: what they find, what they are after fit, and how they end."""

import copy
import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_iris, make_classification, make_friedman1
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import accuracy_score, r2_score
from sklearn.model_selection import (
    GridSearchCV,
    KFold,
    ShuffleSplit,
    StratifiedKFold,
    cross_val_predict,
    cross_val_score,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import widemargin
from widemargin import SVC, SVCCV, SVR, SVRCV, verify
from widemargin.calibration import PlattScaling
from widemargin.io import load, save, to_sklearn
from widemargin.model_selection.held_out import held_out
from widemargin.model_selection.one_cell import OpenCell
from widemargin.plots.multipliers import conditions_of

X, Y = make_classification(120, 5, n_informative=4, n_redundant=0, flip_y=0.1, random_state=1)
CS, GAMMAS = [0.3, 3.0, 30.0], [0.03, 0.3]
GRID = {"Cs": CS, "gammas": GAMMAS, "cv": 3}
QUIET = pytest.mark.filterwarnings("ignore:The best score is at")


@pytest.fixture(scope="module")
def fitted():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return SVCCV(**GRID, probability=True, tol=1e-6).fit(X, Y)


# ---- the search


def test_on_a_grid_it_finds_what_scikit_learn_s_search_finds(fitted):
    theirs = GridSearchCV(SVC(tol=1e-6), {"C": CS, "gamma": GAMMAS}, cv=3).fit(X, Y)
    assert set(theirs.cv_results_) == set(fitted.cv_results_)
    for name, column in theirs.cv_results_.items():
        if "time" not in name and name != "params":
            np.testing.assert_allclose(fitted.cv_results_[name].astype(float), column.astype(float), err_msg=name)
            assert fitted.cv_results_[name].dtype == column.dtype or name.startswith("param_")
    assert fitted.cv_results_["params"] == theirs.cv_results_["params"]
    assert fitted.best_params_ == theirs.best_params_ and fitted.best_index_ == theirs.best_index_
    assert fitted.best_score_ == pytest.approx(theirs.best_score_)
    assert fitted.n_splits_ == 3 and fitted.search_complete_ is True
    assert fitted.Cs_.tolist() == CS and fitted.gammas_.tolist() == GAMMAS and fitted.scores_.shape == (3, 2, 3)
    row, column = CS.index(fitted.C_), GAMMAS.index(fitted.gamma_)
    assert fitted.scores_[row, column].mean() == fitted.best_score_
    assert fitted.edges_ == {"C": [0, 0], "gamma": [0, 0]}


def test_after_fit_it_is_the_machine(fitted):
    plain = SVC(C=fitted.C_, gamma=fitted.gamma_, tol=1e-6).fit(X, Y)
    np.testing.assert_array_equal(fitted.support_, plain.support_)
    np.testing.assert_allclose(fitted.decision_function(X), plain.decision_function(X), atol=1e-5)
    assert fitted.certificate_.holds and verify(fitted, X, Y).holds
    assert isinstance(fitted, SVC) and (fitted.C, fitted.gamma) == (fitted.C_, fitted.gamma_)
    assert conditions_of(fitted, X, Y).violation.max() < 1e-4
    alone = fitted.to_machine()
    assert type(alone) is SVC and alone.get_params()["C"] == fitted.C_ and not hasattr(alone, "cv_results_")
    np.testing.assert_array_equal(alone.predict_proba(X), fitted.predict_proba(X))
    np.testing.assert_allclose(to_sklearn(fitted).decision_function(X), fitted.decision_function(X), atol=1e-9)


def test_C_and_gamma_are_no_parameters():
    assert {"C", "gamma", "epsilon"}.isdisjoint(SVCCV().get_params()) and "epsilon" not in SVRCV().get_params()
    with pytest.raises(TypeError, match="unexpected keyword"):
        SVCCV(C=1.0)
    with pytest.raises(AttributeError, match="SVCCV finds C_ by itself: call fit first"):
        _ = SVCCV().C


def test_held_out_values_are_those_of_machines_that_did_not_see_the_sample(fitted):
    machine = SVC(C=fitted.C_, gamma=fitted.gamma_, tol=1e-6)
    expected = cross_val_predict(machine, X, Y, cv=3, method="decision_function")
    np.testing.assert_allclose(fitted.oof_decision_, expected, atol=1e-5)


def test_probabilities_come_from_the_held_out_values(fitted):
    platt = PlattScaling().fit(fitted.oof_decision_, Y)
    np.testing.assert_allclose([fitted.probA_, -fitted.probB_], [platt.A_, platt.B_], rtol=1e-6)
    expected = platt.predict_proba(fitted.decision_function(X))
    agree = expected.argmax(axis=1) == fitted.predict(X)  # others are moved so that predict comes first
    np.testing.assert_allclose(fitted.predict_proba(X)[agree], expected[agree], atol=1e-6)
    assert agree.mean() > 0.9
    with pytest.raises(AttributeError, match="has no attribute 'predict_proba'"):
        SVCCV(**GRID).predict_proba  # noqa: B018


@QUIET
@pytest.mark.parametrize("scheme", ["ovo", "ovr"])
def test_probabilities_of_many_classes_are_coupled(scheme):
    iris, species = load_iris(return_X_y=True)
    model = SVCCV(Cs=[1.0, 10.0], gammas=[0.1], cv=3, probability=True, multi_class=scheme).fit(iris, species)
    found = model.predict_proba(iris)
    np.testing.assert_allclose(found.sum(axis=1), 1.0)
    np.testing.assert_array_equal(found.argmax(axis=1), model.predict(iris))
    assert model.oof_decision_.shape == (150, 3) and accuracy_score(species, found.argmax(axis=1)) > 0.95
    if scheme == "ovo":
        platt = PlattScaling().fit(model.oof_decision_, species)
        np.testing.assert_allclose(model.probA_, platt.A_, rtol=1e-6)


def test_probabilities_need_no_further_fit(monkeypatch):
    fits = []
    run = SVC._fit
    monkeypatch.setattr(SVC, "_fit", lambda self, *given: fits.append(type(self)) or run(self, *given))
    SVCCV(Cs=[1.0], gammas=[0.1], cv=3, probability=True).fit(X, Y)
    assert fits == [SVCCV]


def test_its_own_ranges_are_refined_and_reach_the_full_grid():
    model = SVCCV(cv=3).fit(X, Y)
    assert len(model.Cs_) > 5 and len(model.gammas_) > 5 and 25 < len(model.cv_results_["params"]) < 60
    grid = {"C": 2.0 ** np.arange(-5, 16, 2), "gamma": 2.0 ** np.arange(-15, 4, 2)}
    full = GridSearchCV(SVC(), grid, cv=3).fit(X, Y)
    error = np.std(full.cv_results_["std_test_score"][full.best_index_]) + np.sqrt(0.1 / len(Y))
    assert model.best_score_ >= full.best_score_ - error


def test_an_int_is_the_number_of_values_to_begin_with():
    model = SVCCV(Cs=2, gammas=1, cv=2).fit(X, Y)
    assert len(model.Cs_) >= 2 and len(model.cv_results_["params"]) < 40


def test_one_se_chooses_a_simpler_machine_within_one_standard_error(fitted):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model = SVCCV(**GRID, selection="one_se").fit(X, Y)
    mean, folds = fitted.scores_.mean(axis=2), fitted.scores_
    error = folds[CS.index(fitted.C_), GAMMAS.index(fitted.gamma_)].std(ddof=1) / np.sqrt(3)
    enough = [(C, g) for i, C in enumerate(CS) for j, g in enumerate(GAMMAS) if mean[i, j] >= mean.max() - error]
    assert (model.C_, model.gamma_) == enough[0] and model.C_ <= fitted.C_


@QUIET
def test_a_function_selects():
    model = SVCCV(**GRID, selection=lambda results: 4).fit(X, Y)
    assert model.best_index_ == 4 and model.best_params_ == {"C": 30.0, "gamma": 0.03}
    with pytest.raises(ValueError, match="selection must return the index of a cell of cv_results_, 0 to 5; got 6"):
        SVCCV(**GRID, selection=lambda results: 6).fit(X, Y)


@QUIET
@pytest.mark.parametrize("scoring", ["f1", "roc_auc", "neg_mean_squared_error"])
def test_scorers_see_the_held_out_answers(scoring):
    theirs = GridSearchCV(SVC(tol=1e-6), {"C": CS, "gamma": GAMMAS}, cv=3, scoring=scoring).fit(X, Y)
    ours = SVCCV(**GRID, scoring=scoring, tol=1e-6).fit(X, Y)
    np.testing.assert_allclose(ours.cv_results_["mean_test_score"], theirs.cv_results_["mean_test_score"])


@QUIET
def test_a_scorer_of_one_s_own_and_one_of_probabilities():
    def wrong_only(model, X, y):
        return -float(np.sum(model.predict(X) != y))

    model = SVCCV(**GRID, scoring=wrong_only).fit(X, Y)
    assert model.best_score_ == model.cv_results_["mean_test_score"].max() <= 0
    with pytest.raises(ValueError, match="needs probabilities, and a held-out cell has decision values only"):
        SVCCV(**GRID, scoring="neg_log_loss", probability=True).fit(X, Y)


# ---- splits and weights


@QUIET
def test_folds_are_those_of_scikit_learn_or_shuffled():
    plain, given = SVCCV(**GRID).fit(X, Y), SVCCV(**GRID | {"cv": StratifiedKFold(3)}).fit(X, Y)
    np.testing.assert_array_equal(plain.scores_, given.scores_)
    shuffled = SVCCV(**GRID, random_state=5).fit(X, Y)
    given = SVCCV(**GRID | {"cv": StratifiedKFold(3, shuffle=True, random_state=5)}).fit(X, Y)
    np.testing.assert_array_equal(shuffled.scores_, given.scores_)
    assert (shuffled.scores_ != plain.scores_).any()


@QUIET
def test_weight_zero_is_the_sample_left_out_and_weight_two_the_sample_twice():
    weight = np.ones(len(Y))
    weight[::4] = 0.0
    kept = np.flatnonzero(weight)
    weighted = SVCCV(**GRID, probability=True, tol=1e-8).fit(X, Y, weight)
    without = SVCCV(**GRID, probability=True, tol=1e-8).fit(X[kept], Y[kept])
    np.testing.assert_array_equal(weighted.scores_, without.scores_)
    np.testing.assert_allclose(weighted.predict_proba(X), without.predict_proba(X), atol=1e-6)
    assert np.isnan(weighted.oof_decision_[::4]).all() and np.isfinite(weighted.oof_decision_[kept]).all()
    rows = np.arange(len(Y))
    splits = [(rows[k::2], rows[1 - k :: 2]) for k in range(2)]
    heavy = SVCCV(**GRID | {"cv": splits}, tol=1e-8).fit(X, Y, np.full(len(Y), 2.0))
    again = SVCCV(**GRID | {"cv": [(np.r_[a, a + len(Y)], np.r_[b, b + len(Y)]) for a, b in splits]}, tol=1e-8)
    again.fit(np.vstack([X, X]), np.r_[Y, Y])
    np.testing.assert_allclose(heavy.scores_, again.scores_)


@QUIET
def test_splits_that_are_no_partition():
    model = SVCCV(**GRID | {"cv": ShuffleSplit(4, test_size=0.2, random_state=0)}, probability=True).fit(X, Y)
    tested = np.unique(np.concatenate([test for _, test in ShuffleSplit(4, test_size=0.2, random_state=0).split(X)]))
    np.testing.assert_array_equal(np.flatnonzero(np.isfinite(model.oof_decision_)), tested)
    assert np.isfinite(model.predict_proba(X)).all()
    with pytest.raises(ValueError, match="Split 0 of cv has 0 samples to train on"):
        SVCCV(**GRID | {"cv": [([], [0, 1])]}).fit(X, Y)
    with pytest.raises(ValueError, match="cv has no splits"):
        SVCCV(**GRID | {"cv": []}).fit(X, Y)


@QUIET
def test_few_samples_of_a_class_make_fewer_folds_by_default():
    few = np.r_[np.flatnonzero(Y == 0)[:3], np.flatnonzero(Y == 1)[:20]]
    assert SVCCV(Cs=[1.0], gammas=[0.1]).fit(X[few], Y[few]).n_splits_ == 3
    with (
        pytest.warns(UserWarning, match="least populated class"),
        pytest.raises(ValueError, match="Split 0 of cv trains on samples of one class only: each class needs at least"),
    ):
        SVCCV(Cs=[1.0], gammas=[0.1]).fit(X[few[2:]], Y[few[2:]])


# ---- kernels


@QUIET
def test_kernels_without_gamma_search_C_only():
    linear = SVCCV(kernel="linear", Cs=[0.1, 1.0], cv=3).fit(X, Y)
    expected = linear.scores_
    assert linear.best_params_ == {"C": linear.C_} and expected.shape == (2, 3) and not hasattr(linear, "gamma_")
    for model, data in (
        (SVCCV(kernel="precomputed", Cs=[0.1, 1.0], cv=3), X @ X.T),
        (SVCCV(kernel=lambda A, B: A @ B.T, Cs=[0.1, 1.0], cv=3), X),
        (SVCCV(kernel="linear", Cs=[0.1, 1.0], cv=3), sp.csr_matrix(X)),
    ):
        np.testing.assert_allclose(model.fit(data, Y).scores_, expected)
        np.testing.assert_array_equal(model.predict(data), linear.predict(X))
    with pytest.raises(ValueError, match="kernel='linear' has no gamma: leave gammas out"):
        SVCCV(kernel="linear", gammas=[0.1]).fit(X, Y)
    with pytest.raises(
        ValueError, match=r"gammas must be a list of numbers 0 or more.*; got \['scale'\] \(gamma='scale'"
    ):
        SVCCV(gammas=["scale"]).fit(X, Y)
    own = SVCCV(kernel="precomputed", cv=3).fit(X @ X.T, Y)
    assert own.search_complete_ and own.score(X @ X.T, Y) > 0.7
    other = SVCCV(Cs=[1.0], gammas=[0.1], cv=3).fit(X, Y).set_params(kernel="linear", gammas=None).fit(X, Y)
    assert not hasattr(other, "gamma_") and not hasattr(other, "gammas_")


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"Cs": [0.0, 1.0]}, r"Cs must be a list of numbers above 0, at least one; got \[0.0, 1.0\]"),
        ({"Cs": []}, "Cs must be a list of numbers above 0, at least one"),
        ({"gammas": [[1.0]]}, "gammas must be a list of numbers 0 or more"),
        ({"gammas": [np.nan]}, "gammas must be a list"),
        ({"Cs": 0}, "'Cs' parameter of SVCCV must be"),
        ({"scoring": "accurate"}, "'scoring' parameter of SVCCV must be"),
        ({"selection": "worst"}, "'selection' parameter of SVCCV must be"),
    ],
)
def test_bad_input_gets_a_sentence(parameters, message):
    with pytest.raises(ValueError, match=message):
        SVCCV(**parameters).fit(X, Y)


# ---- regression


TARGETS, HEIGHTS = make_friedman1(90, noise=0.5, random_state=0)


def test_a_regression_finds_epsilon_too():
    model = SVRCV(cv=3).fit(TARGETS, HEIGHTS)
    assert list(model.best_params_) == ["C", "gamma", "epsilon"] and model.epsilon == model.epsilon_
    assert model.scores_.shape == (len(model.Cs_), len(model.gammas_), len(model.epsilons_), 3)
    assert model.best_score_ > 0.7 and model.certificate_.holds and verify(model, TARGETS, HEIGHTS).holds
    machine = SVR(C=model.C_, gamma=model.gamma_, epsilon=model.epsilon_)
    np.testing.assert_allclose(
        cross_val_predict(machine, TARGETS, HEIGHTS, cv=KFold(3)), model.oof_decision_, atol=0.01
    )
    scores = [r2_score(HEIGHTS[test], model.oof_decision_[test]) for _, test in KFold(3).split(TARGETS)]
    assert np.mean(scores) == pytest.approx(model.best_score_)


def test_a_regression_s_ranges_follow_the_scale_of_y():
    small = SVRCV(cv=3).fit(TARGETS, HEIGHTS)
    large = SVRCV(cv=3, tol=1.0).fit(TARGETS, 1000.0 * HEIGHTS)
    assert pytest.approx(1000 * small.C_, rel=0.02) == large.C_
    assert large.epsilon_ == pytest.approx(1000 * small.epsilon_, rel=0.02)
    assert type(small.to_machine()) is SVR and small.to_machine().epsilon == small.epsilon_


@QUIET
def test_given_epsilons_are_a_third_axis_of_the_grid():
    model = SVRCV(Cs=[1.0, 10.0], gammas=[0.1], epsilons=[0.1, 1.0, 10.0], cv=3).fit(TARGETS, HEIGHTS)
    assert model.scores_.shape == (2, 1, 3, 3) and np.isfinite(model.scores_).all()
    theirs = GridSearchCV(SVR(), {"C": [1.0, 10.0], "gamma": [0.1], "epsilon": [0.1, 1.0, 10.0]}, cv=3)
    assert model.best_params_ == theirs.fit(TARGETS, HEIGHTS).best_params_


def test_every_score_nan_is_an_error_with_advice():
    with pytest.raises(ValueError, match=r"Every score is nan.*neg_mean_squared_error"):
        SVRCV(Cs=1, gammas=1, cv=KFold(12)).fit(TARGETS[:12], HEIGHTS[:12])


# ---- how it ends


def test_the_edge_of_a_given_grid_warns():
    with pytest.warns(UserWarning, match="The best score is at C = 1, the largest value tried: .*Give Cs with larger"):
        SVCCV(Cs=[0.001, 1.0], gammas=[0.1], cv=3).fit(X, Y)


def cut_after(monkeypatch, n_cells):
    """Let `held_out` finish so many cells of every call, as if a deadline had passed then."""
    plain = held_out

    def cut(estimator, X, y, candidates, splits, *more):
        cells = plain(estimator, X, y, candidates[:n_cells], splits, *more)
        return cells + [[None] * len(splits) for _ in candidates[n_cells:]]

    monkeypatch.setattr("widemargin.model_selection.cell_search.held_out", cut)


@QUIET
def test_a_search_that_was_cut_is_fitted_and_resume_finishes_it(monkeypatch, tmp_path):
    whole = SVCCV(cv=3, probability=True, tol=1e-6).fit(X, Y)
    cut_after(monkeypatch, 4)
    model = SVCCV(cv=3, probability=True, tol=1e-6)
    with pytest.warns(ConvergenceWarning, match=r"ended early, after 4 cells: C = .* resume\(X, y\) continues"):
        model.fit(X, Y)
    assert not model.search_complete_ and model.certificate_.holds and model.predict(X).shape == Y.shape
    monkeypatch.undo()
    save(model, tmp_path / "cut.model")
    for begun in (copy.copy(model), pickle.loads(pickle.dumps(model)), load(tmp_path / "cut.model")):
        begun.resume(X, Y)
        assert begun.search_complete_ and begun.best_params_ == whole.best_params_
        np.testing.assert_array_equal(begun.scores_, whole.scores_)
        np.testing.assert_allclose(begun.oof_decision_, whole.oof_decision_, atol=1e-5)
        np.testing.assert_allclose(begun.predict_proba(X), whole.predict_proba(X), atol=1e-4)
    n_cells = len(whole.cv_results_["params"])
    again = copy.copy(whole).resume(X, Y, tol=1e-8)
    assert len(again.cv_results_["params"]) == n_cells and again.certificate_.tol == 1e-8


def test_resume_with_other_splits_is_refused(fitted):
    other = copy.copy(fitted).set_params(cv=4)
    with pytest.raises(ValueError, match="made with 3 splits over C, gamma, and now there are 4"):
        other.resume(X, Y)
    assert other.best_score_ == fitted.best_score_


def test_time_limit_returns_the_best_so_far():
    with pytest.warns(ConvergenceWarning, match="The search ended early"), pytest.warns(match="The time limit ended"):
        model = SVCCV(time_limit=1e-6, probability=True).fit(X, Y)
    assert not model.search_complete_ and model.predict(X).shape == Y.shape
    assert np.isnan(model.best_score_) and np.isfinite(model.predict_proba(X)).all()
    model.resume(X, Y, time_limit=1000.0)
    assert model.search_complete_ and np.isfinite(model.best_score_)


def press_in(monkeypatch, number):
    """Press Ctrl-C when so many problems are solved: 15 for each gamma, fold after fold."""
    import signal

    solved = []
    note = OpenCell.note

    def pressed(self, *given):
        solved.append(self)
        if len(solved) == number:
            signal.raise_signal(signal.SIGINT)
        return note(self, *given)

    monkeypatch.setattr(OpenCell, "note", pressed)
    return solved


def test_ctrl_c_keeps_the_best_so_far_or_raises(monkeypatch):
    solved = press_in(monkeypatch, 50)
    model = SVCCV(cv=3, n_jobs=1)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, Y)
    assert len(solved) <= 51
    assert 5 <= len(model.cv_results_["params"]) < 20 and model.certificate_.holds
    assert model.predict(X).shape == Y.shape
    solved.clear()
    with pytest.warns(ConvergenceWarning, match="The search ended early, after [0-9]+ cells"):
        kept = SVCCV(cv=3, n_jobs=1, on_interrupt="keep").fit(X, Y)
    assert kept.C_ == model.C_
    solved.clear()
    with pytest.raises(KeyboardInterrupt):
        cross_val_score(SVCCV(cv=3, on_interrupt="keep"), X, Y)


def test_ctrl_c_before_the_first_cell_raises_at_once(monkeypatch):
    solved = press_in(monkeypatch, 2)
    model = SVCCV(cv=3, n_jobs=1, on_interrupt="keep")
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, Y)
    assert len(solved) <= 3 and not hasattr(model, "support_")


# ---- among tools


def test_files_pickles_and_clones(fitted, tmp_path):
    save(fitted, tmp_path / "tuned.model")
    for model in (load(tmp_path / "tuned.model"), pickle.loads(pickle.dumps(fitted))):
        assert type(model) is SVCCV and model.best_params_ == fitted.best_params_
        np.testing.assert_array_equal(model.predict_proba(X), fitted.predict_proba(X))
        np.testing.assert_array_equal(model.scores_, fitted.scores_)
        assert model.cv_results_.keys() == fitted.cv_results_.keys() and model.edges_ == fitted.edges_
        assert isinstance(model.cv_results_["param_C"], np.ma.MaskedArray)
    assert clone(fitted).get_params() == fitted.get_params() and not hasattr(clone(fitted), "C_")
    regression = SVRCV(Cs=2, gammas=2, epsilons=1, cv=2).fit(TARGETS, HEIGHTS)
    save(regression, tmp_path / "line.model")
    np.testing.assert_array_equal(load(tmp_path / "line.model").predict(TARGETS), regression.predict(TARGETS))


@QUIET
def test_the_honest_estimate_and_a_pipeline():
    scores = cross_val_score(make_pipeline(StandardScaler(), SVCCV(**GRID)), X, Y, cv=3)
    assert scores.shape == (3,) and 0.6 < scores.mean() <= 1.0


def test_progress_is_written_where_it_is_asked_for(capsys):
    SVCCV(Cs=[1.0], gammas=[0.1], cv=3, verbose=2).fit(X, Y)
    assert "SVCCV 3 of at least 3 fits; best 0." in capsys.readouterr().err
    SVCCV(Cs=[1.0], gammas=[0.1], cv=3, verbose=1).fit(X, Y)
    assert capsys.readouterr().err == ""


def test_public_names():
    assert widemargin.SVCCV is widemargin.model_selection.SVCCV and "SVRCV" in dir(widemargin.model_selection)

"""patch_sklearn puts our classes where theirs are expected, in every module, and unpatch_sklearn takes them away."""

import pickle
import sys
import threading
import types

import pytest
import sklearn.svm
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

import widemargin

THEIRS = {name: getattr(sklearn.svm, name) for name in ("SVC", "NuSVC", "SVR", "NuSVR", "OneClassSVM")}


@pytest.fixture
def user_module():
    """A module of a user who imported a class long ago, under a name of his own."""
    module = types.ModuleType("module_of_a_user")
    module.Machine = THEIRS["SVC"]
    module.SVC = "something else"
    sys.modules[module.__name__] = module
    yield module
    del sys.modules[module.__name__]


@pytest.fixture(autouse=True)
def clean():
    yield
    widemargin.unpatch_sklearn()
    assert {name: getattr(sklearn.svm, name) for name in THEIRS} == THEIRS


def test_all_classes_are_swapped_and_given_back(user_module):
    widemargin.patch_sklearn()
    for name in THEIRS:
        assert getattr(sklearn.svm, name) is getattr(widemargin, name)
    assert user_module.Machine is widemargin.SVC
    assert user_module.SVC == "something else"
    widemargin.unpatch_sklearn()
    assert user_module.Machine is THEIRS["SVC"]
    assert sklearn.svm.OneClassSVM is THEIRS["OneClassSVM"]


def test_twice_is_once(user_module):
    widemargin.patch_sklearn()
    widemargin.patch_sklearn()
    assert sklearn.svm.SVC is widemargin.SVC
    widemargin.unpatch_sklearn()
    assert sklearn.svm.SVC is THEIRS["SVC"] and user_module.Machine is THEIRS["SVC"]
    widemargin.unpatch_sklearn()
    assert sklearn.svm.SVC is THEIRS["SVC"]


def test_a_second_call_reaches_modules_loaded_since(user_module):
    del sys.modules[user_module.__name__]
    widemargin.patch_sklearn()
    sys.modules[user_module.__name__] = user_module
    assert user_module.Machine is THEIRS["SVC"]
    widemargin.patch_sklearn()
    assert user_module.Machine is widemargin.SVC
    widemargin.unpatch_sklearn()
    assert user_module.Machine is THEIRS["SVC"]


def test_as_a_context_manager():
    with widemargin.patch_sklearn() as patch:
        assert sklearn.svm.NuSVR is widemargin.NuSVR
        assert "NuSVR" in repr(patch)
    assert sklearn.svm.NuSVR is THEIRS["NuSVR"]
    with pytest.raises(ZeroDivisionError), widemargin.patch_sklearn():
        raise ZeroDivisionError
    assert sklearn.svm.NuSVR is THEIRS["NuSVR"]


def test_an_inner_context_leaves_the_outer_patch_on():
    with widemargin.patch_sklearn():
        with widemargin.patch_sklearn():
            pass
        assert sklearn.svm.SVC is widemargin.SVC
    assert sklearn.svm.SVC is THEIRS["SVC"]


def test_blocks_that_overlap_end_with_the_last_one():
    first, second = widemargin.patch_sklearn(), widemargin.patch_sklearn(["SVC"])
    with second:
        with first:
            pass
        assert sklearn.svm.SVC is widemargin.SVC and sklearn.svm.SVR is THEIRS["SVR"]
    assert sklearn.svm.SVC is THEIRS["SVC"]


def test_a_call_inside_a_block_outlives_it():
    with widemargin.patch_sklearn():
        widemargin.patch_sklearn(["SVC"])
    assert sklearn.svm.SVC is widemargin.SVC and sklearn.svm.SVR is THEIRS["SVR"]


def test_a_block_that_was_undone_inside_undoes_nothing_else():
    with widemargin.patch_sklearn():
        widemargin.unpatch_sklearn()
        assert sklearn.svm.SVC is THEIRS["SVC"]
        widemargin.patch_sklearn()
    assert sklearn.svm.SVC is widemargin.SVC


def test_some_classes_only():
    with widemargin.patch_sklearn(["SVR"]):
        assert sklearn.svm.SVR is widemargin.SVR
        assert sklearn.svm.SVC is THEIRS["SVC"]
        with widemargin.patch_sklearn(["SVR", "SVC"]):
            assert sklearn.svm.SVC is widemargin.SVC
        assert sklearn.svm.SVR is widemargin.SVR and sklearn.svm.SVC is THEIRS["SVC"]
    with pytest.raises(ValueError, match=r"sklearn\.svm\.KNN: choose among SVC, NuSVC"):
        widemargin.patch_sklearn(["KNN"])


def test_a_name_bound_anew_meanwhile_is_left_alone(user_module):
    widemargin.patch_sklearn()
    user_module.Machine = "mine now"
    widemargin.unpatch_sklearn()
    assert user_module.Machine == "mine now"


def test_pickled_models_of_scikit_learn_stay_what_they_are():
    model = THEIRS["SVC"]().fit([[0.0], [1.0]], [0, 1])
    text = pickle.dumps(model)
    with widemargin.patch_sklearn():
        again = pickle.loads(text)
        assert type(again) is THEIRS["SVC"]
        assert again.predict([[0.9]]).tolist() == [1]
        assert pickle.dumps(model) == text


def test_programs_that_know_scikit_learn_only():
    X, y = [[0.0], [1.0], [0.1], [1.1]], [0, 1, 0, 1]
    with widemargin.patch_sklearn():
        search = GridSearchCV(sklearn.svm.SVC(), {"C": [1, 10]}, cv=2).fit(X, y)
        assert clone(search.best_estimator_).fit(X, y).certificate_.holds
        assert isinstance(sklearn.svm.SVR(), widemargin.SVR)
    assert search.predict([[0.9]]).tolist() == [1]


def test_calls_from_many_threads_leave_nothing_behind():
    def work():
        for _ in range(3):
            with widemargin.patch_sklearn():
                pass

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sklearn.svm.SVC is THEIRS["SVC"]


def test_searches_are_swapped_on_request():
    import sklearn.model_selection as theirs

    from widemargin import model_selection as ours

    originals = theirs.GridSearchCV, theirs.RandomizedSearchCV
    with widemargin.patch_sklearn():
        assert (theirs.GridSearchCV, theirs.RandomizedSearchCV) == originals
        with widemargin.patch_sklearn(searches=True):
            assert theirs.GridSearchCV is ours.GridSearchCV
            assert theirs.RandomizedSearchCV is ours.RandomizedSearchCV
            assert sklearn.svm.SVC is widemargin.SVC
            assert issubclass(ours.GridSearchCV, originals[0])
        assert (theirs.GridSearchCV, theirs.RandomizedSearchCV) == originals
    with widemargin.patch_sklearn(["SVC"], searches=True) as patch:
        assert patch.names == ("SVC", "GridSearchCV", "RandomizedSearchCV")
        assert sklearn.svm.SVR is THEIRS["SVR"]
    widemargin.patch_sklearn(["GridSearchCV"])
    assert theirs.GridSearchCV is ours.GridSearchCV and sklearn.svm.SVC is THEIRS["SVC"]
    widemargin.unpatch_sklearn()
    assert theirs.GridSearchCV is originals[0]

"""Replace the classes of `sklearn.svm`, and searches if asked for, by ours, and undo the replacement.

Every name in a loaded module that is bound to one of these classes is bound to ours of the same name: in `sklearn.svm`
itself, in scikit-learn's own modules and in the user's, whatever the name there (`from sklearn.svm import SVC as
Machine`). All changes are recorded, and exactly these are undone, class by class, when the last call that asked for a
class is undone: `with` blocks may be nested, and may overlap in several threads.

Left alone   the module that defines the class, so that models pickled by scikit-learn still load as what they are;
             objects that exist already; names inside functions, classes and containers.
"""

from __future__ import annotations

import importlib
import sys
import threading
from collections.abc import Iterable
from types import ModuleType, TracebackType

from widemargin.estimators.registry import SKLEARN_COUNTERPARTS
from widemargin.parallel.after_fork import in_child_after_fork

SEARCHES = ("GridSearchCV", "RandomizedSearchCV")

_lock = threading.RLock()
_replaced: dict[str, list[tuple[ModuleType, str]]] = {}  # class -> the modules and names that are now bound to ours
_originals: dict[str, type] = {}  # class -> scikit-learn's
_asked: dict[str, set[Patch]] = {}  # class -> the calls that replaced it and have not been undone


@in_child_after_fork
def _renew_lock() -> None:
    global _lock
    _lock = threading.RLock()


class Patch:
    """One call of `patch_sklearn`; as a context manager it undoes the call at the end of the block."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self.names = names

    def __enter__(self) -> Patch:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None):
        with _lock:
            for name in self.names:
                holders = _asked.get(name, set())
                if self in holders:  # else unpatch_sklearn has undone it
                    holders.remove(self)
                    if not holders:
                        _restore(name)

    def __repr__(self) -> str:
        return f"Patch({', '.join(self.names)})"


def patch_sklearn(names: Iterable[str] | None = None, *, searches: bool = False) -> Patch:
    """Replace the classes of `sklearn.svm` by those of this package, everywhere in this process.

    Modules that imported the classes before are changed as well. Calling it again changes nothing more, except in
    modules loaded since.

    Parameters
    ----------
    names : iterable of str, default None
        Classes to replace, such as ["SVC", "SVR"]; None means all of `sklearn.svm` that this package has.
    searches : bool, default False
        Replace `GridSearchCV` and `RandomizedSearchCV` of `sklearn.model_selection` too.

    Returns
    -------
    patch : Patch
        A context manager that undoes this call at the end of the block. `unpatch_sklearn` undoes all calls.

    Notes
    -----
    It changes modules, which all threads share: within a `with` block other threads see our classes too, and of blocks
    that overlap the last one undoes the replacement.

    Call it first of all: a module that imports `SVC` from scikit-learn while the patch is on keeps ours afterwards.
    Parameters mean what they mean in this package, `tol` of `LinearSVC` too, and models pickled meanwhile are
    widemargin's, which is needed to load them; docs/coming-from-scikit-learn.md lists all differences.

    Examples
    --------
    >>> import sklearn.svm
    >>> import widemargin
    >>> with widemargin.patch_sklearn():
    ...     sklearn.svm.SVC.__module__
    'widemargin.estimators.svc'
    >>> sklearn.svm.SVC.__module__
    'sklearn.svm._classes'
    """
    ours = _our_classes()
    chosen = SKLEARN_COUNTERPARTS if names is None else _known([names] if isinstance(names, str) else names, ours)
    chosen = tuple(dict.fromkeys((*chosen, *SEARCHES))) if searches else chosen
    patch = Patch(chosen)
    with _lock:
        for name in chosen:
            if name not in _replaced:
                _originals[name] = getattr(importlib.import_module(f"sklearn.{_home(name)}"), name)
                _replaced[name] = []
            _asked.setdefault(name, set()).add(patch)
        _rebind(chosen, ours)
    return patch


def unpatch_sklearn(names: Iterable[str] | None = None) -> None:
    """Undo all calls of `patch_sklearn`; does nothing where it was not called.

    Parameters
    ----------
    names : iterable of str, default None
        Classes to restore; None means all.

    Examples
    --------
    >>> import widemargin
    >>> patch = widemargin.patch_sklearn(["SVC"])
    >>> widemargin.unpatch_sklearn()
    """
    ours = _our_classes()
    with _lock:
        chosen = tuple(_replaced) if names is None else _known([names] if isinstance(names, str) else names, ours)
        for name in chosen:
            _restore(name)


def _restore(name: str) -> None:
    """Give back every name that was bound to our class."""
    _asked.pop(name, None)
    ours = _our_classes()[name]
    for module, alias in _replaced.pop(name, []):
        if vars(module).get(alias) is ours:  # unless the name was rebound in the meantime
            setattr(module, alias, _originals[name])


def _our_classes() -> dict[str, type]:
    """Our counterparts by name."""
    import widemargin
    from widemargin import model_selection

    estimators = {name: getattr(widemargin, name) for name in SKLEARN_COUNTERPARTS}
    return estimators | {name: getattr(model_selection, name) for name in SEARCHES}


def _home(name: str) -> str:
    """The module of scikit-learn that has the class."""
    return "model_selection" if name in SEARCHES else "svm"


def _known(names: Iterable[str], ours: dict[str, type]) -> tuple[str, ...]:
    """Return the names as a tuple; raise an error for an unknown name."""
    chosen = tuple(names)
    for name in chosen:
        if name not in ours:
            raise ValueError(f"Nothing to put in the place of sklearn.svm.{name}: choose among {', '.join(ours)}.")
    return chosen


def _rebind(names: tuple[str, ...], ours: dict[str, type]) -> None:
    """Rebind every global name of a loaded module that is bound to a class of scikit-learn, and record it."""
    class_of = {id(_originals[name]): name for name in names}
    defining = {_originals[name].__module__ for name in names}
    for title, module in list(sys.modules.items()):
        if not isinstance(module, ModuleType) or title in defining:
            continue
        # the dictionary, not attributes, which would trigger imports of lazy modules
        for alias, value in list(vars(module).items()):
            name = class_of.get(id(value))
            if name is not None and value is _originals[name]:
                setattr(module, alias, ours[name])
                _replaced[name].append((module, alias))

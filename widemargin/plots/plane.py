"""The plane in feature space on which a model is drawn.

two features    the plane is the whole space
a chosen pair   the plane through `at` (the median of every feature by default) along the two features
"pca"           the plane through the mean along the first two principal components of the standardised features

With more than two features the boundary is a section through the model, while samples are projected onto the plane:
a sample may then appear on the wrong side of a line although the model places it correctly.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from widemargin.linalg.arrays import Matrix, Vector
from widemargin.plots.reading import axis_label, column_of, dense_features, feature_names, section_note


@dataclass(frozen=True, eq=False)
class Plane:
    """An affine plane: a point of it is `origin + u * directions[0] + v * directions[1]`.

    Attributes
    ----------
    origin : shape (n_features,)
    directions : shape (2, n_features)
    readers : shape (n_features, 2)
        Coordinates of a sample x are (x - origin) @ readers.
    names : labels of the two axes
    note : what was done with the other features; empty if there are none
    """

    origin: Vector
    directions: Matrix
    readers: Matrix
    names: tuple[str, str]
    note: str = ""

    @property
    def whole(self) -> bool:
        """Whether the plane is all of feature space."""
        return len(self.origin) == 2

    def project(self, X: Matrix) -> Matrix:
        """Coordinates on the plane, shape (n_samples, 2)."""
        return (X - self.origin) @ self.readers

    def lift(self, points: Matrix) -> Matrix:
        """The points of feature space with given coordinates, shape (n_points, n_features)."""
        return self.origin + points @ self.directions


def choose_plane(X: Any, features: Sequence[int | str] | str | None = None, at: Any = None, model: Any = None) -> Plane:
    """The plane to draw on.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
    features : None, a pair of column numbers or names, or "pca"
        None means the first two features.
    at : array-like of shape (n_features,), optional
        Where the section is cut when a pair is chosen; the medians by default.
    model : fitted model, optional
        It knows names of the features where X has none.

    Examples
    --------
    >>> import numpy as np
    >>> from widemargin.plots.plane import choose_plane
    >>> X = np.array([[0.0, 1.0, 5.0], [2.0, 3.0, 7.0], [4.0, 9.0, 6.0]])
    >>> plane = choose_plane(X, features=(0, 2))
    >>> plane.project(X).tolist(), plane.lift(np.array([[1.0, 2.0]])).tolist()
    ([[0.0, 5.0], [2.0, 7.0], [4.0, 6.0]], [[1.0, 3.0, 2.0]])
    """
    samples = dense_features(X)
    names = feature_names(X, model)
    if isinstance(features, str) and features == "pca":
        return _principal(samples)
    if features is None:
        if samples.shape[1] != 2:
            raise ValueError(
                f"A plane has two features; X has {samples.shape[1]}. Choose features=(i, j) to draw the section along "
                "two of them, or features='pca' to draw it along the first two principal components."
            )
        features = (0, 1)
    pair = _pair(features, names)
    origin = np.median(samples, axis=0) if at is None else np.array(at, dtype=np.float64)
    if origin.shape != (samples.shape[1],):
        raise ValueError(f"`at` must give one value for each of the {samples.shape[1]} features; got {origin.shape}.")
    origin[pair] = 0.0
    directions = np.zeros((2, samples.shape[1]))
    directions[[0, 1], pair] = 1.0
    note = section_note(samples.shape[1] - 2, "the medians" if at is None else "the given values")
    labels = (axis_label(names[pair[0]], model), axis_label(names[pair[1]], model))
    return Plane(origin, directions, directions.T.copy(), labels, note)


def _pair(features: Sequence[int | str] | str, names: list[str]) -> list[int]:
    """Column numbers of the two chosen features."""
    if isinstance(features, str) or len(features) != 2:
        raise ValueError(f"`features` must be a pair of columns or 'pca'; got {features!r}.")
    places = [column_of(feature, names) for feature in features]
    if places[0] == places[1]:
        raise ValueError(f"`features` must be two different columns; got {names[places[0]]!r} twice.")
    return places


def _principal(samples: Matrix) -> Plane:
    """Principal components of standardised features, so that no feature dominates by its unit."""
    if min(samples.shape) < 2:
        raise ValueError(f"features='pca' needs at least two samples and two features; X has shape {samples.shape}.")
    from sklearn.decomposition import PCA
    from sklearn.preprocessing import StandardScaler

    scaler = StandardScaler().fit(samples)
    found = PCA(2, svd_solver="full" if samples.shape[1] < 500 else "randomized", random_state=0)
    found.fit(scaler.transform(samples))
    share, axes, scale = found.explained_variance_ratio_, found.components_, scaler.scale_
    names = (f"component 1 ({share[0]:.0%} of variance)", f"component 2 ({share[1]:.0%})")
    note = f"section: through the mean, along 2 of {samples.shape[1]} principal components"
    return Plane(scaler.mean_, axes * scale, (axes / scale).T, names, note if samples.shape[1] > 2 else "")

"""The toy as a widget: points and parameters are traits, which travel both ways, and the model is fitted on demand."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import anywidget
import traitlets

from widemargin.playground.page import notebook_module, style
from widemargin.playground.points import arrays_from, checked_parameters, class_names, estimator_of
from widemargin.playground.verification import answer_to


class Toy(anywidget.AnyWidget):
    """The SVM toy in a notebook. Made by `widemargin.toy`.

    Attributes
    ----------
    points : list of [x, y, class]
        What the page shows; set it to move the points there. In a regression y is the target.
    parameters : dict
        machine ("svc", "nusvc", "svr", "oneclass"), kernel, C, gamma, degree, coef0, epsilon, nu, and the look.
    X, y : arrays
        The points as data for an estimator; y has the names of the classes the toy was given.
    model : fitted SVC, NuSVC, SVR or OneClassSVM
        Fitted by widemargin on the points as they are now.
    """

    _esm = notebook_module()
    _css = style()

    home = traitlets.Unicode("notebook").tag(sync=True)
    points: Any = traitlets.List().tag(sync=True)
    parameters = traitlets.Dict().tag(sync=True)
    request = traitlets.Dict().tag(sync=True)
    answer = traitlets.Dict().tag(sync=True)

    def __init__(self, points: list[list[float]], classes: list[Any], parameters: Mapping[str, Any]) -> None:
        super().__init__(points=points, parameters=dict(parameters))
        self.classes = classes
        self._fitted: tuple[Any, Any] | None = None

    @traitlets.validate("points")
    def _check_points(self, proposal: Any) -> list[list[float]]:
        if proposal["value"]:
            arrays_from(proposal["value"], "svc")
        return [list(point) for point in proposal["value"]]

    @traitlets.validate("parameters")
    def _check_parameters(self, proposal: Any) -> dict[str, Any]:
        return {**proposal["value"], **checked_parameters(proposal["value"])}

    @traitlets.observe("request")
    def _answer(self, change: Any) -> None:
        if change["new"]:
            self.answer = answer_to(change["new"])

    @property
    def X(self) -> Any:
        return arrays_from(self.points, self.parameters["machine"])[0]

    @property
    def y(self) -> Any:
        y = arrays_from(self.points, self.parameters["machine"])[1]
        if y is None or self.parameters["machine"] == "svr" or not self.classes:
            return y
        return class_names(self.classes, 1 + int(y.max(initial=0)))[y]

    @property
    def model(self) -> Any:
        now = (self.points, self.parameters)
        if self._fitted is None or self._fitted[0] != now:
            with warnings.catch_warnings():
                warnings.simplefilter("default")
                self._fitted = (now, estimator_of(self.parameters).fit(self.X, self.y))
        return self._fitted[1]

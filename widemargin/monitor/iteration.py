"""The progress record that solvers pass to their listeners, and the ways to combine listeners.

A solver calls `watch(iteration)` about once per round with an `Iteration`. `watch` is any callable with one argument;
its return value is ignored, and a KeyboardInterrupt raised by it ends the solver at its current point
(monitor/interrupt.py). It may be called from several threads.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import nan
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # `widemargin --help` imports this module without NumPy
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Iteration:
    """State of a solver after a round; a field keeps its default where a method has no such quantity.

    Attributes
    ----------
    violation : largest violation of the optimality conditions, or the measure of error the method stops by
    tol : violation at which the solver may stop
    objective : value of the minimised dual
    iterations, rounds : steps and outer rounds so far
    n_support, n_free : multipliers away from zero, and those strictly inside their box
    rows_computed : kernel rows evaluated so far
    seconds : time since the solver began
    bounds : lower and upper bound on the energy of a kernel system
    on_active_set : whether the round was on an active set (solvers/on_demand/shrinking.py): the violation is that of
        its variables, F is known at its samples only, and `point` evaluates kernel rows for all others
    point : returns the current (beta, F = K b), not copied
    error : returns the bound on the error of F, None where it is not tracked
    multipliers : returns a copy of beta, where F is not kept or costs kernel rows; may be called from any thread
    iterate : returns the current answer as a new object, for callbacks that need an intermediate model
    task, n_tasks : number of the problem, and number of problems of the fit (several for many classes)
    dual : the problem, inside a fit
    moved : the variables of the last step, where a solver reports every step: the one it looked at first, its partner
    measure : returns the quantities that must be computed at the point (problems/measure.py)

    Examples
    --------
    >>> from widemargin.monitor.iteration import Iteration
    >>> Iteration(violation=0.1, tol=1e-3, n_support=12).n_support
    12
    """

    violation: float
    tol: float
    objective: float = nan
    iterations: int = 0
    rounds: int = 0
    n_support: int = 0
    n_free: int = 0
    rows_computed: int | None = None
    seconds: float = 0.0
    bounds: tuple[float, float] | None = None
    on_active_set: bool = False
    point: Callable[[], tuple[NDArray[np.float64], NDArray[np.float64]]] | None = None
    error: Callable[[], NDArray[np.float64] | None] | None = None
    multipliers: Callable[[], NDArray[np.float64]] | None = None
    iterate: Callable[[], Any] | None = None
    task: int = 0
    n_tasks: int = 1
    dual: Any = None
    moved: tuple[int, ...] = ()
    measure: Callable[[], dict[str, float]] | None = None


Watch = Callable[[Iteration], Any]


def tell_all(listeners: Sequence[Watch]) -> Watch | None:
    """Combine listeners into one; return None if there are none."""
    if not listeners:
        return None

    def tell(iteration: Iteration) -> None:
        for listener in listeners:
            listener(iteration)

    return tell


def of_problem(listener: Watch | None, number: int, n_problems: int) -> Watch | None:
    """Return a listener that adds the number of the problem to every record."""
    if listener is None:
        return None
    return lambda iteration: listener(replace(iteration, task=number, n_tasks=n_problems))

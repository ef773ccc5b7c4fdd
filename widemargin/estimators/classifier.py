"""Base class of SVC and NuSVC: class labels, two-class problems, votes and probabilities."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from widemargin._sklearn import Hidden
from widemargin.calibration.held_out import Folds
from widemargin.calibration.sigmoid import agreeing_with, probabilities
from widemargin.estimators.base import Answer, KernelMachine, Run, Vector
from widemargin.estimators.fitted import coefficients_of, support_in
from widemargin.estimators.labels import ReadsLabels
from widemargin.estimators.parameters import estimator, one_of, option
from widemargin.estimators.plain_data import are_plain_labels
from widemargin.estimators.training_set import TrainingSet
from widemargin.estimators.whole_fit import whole_fit
from widemargin.gram.source import ClassPair
from widemargin.models import multiclass
from widemargin.models.expansion import warn_not_finite
from widemargin.models.multiclass import ClassPairs, TwoClass
from widemargin.models.single_precision import find_classes
from widemargin.monitor.stopping import Stopping
from widemargin.problems.dual import SignedDual
from widemargin.problems.warm_start import restart
from widemargin.training.class_pairs import train_class_pairs
from widemargin.training.task import Task, Trained


def offers_probabilities(machine: Any) -> bool:
    """predict_proba exists only where probability=True; "deprecated" is scikit-learn 1.9's default and means no."""
    if not machine._offers_probability:
        raise AttributeError("predict_proba is not available when probability=False")
    return True


@estimator
class KernelClassifier(ReadsLabels, KernelMachine):
    """Base of SVC and NuSVC.

    probability : bool, default "deprecated", which means False
        Fit sigmoids for `predict_proba` by five-fold cross-validation.
    decision_function_shape : {"ovr", "ovo"}, default "ovr"
        Shape of `decision_function` for more than two classes.
    break_ties : bool, default False
        Break ties between votes by the decision values.
    random_state : int, RandomState instance or None, default None
        Folds of `probability=True`.
    multi_class : {"ovo", "ovr"}, default "ovo"
        Train a model for each pair of classes, or one for each class against the rest.

    support_ : int array of shape (n_SV,)
        Indices of the support vectors in the training data, class by class.
    n_support_ : int array of shape (n_classes,)
    dual_coef_ : array or CSR matrix of shape (n_classes - 1, n_SV)
        Coefficients in the decision function, in LIBSVM's layout for more than two classes; (n_classes, n_SV) with
        multi_class="ovr". Positive for classes_[1] when there are two.
    intercept_ : array of shape (n_classes * (n_classes - 1) / 2,), or (n_classes,) with multi_class="ovr"
    coef_ : array of shape (n_machines, n_features)
        Weights of the features; only for a linear kernel.
    classes_, class_weight_ : arrays of shape (n_classes,)
    n_iter_ : int array of shape (n_machines,)
        Steps of the solver.
    probA_, probB_ : arrays of shape (n_machines,)
        Sigmoids of `predict_proba`, empty without probability=True. For two classes they belong to the negative of
        `decision_function`, as in scikit-learn.
    """

    probability: bool | str = option("deprecated", "boolean", Hidden(one_of("deprecated")))
    class_weight: dict | str | None = option(None, one_of("balanced"), dict, None)
    decision_function_shape: str = option("ovr", one_of("ovr", "ovo"))
    break_ties: bool = option(False, "boolean")
    random_state: Any = option(None, "random_state")
    multi_class: str = option("ovo", one_of("ovo", "ovr"))

    _kept_private = ("_gamma", "_probA", "_probB")
    _builds_by_sample = False  # whether the terms of a variable depend only on its own sign and weight

    @abstractmethod
    def _build(self, sign: Vector, weight: Vector) -> SignedDual:
        """Return the signed dual of one two-class problem; samples of weight zero are left out."""

    def _margin(self, dual: SignedDual, thresholds: Vector) -> tuple[float, float]:
        """Return the margin by which the decision function is divided, and the bias before the division."""
        return 1.0, -float(thresholds[0])

    def _coefficients(self, dual: SignedDual, beta: Vector, thresholds: Vector) -> tuple[Vector, float]:
        """Return the coefficients per sample and the bias of the model scaled to margin one."""
        margin, bias = self._margin(dual, thresholds)
        return dual.per_sample(beta) / margin, bias / margin

    def _rule(self, stopping: Stopping, weight: Vector) -> Stopping:
        """The stop rule for samples of these weights."""
        return stopping

    def _multipliers_from(self, dual: SignedDual, coefficients: Vector) -> Vector:
        """Return the multipliers of exposed coefficients, possibly up to a factor that the group sums determine."""
        return coefficients

    @whole_fit
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> KernelClassifier:
        """Train on labelled samples.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), or (n_samples, n_samples) if precomputed
            With a kernel function of your own: any sequence of samples.
        y : array-like of shape (n_samples,)
            Class labels, numbers or strings.
        sample_weight : array-like of shape (n_samples,), default None
            Multiplies C of each sample: weight 2 equals the sample given twice, weight 0 the sample left out.

        Returns
        -------
        self
        """
        self._run(X, y, sample_weight)
        return self

    def _fit(self, run: Run, X: Any, y: Any, sample_weight: Any) -> None:
        data = self._read(X, y, sample_weight, are_plain_labels)
        data.y, weight = self._read_labels(data)
        self.__dict__.pop("tie_order_", None)  # left by a model read from LIBSVM (io/libsvm_model.py)
        problems = multiclass.two_class_problems(data.y, len(self.classes_), self._scheme())
        pairs = problems if isinstance(problems, ClassPairs) else None
        self._start_training(run, data)
        if pairs is not None and self._fit_class_pairs(run, pairs, data, weight):
            return
        tasks = [
            Task(self._build(p.sign, p.of(weight)), None if pairs is None else ClassPair(p.positive, p.negative))
            for p in problems
        ]
        if run.before is not None:
            betas = self._present(run.before, data, problems)
            tasks = [
                replace(task, start=restart(run.training.as_solved(task.dual), self._multipliers_from(task.dual, beta)))
                for task, beta in zip(tasks, betas, strict=True)
            ]

        def show(machine: KernelClassifier, answers: Sequence[Answer]) -> None:
            """Expose the answers to all problems."""
            betas, biases = zip(*(self._coefficients(task.dual, *answer) for task, answer in zip(tasks, answers)))
            layout = multiclass.lay_out(problems, np.concatenate(betas), data.y, len(self.classes_))
            machine._expose(run.kernel, data, layout, np.array(biases))

        run.stopping = self._rule(run.stopping, weight)
        folds = None
        if self._trains_folds:
            folds = Folds(problems, data.y, weight, check_random_state(self.random_state))
        held_out = [] if folds is None else folds.tasks(tasks)
        trained = self._train(run, tasks, show, () if pairs is None else pairs.members, held_out)
        self.n_iter_ = np.array([answer.solution.iterations for answer in trained[: len(tasks)]], np.int32)
        if run.before is not None:
            self.n_iter_ += run.before.n_iter_
        self._calibrate(folds, tasks, trained[len(tasks) :])

    def _adopt(
        self, X: Any, y: Any, sample_weight: Any, models: Sequence[tuple[Vector, float]], certificates: Sequence[Any]
    ) -> None:
        """Expose an answer that was found elsewhere, as `fit` on these data does; `_gamma` is set.

        models : coefficients of the samples and bias of each two-class problem
        """
        data = self._read(X, y, sample_weight, are_plain_labels)
        data.y, _ = self._read_labels(data)
        problems = multiclass.two_class_problems(data.y, len(self.classes_), self._scheme())
        betas = np.concatenate([problem.of(beta) for problem, (beta, _) in zip(problems, models, strict=True)])
        layout = multiclass.lay_out(problems, betas, data.y, len(self.classes_))
        self._expose(self._kernel_of_fit(), data, layout, np.array([bias for _, bias in models]))
        self._note_status(certificates)
        self._probA, self._probB = np.empty(0), np.empty(0)

    def _fit_class_pairs(self, run: Run, pairs: ClassPairs, data: TrainingSet, weight: Vector) -> bool:
        """Fit all pairs of many small classes in one batch; return False if they have to be fitted one by one."""
        watched = self.trace or self.verbose or self.warm_start or run.steps is not None or run.before is not None
        watched = watched or run.needs_file
        if watched or run.stopping.time_limit is not None or self._trains_folds or not self._builds_by_sample:
            return False
        answers = train_class_pairs(
            run.training, pairs, lambda sign, index: self._build(sign, weight[index]), run.stopping
        )
        if answers is None:
            return False
        boxes = self._build(np.ones(len(weight)), weight)  # of all samples, for the diagnosis
        layout = multiclass.lay_out(pairs, answers.beta, data.y, len(self.classes_))
        self._expose(run.kernel, data, layout, -answers.thresholds)
        self._note_certificates(run, answers.certificates, [boxes])
        self.n_iter_ = answers.iterations.astype(np.int32)
        self._probA, self._probB = np.empty(0), np.empty(0)
        return True

    def _present(self, before: Any, data: TrainingSet, problems: Sequence[TwoClass]) -> list[Vector]:
        """Return the coefficients per sample of each two-class problem of the earlier model."""
        if not np.array_equal(before.classes_, self.classes_):
            raise ValueError(f"y has other classes than the model was fitted on: {list(before.classes_)}.")
        support, coefficients = support_in(before, data), coefficients_of(before)
        return multiclass.read_out(problems, support, coefficients, data.y)

    def _scheme(self) -> str:
        """Return the multi-class scheme, "ovo" or "ovr"."""
        if self.multi_class == "ovr" and self.decision_function_shape == "ovo":
            raise ValueError(
                "decision_function_shape='ovo' needs a model for each pair of classes, which multi_class='ovr' does "
                "not train: use multi_class='ovo', or decision_function_shape='ovr'."
            )
        return self.multi_class

    # ---- probabilities

    @property
    def _offers_probability(self) -> bool:
        return self.probability != "deprecated" and bool(self.probability)

    @property
    def _trains_folds(self) -> bool:
        """Whether probabilities need folds of their own."""
        return self._offers_probability

    def _calibrate(self, folds: Folds | None, tasks: Sequence[Task], held_out: Sequence[Trained]) -> None:
        """Fit the sigmoids of predict_proba on the values of held-out samples."""
        self._probA, self._probB = np.empty(0), np.empty(0)
        if folds is None:
            return
        for (number, fold), answer in zip(folds.left_out, held_out, strict=True):
            margin, bias = self._margin(tasks[number].dual, answer.solution.thresholds)
            folds.take(number, fold, (answer.solution.Kb + bias) / margin)
        early = [answer.solution.status for answer in held_out if not answer.solution.status.converged]
        if early and self.fit_status_ == 0:
            self.status_, self.fit_status_ = early[0], 1
            self.diagnosis_ = (
                "The model itself is optimal; the folds behind predict_proba are not, so probabilities are rough."
            )
        self._probA, self._probB = folds.fit_sigmoids()
        if len(self.classes_) == 2:  # scikit-learn follows LIBSVM, whose positive class is the first
            self._probB = -self._probB

    def _rebuild(self) -> None:
        super()._rebuild()
        n_sigmoids = len(self._expansion.intercept)
        if {np.shape(self._probA), np.shape(self._probB)} not in ({(0,)}, {(n_sigmoids,)}):
            raise ValueError(f"there must be {n_sigmoids} sigmoids, one for each problem, or none")

    @property
    def probA_(self) -> Vector:
        """Slope of the sigmoid of each two-class model; empty unless probability=True."""
        return self._probA

    @property
    def probB_(self) -> Vector:
        """Offset of the sigmoid of each two-class model; empty unless probability=True."""
        return self._probB

    @available_if(offers_probabilities)
    def predict_proba(self, X: Any) -> Vector:
        """Probability of each class, by Platt's sigmoid on cross-validated decision values.

        The largest probability is that of the class that `predict` returns: where the sigmoids of `probA_` and `probB_`
        say otherwise, that class and those above it get a common value, their mean. Sample and class weights count as
        repetitions in the sigmoids too: with class_weight="balanced" these are probabilities for equally frequent
        classes.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        probabilities : array of shape (n_samples, n_classes), columns in the order of `classes_`
        """
        values = self._decision_values(X)
        if self._probA.size == 0:
            raise NotFittedError(
                "predict_proba is not available when fitted with probability=False: set probability=True and fit again."
            )
        n_classes = len(self.classes_)
        signed = -values if n_classes == 2 else values
        found = probabilities(signed, self._probA, self._probB, n_classes, self.multi_class)
        return agreeing_with(self._class_numbers(values), found)

    @available_if(offers_probabilities)
    def predict_log_proba(self, X: Any) -> Vector:
        """Logarithm of `predict_proba`."""
        return np.log(self.predict_proba(X))

    # ---- prediction

    def decision_function(self, X: Any) -> Vector:
        """Decision values of the samples in X.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        values : array of shape (n_samples,) for two classes, where positive means classes_[1];
            (n_samples, n_classes) with decision_function_shape="ovr";
            (n_samples, n_classes * (n_classes - 1) / 2) with "ovo", where positive means the first class of the pair.
        """
        values = self._decision_values(X)
        n_classes = len(self.classes_)
        if n_classes == 2:
            return values[:, 0]
        if self.multi_class == "ovr" or self.decision_function_shape == "ovo":
            return values
        return multiclass.one_against_rest_confidence(values, n_classes)

    def predict(self, X: Any) -> NDArray:
        """Class of each sample in X.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        labels : array of shape (n_samples,)
        """
        if self.break_ties and self.decision_function_shape == "ovo":
            check_is_fitted(self)
            raise ValueError("break_ties must be False when decision_function_shape is 'ovo'")
        if self.break_ties:  # ties are broken by decision values
            return self.classes_.take(self._class_numbers(self._decision_values(X)))
        X = self._read_to_predict(X)
        choose, choose_surely = self._class_numbers, self._sure_class_numbers
        numbers, not_finite = find_classes(self._expansion, X, choose, choose_surely, self.n_jobs)
        warn_not_finite(not_finite)
        return self.classes_.take(numbers)

    def _class_numbers(self, values: Vector) -> NDArray[np.intp]:
        """Class number of each row, from the decision values of all two-class models."""
        n_classes = len(self.classes_)
        if n_classes == 2:
            return (values[:, 0] >= 0).astype(np.intp)  # at zero LIBSVM predicts the second class
        if self.multi_class == "ovr":
            return values.argmax(axis=1)
        if self.break_ties and self.decision_function_shape == "ovr":
            return multiclass.one_against_rest_confidence(values, n_classes).argmax(axis=1)
        return multiclass.votes(values, n_classes, getattr(self, "tie_order_", None))

    def _sure_class_numbers(self, values: Vector, errors: Vector) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
        """Return class numbers, and a mask of the rows whose class no error within `errors` can change."""
        n_classes = len(self.classes_)
        if n_classes == 2:
            return multiclass.sure_sign(values, errors)
        if self.multi_class == "ovr":
            return multiclass.sure_largest(values, errors)
        return multiclass.sure_votes(values, errors, n_classes, getattr(self, "tie_order_", None))

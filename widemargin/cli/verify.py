"""`widemargin verify`: recompute the certificate of a saved model from its training data."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from widemargin.cli.command import FINE, NOT_CERTIFIED, new_command, option
from widemargin.cli.options import FROM_ZERO, POSITIVE, model_and_data
from widemargin.cli.screen import Screen, certificate_facts, certificate_table
from widemargin.storage.errors import FileError


@new_command("verify")
@option("-e", "--tol", type=POSITIVE, metavar="TOL", help="Tolerance to hold.  [the model's; 0.001 for LIBSVM's]")
@option("-c", "--C", "C", type=POSITIVE, metavar="C", heading="For models of LIBSVM", help="C it was trained with.")
@option("-n", "--nu", type=POSITIVE, metavar="NU", heading="For models of LIBSVM", help="nu it was trained with.")
@option("-p", "--epsilon", type=FROM_ZERO, metavar="EPS", heading="For models of LIBSVM", help="Its epsilon.")
@model_and_data
def command(options: SimpleNamespace, screen: Screen) -> int:
    """Recompute, from the training DATA, how far a saved MODEL is from the optimum.

    MODEL may be a file of ours or of LIBSVM; scikit-learn's models come through `widemargin convert`.

    Examples
    --------
    widemargin verify a9a.model a9a
        Does the certificate hold? The exit code says so too.
    widemargin verify a9a.model a9a -e 1e-6
        Would it hold at another tolerance?
    widemargin verify libsvm.model a9a -c 10
        A model of LIBSVM, whose file does not say what C was.
    """
    import widemargin
    from widemargin.cli.models import kind_of_model, open_model, open_with_data, take_rows_for_vectors
    from widemargin.inspection.libsvm_support import with_support
    from widemargin.inspection.pipelines import unwrap

    model, data, y = open_with_data(options, screen)
    if kind_of_model(options.model) == "libsvm":
        model = with_support(open_model(options.model, data.X.shape[1]), data.X, y)
        _set_what_libsvm_leaves_out(model, options, screen)
    elif any(getattr(options, name) is not None for name in ("C", "nu", "epsilon")):
        raise ValueError(f"{options.model} says what it was trained with: -c, -n and -p are for models of LIBSVM.")
    machine, before = unwrap(model)
    n_trained = getattr(machine, "shape_fit_", (len(data),))[0]  # other estimators are refused by verify
    if len(data) != n_trained:
        raise FileError(
            f"{options.model} was trained on {n_trained:,} samples, but {options.data} has {len(data):,}: "
            "give the file it was trained on."
        )
    if before is None and hasattr(machine, "support_"):
        take_rows_for_vectors(machine, data.X)
    with screen.waiting("computing the certificate"):
        certificate = widemargin.verify(model, data.X, y, tol=options.tol)
    screen.show(certificate_table(certificate))
    screen.finish(command="verify", model=options.model, data=options.data, certificate=certificate_facts(certificate))
    return FINE if certificate.holds else NOT_CERTIFIED


def _set_what_libsvm_leaves_out(model: Any, options: SimpleNamespace, screen: Screen) -> None:
    """Set C, nu and epsilon, which LIBSVM's files do not contain: as given, or guessed with a note."""
    for name, letter in (("C", "-c"), ("nu", "-n"), ("epsilon", "-p")):
        if name not in model.get_params():
            continue
        value = getattr(options, name)
        if value is not None:
            model.set_params(**{name: value})
        else:
            screen.note(
                f"LIBSVM's file does not say what {name} was: {name} = {getattr(model, name):g} is assumed; {letter} "
                "says otherwise."
            )

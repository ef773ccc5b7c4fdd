"""Bounds on a least-squares SVM with a bias, derived from the bounds on its two systems.

The model (b, a) should solve the bordered system of lssvm.py. Let nu and eta be the computed solutions for the
targets y and ones, b = 1'nu / 1'eta and a = nu - b eta as stored, r = y - A a - b 1 and s = 1'a. The exact model
differs from it by (db, da) with A da + 1 db = r and 1'da = -s. With h = 1'A^-1 1

    db = (1'A^-1 r + s) / h,        da = A^-1 r - A^-1 1 db,

    k(x)'da + db  =  k(x)'P r + 1'A^-1 r / h + s (1 - k(x)'A^-1 1) / h,        P = A^-1 - A^-1 1 1'A^-1 / h,

and as 0 <= P <= A^-1 and k(x)'A^-1 k(x) <= k(x, x), Cauchy and Schwarz give for every x

    |f(x) - f*(x)|  <=  sqrt(r'A^-1 r) ( sqrt(k(x, x)) + 1 / sqrt(h) )  +  |s| ( 1 / h + sqrt(k(x, x) / h) ).

h enters by its proven lower bound, the `lower` of the target of ones. The residual costs no product of its own,

    r = r_nu - b r_eta + A (nu - b eta - a),        |nu - b eta - a|_j <= u (|nu_j| + 2 |b| |eta_j|),

so that its errors are those of the two residuals, and the sizes |K| |nu|, |K| |eta| times u for the last term.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from widemargin.certificate.system_bounds import Residual, certain, lengths, over, root_mean_squares
from widemargin.certificate.system_certificate import verdict
from widemargin.kernels.errors import SECOND_ORDER, UNIT
from widemargin.linalg.arrays import Matrix, Vector
from widemargin.monitor.status import Status
from widemargin.training.kernel_system import KernelSystem, Solved, SystemCertificate, SystemRule
from widemargin.training.kernel_system.checked import largest_of


def certificate_with_bias(
    system: KernelSystem,
    noise: Vector,
    targets: Matrix,
    solved: Solved,
    rule: SystemRule,
    bias: Vector,
    coefficients: Matrix,
) -> SystemCertificate:
    """Certificate of the model whose two systems were solved: targets first, ones last.

    bias : (m,); coefficients : (n, m) as stored
    """
    found = solved.certificate
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        residual = residual_with_bias(solved.residual, bias)
        scale = root_mean_squares(targets)
        total = np.array([abs(math.fsum(column)) if np.isfinite(column).all() else np.inf for column in coefficients.T])
        total = SECOND_ORDER * total / scale
        h, largest = found.lower[-1], system.largest
        reach = np.sqrt(largest) + np.sqrt(1.0 / h) if h > 0.0 else np.inf
        drift = total * (1.0 / h + np.sqrt(largest / h)) if h > 0.0 else np.inf
        energy = system.energy(noise, residual, scale, (rule.tol / reach) ** 2)
        error = certain(SECOND_ORDER * (reach * np.sqrt(energy) + drift))
        norms, sums = lengths(targets), np.abs(coefficients).sum(axis=0)
        residuals = np.maximum(over(residual.norms(), norms), over(total * scale, sums))
        rounding = over(residual.error.max(axis=0, initial=0.0), scale)
        # without rounding errors: the computed r and r'A^-1 r of both systems
        energies = np.sqrt(np.maximum(solved.energy, 0.0))
        computed = reach * (energies[:-1] + np.abs(bias) * energies[-1]) / scale
        if not found.is_psd:
            computed = over(lengths(residual.value), norms)
    not_zero = targets.any(axis=0)  # a zero target has the zero model
    bounds = error, residuals, rounding, certain(computed)
    largest_error, largest_residual, most_rounding, about = (largest_of(bound[not_zero]) for bound in bounds)
    certificate = replace(
        found,
        lower=found.lower[:-1],
        upper=found.upper[:-1],
        error=largest_error,
        residual=largest_residual,
        rounding=most_rounding,
    )
    final = verdict(certificate, about, solved.ended, found.status is Status.INDEFINITE)
    return replace(certificate, status=final)


def residual_with_bias(both: Residual, bias: Vector) -> Residual:
    """y - A a - b 1 from the residuals of y and of ones."""
    value = both.value[:, :-1] - bias * both.value[:, -1:]
    size = both.size[:, :-1] + 2.0 * np.abs(bias) * both.size[:, -1:]
    error = both.error[:, :-1] + np.abs(bias) * both.error[:, -1:] + UNIT * size
    error += 2.0 * UNIT * (np.abs(both.value[:, :-1]) + np.abs(bias * both.value[:, -1:]))
    return Residual(value, certain(SECOND_ORDER * error), size, both.curvature[:-1])

"""Any module may be the first one imported: training.py uses the solvers here, estimators here use training.py."""

import subprocess
import sys

import pytest


@pytest.mark.parametrize("module", ["widemargin.training", "widemargin.linear.kernel_path", "widemargin.linear.svc"])
def test_import_in_a_fresh_process(module):
    subprocess.run([sys.executable, "-c", f"import {module}; from widemargin import LinearSVC, SVC"], check=True)

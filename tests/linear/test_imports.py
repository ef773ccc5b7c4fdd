"""Any module may be the first one imported."""

import subprocess
import sys

import pytest


@pytest.mark.parametrize("module", ["training.fit", "training.linear_path", "estimators.linear_svc"])
def test_import_in_a_fresh_process(module):
    subprocess.run(
        [sys.executable, "-c", f"import widemargin.{module}; from widemargin import LinearSVC, SVC"], check=True
    )

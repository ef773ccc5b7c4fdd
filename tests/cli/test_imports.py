"""A call of the command line imports what it uses: each of the modules below takes a tenth of a second and more."""

import subprocess
import sys

NEVER = (
    "matplotlib", "jinja2", "distributed", "sklearn.pipeline", "sklearn.preprocessing", "sklearn.model_selection",
    "sklearn.metrics", "sklearn.linear_model", "sklearn.svm", "sklearn.calibration", "widemargin.io.onnx_export",
    "widemargin.io.sklearn_models", "widemargin.plots", "widemargin.report.page",
)  # fmt: skip
MAIN = """
import sys
from widemargin.cli.main import main
code = main(sys.argv[2:])
print(code, *sorted(set(sys.argv[1].split(",")) & set(sys.modules)), file=sys.stderr)
"""


def imported(names, *arguments, folder):
    """Exit code of a call, and which of the modules it imported."""
    call = [sys.executable, "-c", MAIN, ",".join(names), *arguments]
    done = subprocess.run(call, cwd=folder, capture_output=True, text=True, check=True)
    code, *found = done.stderr.splitlines()[-1].split()
    return int(code), found


def test_training_predicting_verifying_and_scaling(tmp_path):
    lines = [f"{1 if k % 2 else -1} 1:{k} 2:{k % 2}" for k in range(20)]
    (tmp_path / "small").write_text("\n".join(lines) + "\n")
    assert imported(NEVER, "train", "small", folder=tmp_path) == (0, [])
    assert imported(NEVER, "predict", "small", "small.model", "answers", folder=tmp_path) == (0, [])
    assert imported(NEVER, "verify", "small.model", "small", folder=tmp_path) == (0, [])
    assert imported(("sklearn", *NEVER), "scale", "small", folder=tmp_path) == (0, [])

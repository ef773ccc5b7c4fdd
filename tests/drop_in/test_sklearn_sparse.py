"""scikit-learn's test_sparse.py with our classes in place of theirs."""

import pytest

from tests.drop_in.borrowed import borrow

pytestmark = [
    pytest.mark.needs_compiler,  # too many fits for interpreted code
    pytest.mark.usefixtures("patched"),
    pytest.mark.filterwarnings("ignore"),  # they check the warnings they mean
]

globals().update(borrow("test_sparse"))

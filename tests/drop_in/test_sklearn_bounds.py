"""scikit-learn's test_bounds.py with our classes in place of theirs."""

import pytest

from tests.drop_in.borrowed import borrow

pytestmark = [pytest.mark.usefixtures("patched"), pytest.mark.filterwarnings("ignore")]

globals().update(borrow("test_bounds"))

"""The garbage collector is held where many lasting objects are made, and left as it was found."""

import gc

import pytest

from widemargin.collector import collector_held


@pytest.mark.parametrize("on", [True, False])
def test_the_collector_is_left_as_it_was_found(on):
    before = gc.isenabled()
    try:
        (gc.enable if on else gc.disable)()
        with collector_held():
            assert not gc.isenabled()
            with collector_held():
                assert not gc.isenabled()
            assert not gc.isenabled()
        assert gc.isenabled() is on
        with pytest.raises(ZeroDivisionError), collector_held():
            1 / 0  # noqa: B018
        assert gc.isenabled() is on
    finally:
        (gc.enable if before else gc.disable)()

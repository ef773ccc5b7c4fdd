"""A cluster of two worker processes with one thread each, for a session of tests; none takes longer than a minute."""

import signal
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("distributed")
pytest.importorskip("dask.dataframe")

from tests.dask.on_cluster import LONGEST, local_cluster, make  # noqa: E402


@pytest.fixture(autouse=True)
def ends() -> Iterator[None]:
    """Fail instead of waiting for ever."""

    def too_long(number: int, frame: Any) -> None:
        pytest.fail(f"took longer than {LONGEST} s")

    before = signal.signal(signal.SIGALRM, too_long)
    signal.alarm(LONGEST)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture(scope="session")
def cluster() -> Iterator[Any]:
    from distributed.worker import logger

    logger.setLevel("CRITICAL")
    with local_cluster() as started:
        yield started


@pytest.fixture(scope="session")
def session_client(cluster: Any) -> Iterator[Any]:
    from distributed import Client

    import widemargin
    import widemargin.dask

    data = make()
    for n in (200, len(data.X)):
        widemargin.SVC().fit(data.X[:n], data.labels[:n])  # compiles here, not on the clock of a test
    with Client(cluster) as client:
        widemargin.dask.SVC(client=client).fit(data.X, data.labels)
        yield client


@pytest.fixture
def client(session_client: Any) -> Any:
    """The client, with both workers at work: an earlier test may have ended one, which its nanny starts again."""
    session_client.wait_for_workers(2, timeout=LONGEST)
    return session_client


@pytest.fixture(scope="session")
def dense() -> Any:
    return make()

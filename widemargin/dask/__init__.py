"""The same exact machines with their certificates, on a cluster of Dask workers.

    from dask.distributed import Client
    from widemargin.dask import SVC     # was: from widemargin import SVC

Rows of the data lie on the workers, the function F = K b and the solver here; see docs/cluster.md.
"""

try:
    import dask.array  # noqa: F401
    import distributed  # noqa: F401
except ImportError as missing:
    raise ImportError(
        f"widemargin.dask needs Dask, and {missing.name} is not installed: pip install 'widemargin[dask]'."
    ) from missing

from widemargin.dask.cluster import ClusterError
from widemargin.dask.estimators import SVC, SVR, OneClassSVM

__all__ = ["SVC", "SVR", "ClusterError", "OneClassSVM"]

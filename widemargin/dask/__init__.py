"""The same exact machines with their certificates, on a cluster of Dask workers.

    from dask.distributed import Client
    from widemargin.dask import SVC     # was: from widemargin import SVC

Rows of the data lie on the workers, the function F = K b and the solver here; see docs/cluster.md.
"""

try:
    from widemargin.dask.estimators import SVC, SVR, NuSVC, NuSVR, OneClassSVM
    from widemargin.dask.verification import verify
    from widemargin.dask.waits import ClusterError
except ModuleNotFoundError as missing:
    raise ModuleNotFoundError(
        f"widemargin.dask needs Dask, and {missing.name} is not installed: pip install 'widemargin[dask]'.",
        name=missing.name,
    ) from missing

__all__ = ["SVC", "SVR", "ClusterError", "NuSVC", "NuSVR", "OneClassSVM", "verify"]

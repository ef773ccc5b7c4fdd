"""Measurements of widemargin.dask on a LocalCluster; see __main__.py."""

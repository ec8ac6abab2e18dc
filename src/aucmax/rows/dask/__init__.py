"""Rows in Dask collections."""

"""Representations of data in which kernels are evaluated: dense by rows or columns, sparse, bit-packed, objects."""

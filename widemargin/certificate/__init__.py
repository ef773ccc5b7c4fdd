"""Certificates of optimality: their content (certificate), their bounds (bounds), and their proof (prove)."""

from widemargin.certificate.certificate import Certificate, combine
from widemargin.certificate.prove import certify, certify_function

__all__ = ["Certificate", "certify", "certify_function", "combine"]

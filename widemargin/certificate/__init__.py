"""Certificates of optimality: what they say (certificate), their bounds (bounds), and how they are proven (prove)."""

from widemargin.certificate.certificate import Certificate, combine
from widemargin.certificate.prove import certify, certify_function

__all__ = ["Certificate", "certify", "certify_function", "combine"]

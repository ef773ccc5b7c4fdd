"""Trained models as functions: expansions over support vectors, multi-class schemes, margins."""

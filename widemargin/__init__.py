"""Support vector machines with the face of scikit-learn, trained fast, each answer with a certificate."""

__version__ = "0.1.0"

"""
A motif in DNA
==============

Half of these sequences hide a motif of eight letters of which two are wrong each time. A spectrum kernel looks for
exact pieces; kernels that forgive letters find more of it.

The idea is that of Leslie and others (mismatch kernels, 2004) and Ghandi and others (gapped k-mers, 2014).
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import cross_val_score

from widemargin import SVC
from widemargin.kernels import GappedKmer, Mismatch, Spectrum

rng = np.random.default_rng(0)
letters = np.array(list("ACGT"))
sequences, labels = [], []
for number in range(200):
    sequence = letters[rng.integers(0, 4, 40)]
    if number % 2:
        motif = np.array(list("TGACGTCA"))
        wrong = rng.choice(8, 2, replace=False)
        motif[wrong] = letters[rng.integers(0, 4, 2)]
        start = rng.integers(0, 32)
        sequence[start : start + 8] = motif
    sequences.append("".join(sequence))
    labels.append(number % 2)

kernels = {
    "Spectrum(4)": Spectrum(4, normalize=True),
    "Spectrum(6)": Spectrum(6, normalize=True),
    "Mismatch(6, 1)": Mismatch(6, 1, normalize=True),
    "GappedKmer(4, 3)": GappedKmer(4, 3, normalize=True),
}
scores = {name: cross_val_score(SVC(kernel=k), sequences, labels, scoring="roc_auc") for name, k in kernels.items()}
plt.barh(list(scores), [s.mean() for s in scores.values()], xerr=[s.std() / 5**0.5 for s in scores.values()])
plt.axvline(0.5, color="black", linewidth=1)
plt.xlim(0.4, 1.0)
plt.xlabel("area under the ROC curve, 5 folds")
plt.gca().invert_yaxis()
plt.tight_layout()

# %%
# Substrings are explicit features, so certificate and model are those of a sparse linear machine.
print(SVC(kernel=kernels["Mismatch(6, 1)"]).fit(sequences, labels).certificate_)

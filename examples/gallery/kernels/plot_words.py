"""
Words are samples, too
======================

A kernel on strings counts the pieces that two words share. The kernel matrix shows which words are alike, and a machine
can be trained on the words as they are.
"""

import matplotlib.pyplot as plt

from widemargin import SVC
from widemargin.kernels import Spectrum

words = ["banana", "bandana", "ananas", "cabana", "cherry", "merry", "berry", "sherry", "ferry"]
labels = ["a"] * 4 + ["e"] * 5
model = SVC(kernel=Spectrum(k=2, normalize=True)).fit(words, labels)

figure, ax = plt.subplots(figsize=(6.4, 5.4), layout="constrained")
shown = ax.imshow(model.kernel(words, words), cmap="viridis", vmin=0.0)
ax.set_xticks(range(len(words)), words, rotation=60, ha="right")
ax.set_yticks(range(len(words)), words)
figure.colorbar(shown, label="share of pairs of letters in common")

# %%
print(dict(zip(["savanna", "blueberry"], model.predict(["savanna", "blueberry"]).tolist(), strict=True)))
print(model.certificate_)

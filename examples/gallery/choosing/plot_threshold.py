"""
Moving the threshold
====================

A trained machine has one boundary, but its decision values rank all samples. Moving the threshold trades false alarms
against misses without another fit.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import make_classification
from sklearn.metrics import precision_recall_curve, roc_curve

from widemargin import SVC

X, y = make_classification(3000, n_features=6, weights=[0.9], class_sep=0.9, flip_y=0.03, random_state=2)
model = SVC(C=1.0).fit(X[:1000], y[:1000])
values = model.decision_function(X[1000:])

figure, (left, right) = plt.subplots(1, 2, figsize=(9.0, 4.0), layout="constrained")
false, true, _ = roc_curve(y[1000:], values)
left.plot(false, true)
found = model.predict(X[1000:])
left.scatter(
    (found[y[1000:] == 0] == 1).mean(), (found[y[1000:] == 1] == 1).mean(), color="#D55E00", zorder=3, label="at 0"
)
left.set(xlabel="false alarms", ylabel="found")
left.legend()
precision, recall, at = precision_recall_curve(y[1000:], values)
right.plot(at, precision[:-1], label="precision")
right.plot(at, recall[:-1], label="recall")
right.axvline(0.0, color="#666666", linewidth=1)
right.set(xlabel="threshold on the decision value")
right.legend()
print(model.certificate_)

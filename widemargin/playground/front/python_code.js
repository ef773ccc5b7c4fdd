// "Copy as Python": a program that fits the same machine to the same points and draws the same picture.

import { KERNELS } from "./kernels.js";
import { MACHINES } from "./machines.js";

const ESTIMATORS = { svc: "SVC", nusvc: "NuSVC", svr: "SVR", oneclass: "OneClassSVM" };

function list(rows, indent = "    ") {
  const lines = [];
  for (let k = 0; k < rows.length; k += 6) lines.push(indent + rows.slice(k, k + 6).join(", ") + ",");
  return `[\n${lines.join("\n")}\n]`;
}

/** The program. */
export function pythonCode(state, window) {
  const { machine, kernel, points } = state;
  const estimator = ESTIMATORS[machine];
  const set = [`kernel="${kernel}"`, ...[...KERNELS[kernel].parameters, ...MACHINES[machine].parameters].map((p) => `${p}=${state[p]}`)];
  const isRegression = machine === "svr";
  const plot = isRegression ? "plot_tube" : "plot_boundary";
  const X = isRegression ? list(points.map(([x]) => `[${x}]`)) : list(points.map(([x, y]) => `[${x}, ${y}]`));
  const y = machine === "oneclass" ? "" : `y = np.array(${list(points.map(([, value, label]) => (isRegression ? value : label)))})\n`;
  const data = machine === "oneclass" ? "X" : "X, y";
  const [x0, x1, y0, y1] = window.map((v) => Number(v.toPrecision(4)));
  return `import matplotlib.pyplot as plt
import numpy as np
from widemargin import ${estimator}
from widemargin.plots import ${plot}

X = np.array(${X})
${y}
model = ${estimator}(${set.join(", ")}).fit(${data})
print(model.certificate_)

ax = ${plot}(model, ${data})
ax.set(xlim=(${x0}, ${x1}), ylim=(${y0}, ${y1}))
plt.show()
`;
}

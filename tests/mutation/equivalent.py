"""Changes that no test can notice, because the changed program does the same: file, function, before, after."""

STOP = "gain <= 1e-13 * abs(best) {} gain <= BEST_ENOUGH * (best - lowest)"

EQUIVALENT: dict[tuple[str, str, str, str], str] = {
    ("classification.py", "largest_nu", "y < 0", "y <= 0"): "labels are +1 and -1",
    ("classification.py", "largest_nu", "y > 0", "y >= 0"): "labels are +1 and -1",
    ("classification.py", "nu_classification", "y < 0", "y <= 0"): "labels are +1 and -1",
    ("classification.py", "nu_classification", "y > 0", "y >= 0"): "labels are +1 and -1",
    ("classification.py", "nu_classification", "y[order] < 0", "y[order] <= 0"): "labels are +1 and -1",
    ("optimality.py", "scan_groups", "low < lowest", "low <= lowest"): "the smaller of two equal numbers",
    ("optimality.py", "scan_groups", "high > highest", "high >= highest"): "the larger of two equal numbers",
    ("optimality.py", "violation_of", "excess > largest", "excess >= largest"): "the larger of two equal numbers",
    ("optimality.py", "violation_of", "highest > -lowest", "highest >= -lowest"): "the larger of two equal numbers",
    ("warm_start.py", "restore_sum", "3", "4"): "a fourth kind of room does not exist",
    ("warm_start.py", "room_of", "(end - b) * missing", "(end - b) / missing"): "only the sign is used",
    ("warm_start.py", "room_of", "missing > 0.0", "missing >= 0.0"): "not called with nothing missing",
    ("primal.py", "best_scale", "b < end", "b <= end"): "the smaller of two equal numbers",
    ("primal.py", "best_scale", "gain <= 1e-13 * abs(best)", "gain < 1e-13 * abs(best)"): "ends a step later at most",
    ("primal.py", "best_scale", STOP.format("or"), STOP.format("and")): "ends later, at a value as good or better",
    ("bounds.py", "mending_cost", "change > 0.0", "change >= 0.0"): "a change of zero is accepted before",
    ("bounds.py", "loss_excess", "v > epsilon", "v >= epsilon"): "the slope is zero in both cases",
    ("bounds.py", "loss_excess", "v < -epsilon", "v <= -epsilon"): "the slope is zero in both cases",
    ("linear.py", "prove", "too_much > 0.0", "too_much >= 0.0"): "the share is zero, or nothing is too much",
    ("linear.py", "prove", "too_much < 0.0", "too_much <= 0.0"): "the share is zero where nothing is too much",
    ("bounds.py", "loss_excess", "best * b > 0.0", "best * b >= 0.0"): "the same value where the best is zero",
}

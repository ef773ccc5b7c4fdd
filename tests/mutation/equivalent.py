"""Changes that no test can notice, because the changed program does the same: file, function, before, after."""

EQUIVALENT: dict[tuple[str, str, str, str], str] = {}

"""Programs that time a step of the broker by calling it. They set Django up; the benchmark itself knows none."""

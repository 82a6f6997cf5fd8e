"""What the paper defines, as plain values and functions: states, marginals, the objective, schedules, noise."""

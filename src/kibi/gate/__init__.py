"""The gate of `kibi check`: models on boards, their budgets, a recorded baseline, and reports for people and for CI."""

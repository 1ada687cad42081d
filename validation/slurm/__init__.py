"""A real, unmodified Slurm on one machine as the referee of our simulators and predictions."""

"""The kernel of this machine as the referee of time sharing: processes that compute and read a real disk."""

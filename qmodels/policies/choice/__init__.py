"""Which policy to take: candidates, objectives, a recommendation, a map."""

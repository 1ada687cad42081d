"""How the response of a policy is computed: the queue, and what the running jobs do."""

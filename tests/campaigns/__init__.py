"""Long campaigns that leave a record in ``docs/record``; `python -m tests.campaigns.NAME`."""

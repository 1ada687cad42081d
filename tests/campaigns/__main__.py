"""`python -m tests.campaigns`, what ``make record`` calls."""

from tests.campaigns import main

if __name__ == "__main__":
    main()

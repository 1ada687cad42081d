"""Of this folder pytest runs the pages; programs are run by the tests that know them."""

collect_ignore_glob = ["*.py"]

"""Recording of any program from the counters of the operating system; nothing is imported here."""

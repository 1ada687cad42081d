"""Maps in options: of two values under one key none is taken without a word."""

import pytest

from qmodels import ModelError
from qmodels.commands.log_options import columns_given
from qmodels.commands.options import column_map
from qmodels.io.event_kinds import event_rules


@pytest.mark.parametrize(
    "read",
    [
        lambda: column_map("--columns", "p=nprocs, p=cores,seconds=wall"),
        lambda: columns_given("submit=Created,cores=CPUs,cores=Nodes"),
        lambda: event_rules(["train=compute", "train=none"]),
    ],
)
def test_a_key_that_is_there_twice_is_refused(read):
    with pytest.raises(ModelError, match="twice"):
        read()

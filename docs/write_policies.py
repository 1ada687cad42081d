"""Write the section on policies of reference/scenario.md anew, after a policy has changed."""

from pathlib import Path

from qmodels.io.scenario_reference import MARKERS, policy_section

page = Path(__file__).parent / "reference" / "scenario.md"
text = page.read_text(encoding="utf-8")
before, _, rest = text.partition(MARKERS[0])
_, _, after = rest.partition(MARKERS[1])
page.write_text(
    f"{before}{MARKERS[0]}\n\n{policy_section()}\n{MARKERS[1]}{after}", encoding="utf-8"
)

"""Draw docs/images/response.png: what the shipped study answers. `make claims` draws the other of the README.

Run ``python docs/examples/readme_figures.py`` from the root of the project; half a minute.
"""

from pathlib import Path

from qmodels.io.scenario import load_scenario
from validation.study import demo
from validation.study.plotting import answer_figure
from validation.study.run import run_study

IMAGES = Path(__file__).parents[1] / "images"


def draw(study, folder):
    """Write the figure of a study."""
    answer_figure(study).savefig(folder / "response.png", dpi=120)


if __name__ == "__main__":
    draw(run_study(load_scenario(Path(demo.__file__).with_name("scenario.toml"))), IMAGES)

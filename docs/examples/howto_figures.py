"""Draw docs/images/howto-*.png: for how-tos, the figure that their own command or call makes.

Run ``python docs/examples/howto_figures.py [NAME ...]`` from the root of the project; three minutes. The
figure of a site needs a public log, ``../shared/data/swf/KTH-SP2-1996-2.1-cln.swf.gz``.
"""

import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

import matplotlib

matplotlib.use("agg")

from PIL import Image

ROOT = Path(__file__).parents[2]
IMAGES = ROOT / "docs/images"
LOG = ROOT.parent / "shared/data/swf/KTH-SP2-1996-2.1-cln.swf.gz"
#: By name: the command of the page, which writes into the folder ``out``, and the picture there.
COMMANDS = {
    "map": ("recommend docs/examples/equal-parts.toml --map --listed -o out", "map.png"),
    "runs": ("surface docs/examples/own-machine/runs.csv --target 4,1 --can-run 1-4,1-4 -o out", "times.png"),
    "forecast": ("surface docs/examples/darshan-runs --target 64,8 -o out", "times.png"),
    "trace": (
        "surface docs/examples/own-machine/trace.csv --gap 0.1 --run-on 2,1 -o out",
        "execution.png",
    ),
    "balance": ("balance --jobs 300 --replications 5 -o out", "slowdown.png"),
    "share": (
        "share docs/examples/shared-runs.csv --stages compute,write --of 32 -o out",
        "share.png",
    ),
    "checkpoints": (
        "checkpoint --jobs 16 --model llama3-405b --bandwidth 20GB/s --mtbf 24.7h --downtime 10min -o out",
        "goodput.png",
    ),
    "releases": (
        "compare docs/examples/releases/old.csv docs/examples/releases/new.csv -o out",
        "changes.png",
    ),
    "law": ("fit docs/examples/site-log/sacct.txt --unit cores --column runtime -o out", "fit.png"),
    "mesh": (
        "mesh --mesh 16x22 --io west --pattern all-to-all --pattern write --jobs 22 --size 16 -o out",
        "links.png",
    ),
    "site": (f"site {LOG} -o out", "months.png"),
    "read-a-site": ("site docs/examples/site-log/sacct.txt --unit cores -o out", "utilisation.png"),
}


def of_command(words, picture, target):
    """Run a command of a page and keep one of the pictures that it writes."""
    qmodels = Path(sys.executable).with_name("qmodels")
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out"
        said = [str(out) if word == "out" else word for word in shlex.split(words)]
        done = subprocess.run(
            [qmodels, *said], cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        )
        if not (out / picture).exists():
            raise SystemExit(f"qmodels {words} wrote no {picture}: {done.stderr[-500:]}")
        keep(out / picture, target)


def keep(picture, target):
    """Write a picture with few colours, which takes a third of the space."""
    image = Image.open(picture).convert("RGB")
    if image.width > 1100:
        image = image.resize((1100, round(1100 * image.height / image.width)), Image.Resampling.LANCZOS)
    image.quantize(128, dither=Image.Dither.NONE).save(target, optimize=True)


def what_if():
    """Return the grid of a scenario over processors, disks and load."""
    from qmodels.io.scenario import load_scenario
    from validation.study.what_if import what_if

    scenario = load_scenario(ROOT / "docs/examples/measured-runs.toml")
    return what_if(scenario, {"processors": [64, 128], "disks": [8, 16, 32]}).plot()


def policies():
    """Return the response times of what is recommended and of the others."""
    from qmodels import Burst, Phase, Program, System, Workload
    from qmodels.policies.choice.recommendation import recommend

    program = Program([Phase(io=Burst(128.0, law="min(d, p/4)"), cpu=Burst(512.1, sequential=0.1))])
    machine = System(processors=128, disks=32, min_processors=8)
    return recommend(machine, Workload.from_scv(program, demand_scv=2.0), load=0.5).plot()


def surface():
    """Return the speedup surface of a named profile with the allotments that were measured."""
    from qmodels.plotting import surface_heatmap
    from qmodels.programs import speedup_surface
    from qmodels.programs.profiles import profile

    found = speedup_surface(profile("QCRD-2"), [1, 2, 4, 8, 16, 32, 64, 128], [1, 2, 4, 8, 16])
    return surface_heatmap(found, points=[(p, d) for p in (1, 4, 16) for d in (1, 4)])


def response():
    """Return the law of the response with four servers."""
    from phasefit import PhaseType
    from qmodels.networks import ManyServerQueue

    service = PhaseType.hyperexponential(weights=[0.9, 0.1], means=[0.5, 5.5])
    solved = ManyServerQueue(PhaseType.erlang(phases=2, mean=0.4), service, servers=4).solve()
    return solved.response.plot()


def backlog():
    """Return how a backlog of 300 jobs drains under four partitions."""
    from qmodels import Burst, Phase, Program, SpaceSharing, System, Workload, predict

    program = Program([Phase(io=Burst(128.0, law="min(d, p/4)"), cpu=Burst(512.1, sequential=0.1))])
    jobs = Workload.from_scv(program, demand_scv=2.0)
    machine = System(processors=128, disks=32, min_processors=8)
    return predict(SpaceSharing(4, 4), machine, jobs, load=0.6).backlog(300).plot()


def of_log():
    """Return the candidates for the jobs of the shipped log."""
    from qmodels import System
    from qmodels.io import read_jobs
    from qmodels.io.log_scenario import scenario_of_log
    from qmodels.io.subjects import read_subject
    from qmodels.policies.choice.candidates import default_candidates
    from qmodels.policies.choice.recommendation import recommend

    log = read_jobs(ROOT / "docs/examples/site-log/sacct.txt", unit="cores")
    programs = read_subject(str(ROOT / "docs/examples/runs.csv"), mixed=True).program
    plan = scenario_of_log(log, System(processors=128, disks=16, min_processors=8), programs)
    candidates = default_candidates(plan.system)
    return recommend(plan.system, plan.workload, load=plan.loads[0], candidates=candidates).plot()


CALLS = {
    "what-if": what_if,
    "policies": policies,
    "surface": surface,
    "solve-a-queue": response,
    "compare-policies": backlog,
    "read-a-job-log": of_log,
}


def main(names):
    """Draw the pictures of these names, or all."""
    for name in names or [*COMMANDS, *CALLS]:
        target = IMAGES / f"howto-{name}.png"
        if name == "site" and not LOG.exists():
            print("the public log is not here; howto-site.png stays as it is", file=sys.stderr)
            continue
        if name in COMMANDS:
            of_command(*COMMANDS[name], target)
        else:
            with tempfile.TemporaryDirectory() as folder:
                CALLS[name]().figure.savefig(Path(folder) / "it.png", dpi=130, bbox_inches="tight")
                keep(Path(folder) / "it.png", target)
        print(target.name, target.stat().st_size // 1000, "kB", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])

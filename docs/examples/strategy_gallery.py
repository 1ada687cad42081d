"""Draw docs/images/strategies.png: the same jobs under every strategy."""

from pathlib import Path

from validation.allocation.plotting import gallery

if __name__ == "__main__":
    target = Path(__file__).resolve().parents[1] / "images" / "strategies.png"
    gallery().savefig(target, dpi=110)
    print(f"wrote {target.name}")

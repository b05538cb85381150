"""`python -m tests.fuzz`: runs stages of the fuzzer, and prints each kind of finding once."""

import argparse
import json
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from tests.fuzz.runner import Finding, fuzz, run_case
from tests.fuzz.stages import STAGES, scratch_folder

DEFAULT_COUNTS = {
    "load": 20_000, "model": 4_000, "native": 20, "plan": 2_000, "regions": 500, "place": 2_000, "events": 2_000,
    "arrays": 1_000, "inspect": 500, "c_api": 20_000, "package": 20_000, "data": 2_000, "quantize": 2_000,
    "gate": 20_000,
}  # fmt: skip
"""What `make fuzz` runs: a few minutes on two cores."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run it; 1 where there are findings."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("stages", nargs="*", metavar="STAGE", help=f"of {', '.join(STAGES)}; none: every one")
    parser.add_argument("--seed", type=int, default=0, help="of all cases")
    parser.add_argument("--count", type=int, help="cases of each stage (of `native`: programs of many models)")
    parser.add_argument("--first", type=int, default=0, help="number of the first case")
    parser.add_argument("--jobs", type=int, default=2, help="processes at a time")
    parser.add_argument("--scheduler", help="of a Dask cluster that runs the cases, whose workers share this folder")
    parser.add_argument("--save", type=Path, help="a folder for the inputs of findings")
    parser.add_argument("--only", type=int, help="run one case in this process, and let its error through")
    given = parser.parse_args(arguments)
    unknown = set(given.stages) - set(STAGES)
    if unknown:
        parser.error(f"no stage is called {', '.join(sorted(unknown))}; there are {', '.join(STAGES)}")
    if given.only is not None:
        return _run_one(given.stages or list(STAGES), given.only, given.seed)
    found = 0
    for stage in given.stages or list(STAGES):
        found += _run_stage(stage, given)
    return int(found > 0)


def _run_one(stages: Sequence[str], number: int, seed: int) -> int:
    findings = [run_case(stage, number, seed, scratch_folder())[1] for stage in stages]
    for finding in findings:
        print(finding and finding.text)  # noqa: T201 - a program's output
    return int(any(findings))


def _run_stage(stage: str, given: argparse.Namespace) -> int:
    """One stage; how many findings there are."""
    started, tried, kinds = time.monotonic(), 0, dict[str, list[Finding]]()
    count = DEFAULT_COUNTS[stage] if given.count is None else given.count
    where = {"jobs": given.jobs, "first": given.first, "scheduler": given.scheduler}
    for report in fuzz(stage, seed=given.seed, count=count, **where):
        tried += report.counted
        for finding in report.findings:
            if finding.digest not in kinds:
                _tell(finding, given.save)
            kinds.setdefault(finding.digest, []).append(finding)
    failed = sum(map(len, kinds.values()))
    seconds = time.monotonic() - started
    print(f"{stage}: {tried:,} cases of {count:,} numbers, {failed} failed in {len(kinds)} ways, {seconds:.0f} s")  # noqa: T201
    sys.stdout.flush()
    return failed


def _tell(finding: Finding, folder: Path | None) -> None:
    """Print a finding, and save its input where a folder is given."""
    print(f"{finding.stage} {finding.number} (seed {finding.seed}): {finding.kind} at {finding.where}")  # noqa: T201
    print("    " + finding.text.replace("\n", "\n    ")[:1500])  # noqa: T201
    sys.stdout.flush()
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        stem = f"{finding.stage}_{finding.digest}_{finding.number}"
        (folder / f"{stem}.bin").write_bytes(bytes.fromhex(finding.data_hex))
        record = {key: value for key, value in asdict(finding).items() if key != "data_hex"}
        (folder / f"{stem}.json").write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())

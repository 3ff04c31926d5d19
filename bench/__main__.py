"""`python -m bench`: measures, prints the tables, and writes the results. Its exit status never depends on times."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from statistics import median
from textwrap import fill

from . import findings, machine, peer_environment, report, results, revision, rounds
from .contender import Contender
from .driver import ROOT
from .section import Section
from .sections import big_tree, catalogue

ROUNDS = 15
QUICK_ROUNDS = 2
FEWEST_ROUNDS = 5  # for a 20th percentile to mean anything
IDLE = 500  # plugins: what the design speaks of
QUICK_IDLE = 50
TREE = "small"
PATIENCE_S = 5.0  # for a quiet machine before each round
BUSY_SHARE = 0.25  # of the machine taken by others: from there on the numbers are about them


def main() -> None:
    options = _options()
    if not Path("/proc/self/smaps_rollup").exists():
        sys.exit("bench: it reads what processes cost from /proc, so it runs on Linux only")
    idle = options.idle or (QUICK_IDLE if options.quick else IDLE)
    sections = [
        section
        for section in catalogue.sections(idle, big_tree.SIZES[options.tree])
        if not options.only or section.key in options.only
    ]
    plan = rounds.Plan(
        rounds=options.rounds or (QUICK_ROUNDS if options.quick else ROUNDS),
        seed=options.seed,
        patience_s=0.0 if options.quick else options.patience,
        times=1 if options.quick else None,
        absent=_absent_peers(with_peers=options.peers),
    )
    here, code = machine.describe(), revision.take()
    print(f"plughost beside its peers: {here}\n{code}", flush=True)
    began = time.monotonic()
    run = rounds.run(_contenders(sections), plan, _progress)
    _progress("")
    found = [(section, findings.find(section, run.samples)) for section in sections]
    changed = revision.take() != code
    results.write(results.Results(here, code, plan, run, found, code_changed=changed))
    for section, rows in found:
        print(f"\n{report.table(section, rows)}")
    print(f"\n{report.verdicts(found)}")
    print(f"\n{_colophon(plan, run, time.monotonic() - began)}")
    print(_warning(plan, run, changed=changed), end="")
    print(f"Written: {results.WHERE.relative_to(ROOT)}/latest.json and latest.svg")


def _options() -> argparse.Namespace:
    keys = dict.fromkeys(section.key for section in catalogue.sections(IDLE, big_tree.SIZES[TREE]))
    parser = argparse.ArgumentParser(
        prog="bench", description="Measure plughost beside its peers, in one run."
    )
    parser.add_argument("--rounds", type=int, help=f"rounds to measure (default: {ROUNDS})")
    parser.add_argument("--quick", action="store_true", help="a smoke run of a minute or two")
    parser.add_argument(
        "--no-peers", dest="peers", action="store_false", help="measure without installed peers"
    )
    parser.add_argument("--only", action="append", choices=keys, help="a section to measure; may be repeated")
    parser.add_argument(
        "--idle", type=int, help=f"how many idle plugins (default: {IDLE}; quick: {QUICK_IDLE})"
    )
    parser.add_argument(
        "--tree",
        choices=big_tree.SIZES,
        default=TREE,
        help="the tree to save: 200 MiB, or 2 GiB (default: %(default)s)",
    )
    parser.add_argument(
        "--patience",
        type=float,
        default=PATIENCE_S,
        metavar="S",
        help="seconds to wait for a quiet machine before each round (default: %(default)g)",
    )
    parser.add_argument("--seed", type=int, default=1, help="of the order of contenders (default: 1)")
    return parser.parse_args()


def _absent_peers(*, with_peers: bool) -> dict[str, str]:
    names = [line.partition("==")[0] for line in peer_environment.LIST.read_text().split()]
    if not with_peers:
        return dict.fromkeys(names, "--no-peers")
    _progress("preparing the peers")
    return peer_environment.prepare()


def _contenders(sections: list[Section]) -> list[Contender]:
    """Return whoever is in *sections*, each once."""
    return list({each.key: each for section in sections for each in section.contenders}.values())


def _progress(line: str) -> None:
    if sys.stderr.isatty():
        print(f"\r\x1b[K{line}", end="", file=sys.stderr, flush=True)


def _colophon(plan: rounds.Plan, run: rounds.Run, seconds: float) -> str:
    return fill(
        f"{plan.rounds} rounds after one to warm up, each contender once per round, shuffled, the big tree last "
        f"(seed {plan.seed}), {seconds:.0f} s in all. Before a round {median(run.busy):.0%} of the machine was busy "
        f"with other things (median; {max(run.busy):.0%} at worst). quiet: the 20th percentile of rounds, the 80th "
        "for rates; ratios and verdicts are of quiet values of this run. Python's garbage collector is off in "
        "hosts and clients while a job is timed, for everybody; children run as they come. Nothing is pinned "
        "to a core but where a table says so.",
        report.WIDTH,
    )


def _warning(plan: rounds.Plan, run: rounds.Run, *, changed: bool) -> str:
    if changed:
        return "The code changed during the run: these numbers are of no one version, do not quote them.\n"
    if median(run.busy) > BUSY_SHARE:
        return "The machine was busy: do not quote these numbers.\n"
    return "Too few rounds to quote.\n" if plan.rounds < FEWEST_ROUNDS else ""


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)  # the usual status of a program that was interrupted

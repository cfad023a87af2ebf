"""What each hypothesis must show besides its verdict, in sentences."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from autotune.report.hypotheses.verdict_words import format_signed
from autotune.report.hypotheses.view import JOINT, OPT, RunView
from autotune.report.text import clean_text, format_count, format_percent, short_name
from hwmodel.plan import L0cOutput
from studies.hypotheses.opt import BASELINE, CASCADE, OTHER
from studies.hypotheses.registry import H1_FROZEN, H5_RULE, H5_SELECTOR
from studies.hypotheses.statistics import WIN, geometric_mean

_FEW = 0.01
"""A saved part of the loads up to this is called none."""
_MISSES_NAMED = 3
_FOUND_BY = {
    BASELINE: "the operator's plan",
    CASCADE: "the cascade over the space",
    OTHER: "a plan judged beside a treatment",
}
"""Where a best plan came from, besides the studies."""


def describe_study(view: RunView, study: str) -> tuple[str, ...]:
    """Sentences about one study beyond its verdict; none where it has no shape."""
    tell = _TELLERS.get(study)
    return tell(view) if tell is not None and view.domains.get(study) else ()


def _describe_h1(view: RunView) -> tuple[str, ...]:
    proxy = view.results.proxy
    found = [shape.answer.h1 for shape in view.domains["h1"] if shape.answer.h1 is not None]
    if proxy is None or not found:
        return ()
    template = geometric_mean([h1.template_ratio for h1 in found])
    names = _name_problems(view, proxy.worst[:_MISSES_NAMED])
    sentences = [
        f"The proxy is within 1 % of the best of its own candidates for {proxy.within_1pct:,} of "
        f"{format_count(proxy.shapes, 'shape')} by the selector, for {proxy.judged_within_1pct:,} "
        f"by the judge. Its worst misses: {'; '.join(names)}."
    ]
    if H1_FROZEN in view.verdicts:
        frozen = view.verdicts[H1_FROZEN].summary
        sentences.append(
            f"With the full-load decision kept as it was, the tile alone gains "
            f"{format_signed(frozen.geomean)} on the mean; letting that decision follow the tile "
            f"adds {format_signed(template)}."
        )
    return tuple(sentences)


def _describe_h2(view: RunView) -> tuple[str, ...]:
    effects = [shape.answer.h2 for shape in view.domains["h2"] if shape.answer.h2 is not None]
    if not effects:
        return ()
    tail = geometric_mean([effect.tail_ratio for effect in effects])
    reuse = geometric_mean([effect.l2_ratio for effect in effects])
    best = [
        max((effect.control.judge_us / point.judge_us for point in effect.sweep), default=1.0)
        for effect in effects
    ]
    return (
        f"Of the mean gain, the last round and first accesses make {format_signed(tail)}, reuse "
        f"in L2 {format_signed(reuse)}. Whoever knew the judge's best window for every shape "
        f"would gain {format_signed(geometric_mean(best))} on the mean, at most "
        f"{format_signed(max(best))}: more cannot be had from the window alone.",
    )


def _describe_h3(view: RunView) -> tuple[str, ...]:
    shapes = [shape for shape in view.domains["h3"] if shape.answer.h3 is not None]
    winners, saving, kept = 0, 0, 0
    for shape in shapes:
        effect = shape.answer.h3
        if effect is None:
            continue
        saves = effect.best_load_bytes < (1.0 - _FEW) * effect.control_load_bytes
        wins = shape.answer.baseline.judge_us / effect.best.judge_us > WIN
        kept += saves
        winners += wins
        saving += wins and saves
    others = winners - saving
    tail = (
        f"; the other {others:,} gain without loading less: the length of the L1 step and the "
        "overlap of loads change there, not the bytes"
        if others
        else ""
    )
    return (
        f"The best resident plan loads over 1 % less into L1 for {kept:,} of "
        f"{format_count(len(shapes), 'shape')}. Of {format_count(winners, 'shape')} that it makes "
        f"more than 1 % faster, {saving:,} load less{tail}.",
    )


def _describe_h4(view: RunView) -> tuple[str, ...]:
    effects = [
        (shape.answer.h4, shape.answer.baseline.plan.l0c_output)
        for shape in view.domains["h4"]
        if shape.answer.h4 is not None
    ]
    direct = [h4.fixpipe_ratio for h4, output in effects if output is L0cOutput.ON_THE_FLY]
    through = [h4.fixpipe_ratio for h4, output in effects if output is L0cOutput.FIXPIPE]
    sentences = [
        f"Of {format_count(len(direct), 'shape')} whose C the operator writes directly, the way "
        f"through UB is more than 1 % faster for {sum(r > WIN for r in direct):,} and more than "
        f"1 % slower for {sum(r < 1 / WIN for r in direct):,}."
    ]
    if through:
        sentences.append(
            f"Of {format_count(len(through), 'shape')} that take it today, it is more than 1 % "
            f"slower than the direct way for {sum(r < 1 / WIN for r in through):,}."
        )
    return tuple(sentences)


def _describe_h5(view: RunView) -> tuple[str, ...]:
    effects = [shape.answer.h5 for shape in view.domains["h5"] if shape.answer.h5 is not None]
    changed = sum(effect.changes_decision for effect in effects)
    sentences = [
        f"(a) The corrected bandwidth changes the heuristic's decision for {changed:,} of "
        f"{format_count(len(effects), 'shape')}."
    ]
    if H5_RULE in view.verdicts:
        rule = view.verdicts[H5_RULE].summary
        sentences.append(
            f"Followed as a rule, without asking the selector, it gains "
            f"{format_signed(rule.geomean)} on the mean, at worst {format_signed(rule.worst)}."
        )
    if H5_SELECTOR in view.verdicts:
        selector = view.verdicts[H5_SELECTOR].summary
        sentences.append(
            f"(b) A selector that shares the bandwidth chooses plans that are worth "
            f"{format_signed(selector.geomean)} on the mean against those of one that does not "
            f"({format_count(selector.wins, 'win')}, "
            f"{format_count(selector.losses, 'loss', 'losses')})."
        )
    errors = {error.shares: error for error in view.results.sharing}
    if len(errors) == 2:
        sentences.append(
            f"(c) On {format_count(errors[True].rows, 'output-heavy measured kernel')} the "
            f"emulator's cross-validated error has a median of "
            f"{format_percent(errors[True].median_ape)} with sharing and "
            f"{format_percent(errors[False].median_ape)} without (one in ten beyond "
            f"{format_percent(errors[True].p90_ape)} and {format_percent(errors[False].p90_ape)}),"
            " constants fitted anew for each."
        )
    else:
        sentences.append("(c) The emulator was not fitted both ways in this run.")
    return tuple(sentences)


def _describe_h6(view: RunView) -> tuple[str, ...]:
    ratios = [
        shape.answer.h6.vector_ratio for shape in view.domains["h6"] if shape.answer.h6 is not None
    ]
    if not ratios:
        return ("The vector kernel fits for no shape.",)
    chosen = sum(bool(shape.comparison.changed_fields) for shape in view.domains["h6"])
    return (
        f"The vector cores are more than 1 % faster for {sum(r > WIN for r in ratios):,} of "
        f"{format_count(len(ratios), 'shape')}, more than 1 % slower for "
        f"{sum(r < 1 / WIN for r in ratios):,}; the selector chose them for {chosen:,}.",
    )


def _describe_joint(view: RunView) -> tuple[str, ...]:
    joint = view.verdicts[JOINT].summary.geomean
    drops = {
        study.removeprefix(f"{JOINT}_without_").upper(): joint / verdict.summary.geomean
        for study, verdict in view.verdicts.items()
        if verdict.parent == JOINT
    }
    if not drops:
        return ()
    told = ", ".join(f"{name} {format_signed(ratio)}" for name, ratio in drops.items())
    return (
        f"What each adds to the others, JOINT over JOINT without it: {told}. Below 0, JOINT is "
        "better off without it: the selector is misled there.",
    )


def _describe_opt(view: RunView) -> tuple[str, ...]:
    known = [shape.answer.opt for shape in view.domains[OPT] if shape.answer.opt is not None]
    if not known:
        return ()
    found = Counter(item.found_by for item in known)
    told = ", ".join(
        f"{_FOUND_BY.get(name, name.upper().replace('_', ' '))} {count:,}"
        for name, count in sorted(found.items(), key=lambda item: (-item[1], item[0]))
    )
    gap = geometric_mean([1.0 + item.joint_gap_ratio for item in known])
    fields = view.results.field_gaps
    sentences = [
        f"JOINT takes {format_percent(gap - 1.0)} longer than the best known on the mean. The "
        f"best known came from: {told}."
    ]
    if fields:
        sentences.append(
            "The gap comes from, most first: "
            + ", ".join(f"{gap.field} ({format_count(gap.shapes, 'shape')})" for gap in fields[:5])
            + "."
        )
    return tuple(sentences)


def _name_problems(view: RunView, labels: Sequence[str]) -> list[str]:
    """Names of shapes by the labels of their problems, with their regret by the judge."""
    by_label = {shape.row.problem.label(): shape for shape in view.domains["h1"]}
    names = []
    for label in labels:
        shape = by_label.get(label)
        if shape is not None and shape.answer.h1 is not None:
            regret = shape.answer.h1.judged_regret_ratio
            names.append(f"{short_name(clean_text(shape.row.name))} ({format_percent(regret)})")
    return names


_TELLERS: Mapping[str, Callable[[RunView], tuple[str, ...]]] = {
    "h1": _describe_h1,
    "h2": _describe_h2,
    "h3": _describe_h3,
    "h4": _describe_h4,
    "h5": _describe_h5,
    "h6": _describe_h6,
    JOINT: _describe_joint,
    OPT: _describe_opt,
}

"""One problem through the hypotheses: choices, judgements, figures; served from the journal."""

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import replace

from hwmodel.cost.evaluators import select_evaluator
from hwmodel.plan_batch import PlanBatch
from hwmodel.problem import GemmProblem
from hwmodel.spec import HardwareSpec
from hwmodel.spec_io import spec_digest
from hwmodel.validation.classes import select_error_class
from studies.hypotheses import joint, opt
from studies.hypotheses.answers import Comparison, ShapeAnswer
from studies.hypotheses.case import batch_legal, build_case
from studies.hypotheses.effort import DEPTHS
from studies.hypotheses.h1_tile_score import (
    TileScoreHypothesis,
    choose_frozen,
    measure_tile_scoring,
)
from studies.hypotheses.h2_window import measure_window_effect
from studies.hypotheses.h3_residency import measure_residency
from studies.hypotheses.h4_fixpipe import measure_output_effect
from studies.hypotheses.h5_sharing import decide_corrected, measure_shared_bandwidth
from studies.hypotheses.h6_vector import measure_vector_effect
from studies.hypotheses.models import JUDGE, SELECTOR, CaseModels, Choice
from studies.hypotheses.registry import ALL, H1_FROZEN, H5_RULE, H5_SELECTOR, HYPOTHESES
from studies.hypotheses.sharing import stop_sharing
from studies.journal import Journal, read_by_key
from studies.outcome_json import from_json, problem_to_json, to_json
from studies.protocol import Hypothesis
from studies.search import SearchOptions

ANSWER_KIND = "hypotheses"
"""`kind` of the one record of a problem."""
ANSWER_VERSION = "3"
"""Changes whenever an answer may, beyond what the versions of the models say."""


def study_shape(
    problem: GemmProblem, spec: HardwareSpec, options: SearchOptions, journal: Journal
) -> ShapeAnswer:
    """The answer for one problem: it depends on the arguments alone, not on other shapes.

    Args:
        problem: the GEMM.
        spec: the chip at its nominal figures.
        options: `study` names a hypothesis, `joint` or `all`; `effort` fixes draws and depth.
        journal: the one record of the answer, found again when the run is resumed.

    Raises:
        RejectedError: the operator rejects the problem.
    """
    key = _answer_key(problem, spec, options)
    record = read_by_key(journal, ANSWER_KIND).get(key)
    if record is not None:
        try:
            return from_json(ShapeAnswer, record.get("answer"))
        except ValueError:
            pass  # A damaged record is as good as none: the answer is worked out again.
    models = CaseModels(build_case(problem, spec), DEPTHS[options.effort])
    answer = _ShapeStudy(models, options).answer()
    journal.append([{"kind": ANSWER_KIND, "key": key, "answer": to_json(answer)}])
    return answer


def _answer_key(problem: GemmProblem, spec: HardwareSpec, options: SearchOptions) -> str:
    """sha256 over all that the answer depends on."""
    parts = [
        ANSWER_VERSION,
        problem_to_json(problem),
        spec_digest(spec),
        *(f"{name} {select_evaluator(name).version}" for name in (SELECTOR, JUDGE)),
        options.study,
        options.effort,
    ]
    text = json.dumps(parts, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


class _ShapeStudy:
    """The studies of one problem that were asked for, one after the other."""

    def __init__(self, models: CaseModels, options: SearchOptions) -> None:
        self._models = models
        self._options = options
        self._found: dict[str, Comparison] = {}

    def answer(self) -> ShapeAnswer:
        """Every study whose domain holds the problem."""
        models, asked = self._models, self._options.study
        case = models.case
        baseline = models.judge(case.baseline)
        answer = ShapeAnswer(
            problem=case.problem,
            strategy=case.decision.strategy.value,
            baseline=baseline,
            error_class=select_error_class(
                case.problem, case.baseline, baseline.judge_us, case.spec
            ),
            comparisons=(),
        )
        for hypothesis in HYPOTHESES:
            study = hypothesis.statement.id
            if asked in {study, ALL} and hypothesis.in_domain(case):
                answer = self._add_hypothesis(answer, hypothesis)
        if asked in {joint.JOINT, ALL}:
            answer = self._add_joint_and_best(answer)
        return replace(answer, comparisons=tuple(self._found.values()))

    def _add_hypothesis(self, answer: ShapeAnswer, hypothesis: Hypothesis) -> ShapeAnswer:
        """Choose, judge and measure one hypothesis."""
        study = hypothesis.statement.id
        alternatives = hypothesis.alternatives(self._models.case)
        choice = self._models.choose(alternatives)
        self._found[study] = self._models.compare(study, choice)
        add: Mapping[str, Callable[[ShapeAnswer, PlanBatch | None, Choice], ShapeAnswer]] = {
            "h1": self._add_h1,
            "h2": self._add_h2,
            "h3": self._add_h3,
            "h4": self._add_h4,
            "h5": self._add_h5,
            "h6": self._add_h6,
        }
        return add[study](answer, alternatives, choice)

    def _add_h1(self, answer: ShapeAnswer, _: PlanBatch | None, choice: Choice) -> ShapeAnswer:
        frozen = self._models.compare(H1_FROZEN, choose_frozen(self._models), is_drawn=False)
        self._found[H1_FROZEN] = frozen
        h1 = measure_tile_scoring(self._models, choice, self._found["h1"], frozen)
        return replace(answer, h1=h1)

    def _add_h2(self, answer: ShapeAnswer, _: PlanBatch | None, __: Choice) -> ShapeAnswer:
        return replace(answer, h2=measure_window_effect(self._models, self._found["h2"]))

    def _add_h3(self, answer: ShapeAnswer, plans: PlanBatch | None, _: Choice) -> ShapeAnswer:
        return replace(answer, h3=measure_residency(self._models, plans))

    def _add_h4(self, answer: ShapeAnswer, plans: PlanBatch | None, _: Choice) -> ShapeAnswer:
        return replace(answer, h4=measure_output_effect(self._models, plans))

    def _add_h5(self, answer: ShapeAnswer, _: PlanBatch | None, __: Choice) -> ShapeAnswer:
        models = self._models
        corrected = batch_legal(models.case, [decide_corrected(models.case)])
        plan = models.case.baseline if corrected is None else corrected.plan(0)
        rule = Choice(plan=plan, top=(plan,), candidates=1)
        self._found[H5_RULE] = models.compare(H5_RULE, rule, is_drawn=False)
        tiles = TileScoreHypothesis()
        if tiles.in_domain(models.case):
            candidates = tiles.alternatives(models.case)
            alone = models.choose(candidates, spec=stop_sharing(models.case.spec))
            shared = models.choose(candidates)
            self._found[H5_SELECTOR] = models.compare(
                H5_SELECTOR, shared, control=alone.plan, is_drawn=False
            )
        return replace(answer, h5=measure_shared_bandwidth(models.case))

    def _add_h6(self, answer: ShapeAnswer, plans: PlanBatch | None, _: Choice) -> ShapeAnswer:
        return replace(answer, h6=measure_vector_effect(self._models, plans))

    def _add_joint_and_best(self, answer: ShapeAnswer) -> ShapeAnswer:
        """JOINT, its leave-outs, and the best known."""
        models = self._models
        candidates = joint.build_candidates(models.case)
        for study, choice in joint.choose_jointly(models, candidates).items():
            is_drawn = study == joint.JOINT
            self._found[study] = models.compare(study, choice, is_drawn=is_drawn)
        cascade = opt.list_cascade(models)
        best, found_by = opt.find_best_known(models, cascade, tuple(self._found.values()))
        together = self._found[joint.JOINT].treatment
        self._found[opt.OPT] = best
        return replace(answer, opt=opt.describe_best_known(best, found_by, together))

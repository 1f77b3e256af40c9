import type { Fault } from "../../domain/model/fault.ts";
import { err, ok, type Result } from "../../domain/result.ts";
import { findOverReserved } from "../../domain/rules/apply-rules.ts";
import type { RuleSet } from "../../domain/model/rules/rule-set.ts";
import type { State, License } from "../../domain/model/state.ts";
import type { Instant } from "../../domain/time.ts";
import type { InvalidRulesFault, MaintenanceFault } from "../../faults/fault-types.ts";
import { sha256 } from "../../platform/crypto/hash.ts";
import {
  repeatBetweenRequests,
  runBetweenRequests,
} from "../../platform/schedule/yield-to-requests.ts";
import { TaskQueue } from "../../platform/schedule/task-queue.ts";
import type { InspectedRules } from "../../rules/inspect-rules.ts";
import type { RulesFinding } from "../../rules/rules-finding.ts";
import { hasErrors, type SiteFacts, type ProductFacts } from "../../rules/site-findings.ts";
import type { StorageFault } from "../../store/journal/storage-fault.ts";
import type { Store } from "../../store/store.ts";
import { flattenResult, type OperationResult } from "../command-runner.ts";
import { JobQueue, type JobOutcome } from "../job-queue.ts";
import { explainClaim, type ExplainedCaller, type Explanation } from "./explain-claim.ts";
import { readPoolFigures } from "./pool-figures.ts";
import { inspectBetweenRequests, type RulesInspector } from "./rules-inspector.ts";
import { HOLDERS_PER_STEP, previewRules, type PoolPreview } from "./rules-preview.ts";

type ClientAuth = SiteFacts["clientAuth"];

/** The rules of the site as they are applied. */
export interface RulesView {
  /** Empty: there are none. */
  readonly text: string;
  readonly digest: string;
  /** Null: there are none. */
  readonly appliedAt: Instant | null;
  readonly groups: number;
  readonly pools: number;
}

export interface AppliedRulesView extends RulesView {
  /** Warnings: rules with errors are not applied. */
  readonly findings: readonly RulesFinding[];
}

/** Digests of rules that a caller wants to replace; `*`: any rules. */
export type ExpectedDigest = "*" | readonly string[];

export interface RulesCheck {
  readonly digest: string;
  readonly findings: readonly RulesFinding[];
  /** Null: the rules have errors. */
  readonly preview: readonly PoolPreview[] | null;
}

/** The digest of no rules: that of an empty text. */
const NO_RULES_DIGEST = sha256("");

/** Checks, applies, shows and explains the site's rules of sharing. */
export class SharingRules {
  readonly #store: Store;
  readonly #inspectText: RulesInspector;
  readonly #changes = new TaskQueue();
  /** Apart from the changes: viewers may check, and no administrator waits for them. */
  readonly #checks = new JobQueue();

  constructor(store: Store, inspectText: RulesInspector = inspectBetweenRequests) {
    this.#store = store;
    this.#inspectText = inspectText;
  }

  read(): OperationResult<RulesView> {
    return this.#store.read(viewRules);
  }

  /**
   * Everything that is wrong in a text, and what it would change. Changes nothing. One text at a
   * time; the signal cancels it.
   */
  check(text: string, clientAuth: ClientAuth, signal: AbortSignal | null): JobOutcome<RulesCheck> {
    return this.#checks.runJob(signal, async (cancel) => {
      const inspected = await this.#inspect(text, clientAuth, cancel);
      if (!inspected.ok) return inspected;
      const { findings } = inspected.value;
      const rules = hasErrors(findings) ? null : inspected.value.rules;
      const figures = await runBetweenRequests(() =>
        this.#store.read((state, { at }) =>
          rules === null ? null : readPoolFigures(rules, state, at),
        ),
      );
      if (!figures.ok) return figures;
      const preview =
        rules === null || figures.value === null
          ? null
          : await previewRules(rules, figures.value, (view) => this.#store.peek(view));
      const checked = { digest: sha256(text), findings, preview };
      // Like every other reply, it waits until what it shows is on disk. In a step of its own: the
      // caller makes a long text of it.
      return runBetweenRequests(() => this.#store.read(() => checked));
    });
  }

  /**
   * Replaces all rules. `expected` are digests, one of which the present rules must have. Holders
   * are counted for the new rules beforehand, in steps, so that no request waits for it.
   */
  apply(
    text: string,
    expected: ExpectedDigest,
    clientAuth: ClientAuth,
    peer: string,
  ): Promise<Result<AppliedRulesView, Fault | MaintenanceFault | InvalidRulesFault>> {
    return this.#changes.runTask(async () => {
      const replaced = this.#findExpected(expected);
      if (!replaced.ok) return replaced;
      const inspected = await this.#inspect(text, clientAuth, null);
      if (!inspected.ok) return inspected;
      const { rules, findings } = inspected.value;
      const pools =
        rules === null ? [] : this.#store.peek((state) => findOverReserved(state, rules));
      if (pools.length > 0) return err({ code: "rules_over_reserved", pools });
      if (rules === null || hasErrors(findings)) return err(makeInvalidRules(findings));
      const result = await this.#replace(text, rules, replaced.value, peer);
      return result.ok ? ok({ ...result.value, findings }) : result;
    });
  }

  async explain(caller: ExplainedCaller): OperationResult<Explanation> {
    return flattenResult(
      await this.#store.read((state, context) => explainClaim(state, caller, context)),
    );
  }

  #inspect(
    text: string,
    clientAuth: ClientAuth,
    signal: AbortSignal | null,
  ): JobOutcome<InspectedRules> {
    const site = this.#store.peek((state) => collectSiteFacts(state, clientAuth));
    return this.#inspectText(text, site, signal);
  }

  /** What the command expects: one digest, null for no rules, or `*`. */
  #findExpected(expected: ExpectedDigest): Result<string | null, Fault> {
    if (expected === "*") return ok(expected);
    const applied = this.#store.peek(({ rules }) => rules?.digest ?? null);
    return expected.includes(applied ?? NO_RULES_DIGEST)
      ? ok(applied)
      : err({ code: "rules_changed", digest: applied });
  }

  async #replace(
    text: string,
    rules: RuleSet,
    expected: string | null,
    peer: string,
  ): Promise<Result<RulesView, Fault | StorageFault>> {
    const digest = sha256(text);
    const isApplied = this.#store.peek((state) => viewRules(state).digest === digest);
    try {
      const prepared = isApplied ? ok(null) : await this.#prepare(rules, digest);
      if (!prepared.ok) return prepared;
      const command = { type: "ApplyRules", text, digest, rules, expected, peer } as const;
      return await this.#store.transact(command, viewRules);
    } finally {
      // Of rules that were refused, nothing must be counted any longer.
      this.#store.peek(({ rulesIndex }) => rulesIndex.discardPrepared());
    }
  }

  async #prepare(rules: RuleSet, digest: string): Promise<Result<null, StorageFault>> {
    const started = await this.#store.read((state, { at }) =>
      state.rulesIndex.prepare(state, digest, rules, at),
    );
    if (!started.ok) return started;
    await repeatBetweenRequests(() => started.value(HOLDERS_PER_STEP));
    return ok(null);
  }
}

const viewRules = ({ rules }: State): RulesView =>
  rules === null
    ? { text: "", digest: NO_RULES_DIGEST, appliedAt: null, groups: 0, pools: 0 }
    : {
        text: rules.text,
        digest: rules.digest,
        appliedAt: rules.at,
        groups: rules.rules.groups.length,
        pools: rules.rules.pools.length,
      };

function makeInvalidRules(findings: readonly RulesFinding[]): InvalidRulesFault {
  const errors = findings.filter(({ severity }) => severity === "error");
  return { code: "invalid_rules", errors: errors.length, line: errors[0]?.line ?? 0 };
}

/** What rules are compared with: the products and features of all installed licenses. */
const collectSiteFacts = ({ products }: State, clientAuth: SiteFacts["clientAuth"]): SiteFacts => ({
  clientAuth,
  products: new Map([...products].map(([code, licenses]) => [code, collectProduct(licenses)])),
});

function collectProduct(licenses: readonly License[]): ProductFacts {
  const features = new Map<string, number | null>();
  let slots = 0;
  for (const { terms, features: ofLicense } of licenses) {
    slots += terms.slots;
    for (const [code, feature] of ofLicense) {
      const { floating } = feature.terms;
      const before = features.get(code) ?? null;
      features.set(code, floating === null ? before : (before ?? 0) + floating.slots);
    }
  }
  return { slots, features };
}

import { makeDecision, type Decision } from "../model/decision.ts";
import type { Fault } from "../model/fault.ts";
import { err, type Result } from "../result.ts";
import type { RuleContext } from "../model/rule-context.ts";
import type { State } from "../model/state.ts";
import { findKeyFault, type SigningKey } from "../trust/trust.ts";

/** The vendor's acknowledgement of a statement arrived; its signature is already checked. */
export interface AcknowledgeStatement {
  readonly type: "AcknowledgeStatement";
  readonly vendor: string;
  readonly n: number;
  readonly digest: string;
  /** The key that signed it. */
  readonly signer: SigningKey;
  readonly peer: string;
}

export interface AcknowledgementOutcome {
  readonly n: number;
  /** False: this statement, or a newer one, was acknowledged before. */
  readonly isNew: boolean;
  /** The newest statement that is acknowledged now. */
  readonly newest: number;
}

export function decideAcknowledgeStatement(
  state: State,
  { vendor, n, digest, signer, peer }: AcknowledgeStatement,
  { at }: RuleContext,
): Result<Decision<AcknowledgementOutcome>, Fault> {
  const chain = state.statementChains.get(vendor);
  const known = chain?.statements.find((statement) => statement.n === n);
  const before = chain?.acknowledged ?? null;
  const knownDigest = known?.digest ?? (before?.n === n ? before.digest : null);
  // Of an older statement only its number is known: it changes nothing, whatever it is.
  const isForgotten = before !== null && n < before.n && knownDigest === null;
  if (!isForgotten && knownDigest !== digest) {
    const restoredAt = state.restores.at(-1)?.at ?? null;
    return err({ code: "statement_unknown", number: n, restoredAt });
  }
  if (before !== null && n <= before.n) {
    return makeDecision([], { n, isNew: false, newest: before.n });
  }
  const keyFault = findKeyFault(state, signer, at);
  if (keyFault !== null) return err(keyFault);
  const event = { type: "StatementAcknowledged", at, vendor, n, digest, peer } as const;
  return makeDecision([event], { n, isNew: true, newest: n });
}

import { makeDecision, type Decision } from "../model/decision.ts";
import type { Fault } from "../model/fault.ts";
import { err, type Result } from "../result.ts";
import type { RuleContext } from "../model/rule-context.ts";
import type { State } from "../model/state.ts";
import type { StoredStatement } from "../model/statements/statement-chain.ts";

/** Adds a signed statement to the chain of its vendor. */
export interface MakeStatement {
  readonly type: "MakeStatement";
  readonly vendor: string;
  readonly statement: Omit<StoredStatement, "at">;
  readonly peer: string;
}

/** The statement was computed before this step: it must still be the next one. */
export function decideMakeStatement(
  state: State,
  { vendor, statement, peer }: MakeStatement,
  { at }: RuleContext,
): Result<Decision<StoredStatement>, Fault> {
  const last = findLastStatement(state, vendor);
  const { n, from, to, auditFrom, auditTo, previous } = statement;
  const isNext =
    n === (last?.n ?? 0) + 1 &&
    previous === (last?.digest ?? null) &&
    from < to &&
    to <= at &&
    (last === null || (from === last.to && auditFrom === last.auditTo + 1)) &&
    auditTo >= auditFrom - 1;
  if (!isNext) return err({ code: "statement_outdated" });
  const stored = { at, ...statement };
  return makeDecision([{ type: "StatementMade", vendor, peer, ...stored }], stored);
}

/** The newest statement for a vendor; null: none was made. */
export const findLastStatement = (
  { statementChains }: State,
  vendor: string,
): StoredStatement | null => statementChains.get(vendor)?.statements.at(-1) ?? null;

import { limits } from "../model/limits.ts";
import type { StatementChain } from "../model/statements/statement-chain.ts";
import type {
  StatementAcknowledged,
  StatementMade,
} from "../model/statements/statement-event-types.ts";
import type { MutableState } from "./mutable-state.ts";

export function addStatement(state: MutableState, event: StatementMade): void {
  const { type: _, vendor, peer: _peer, ...statement } = event;
  const chain = state.statementChains.get(vendor) ?? emptyChain(vendor);
  const statements = dropAcknowledged([...chain.statements, statement], chain.acknowledged?.n ?? 0);
  state.statementChains.set(vendor, { ...chain, statements });
}

export function acknowledgeStatement(
  state: MutableState,
  { vendor, n, digest, at }: StatementAcknowledged,
): void {
  const chain = state.statementChains.get(vendor) ?? emptyChain(vendor);
  const statements = dropAcknowledged(chain.statements, n);
  state.statementChains.set(vendor, { ...chain, statements, acknowledged: { n, digest, at } });
}

const emptyChain = (vendor: string): StatementChain => ({
  vendor,
  statements: [],
  acknowledged: null,
});

/** The newest one stays in any case: the next statement continues it. */
const dropAcknowledged = (
  statements: StatementChain["statements"],
  acknowledged: number,
): StatementChain["statements"] =>
  statements
    .filter(({ n }, index) => n > acknowledged || index === statements.length - 1)
    .slice(-limits.keptStatements);

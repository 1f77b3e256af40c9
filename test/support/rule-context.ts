import type { RuleContext } from "../../src/domain/model/rule-context.ts";
import type { Instant } from "../../src/domain/time.ts";

/** What the rules know besides the state; by default a right clock, own hardware and no caps. */
export const contextAt = (at: Instant, differing: Partial<RuleContext> = {}): RuleContext => ({
  at,
  clockBehind: 0,
  isSignedForThisMachine: () => true,
  slotCaps: { perUser: null, perPeer: null },
  ...differing,
});

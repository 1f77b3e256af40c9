import { createHash } from "node:crypto";
import type { StoredStatement } from "../../src/domain/model/statements/statement-chain.ts";
import { DAY, later, type Instant, startOfDay } from "../../src/domain/time.ts";

/** A statement of one day that continues `last`, or begins two days before `at`. */
export function nextStatement(
  last: StoredStatement | null,
  at: Instant,
  document: string,
): Omit<StoredStatement, "at"> {
  const from = last?.to ?? later(startOfDay(at), -2 * DAY);
  const auditFrom = (last?.auditTo ?? 0) + 1;
  return {
    n: (last?.n ?? 0) + 1,
    from,
    to: later(from, DAY),
    auditFrom,
    auditTo: auditFrom + 3,
    auditSum: "a".repeat(64),
    digest: createHash("sha256").update(document).digest("hex"),
    previous: last?.digest ?? null,
    document,
  };
}

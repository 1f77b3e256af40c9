import type { StatementStatus } from "../../domain/statements/statement-status.ts";
import { DAY, later, type Instant } from "../../domain/time.ts";
import { formatDay } from "../../platform/rfc3339.ts";
import { quoteIfNeeded } from "../../platform/shell-quote.ts";
import { createFinding, type Finding, type HealthReport } from "./finding.ts";

/** Reminds of usage statements that vendors want. They never stop any work. */
export const checkStatements = (
  vendors: readonly StatementStatus[],
  now: Instant,
): HealthReport => ({
  findings: vendors.flatMap((vendor) => findingsOf(vendor, now)),
  passed: [],
});

function findingsOf(status: StatementStatus, now: Instant): Finding[] {
  const { vendor, everyDays, isDue, nextFrom } = status;
  const name = status.name ?? vendor;
  if (everyDays === null) return [];
  const command = `berth usage statement --vendor ${quoteIfNeeded(name)}`;
  if (isDue && nextFrom !== null) {
    const wish = everyDays === 1 ? "every day" : `every ${everyDays} days`;
    return [
      createFinding("statement_due", "warning", {
        summary: `${name} wants a usage statement ${wish}; the use since ${formatDay(nextFrom)} is not reported`,
        remedy: "Make the statement and send the file to the vendor",
        command: `${command} --out statement.jwt`,
        subject: name,
      }),
    ];
  }
  const waiting = status.statements.find(
    ({ n, at }) => n > (status.acknowledged?.n ?? 0) && now >= later(at, everyDays * DAY),
  );
  if (waiting === undefined) return [];
  return [
    createFinding("statement_unacknowledged", "note", {
      summary: `${name} has not acknowledged usage statement ${waiting.n} of ${formatDay(waiting.at)}`,
      remedy: "Send the file again, and install the vendor's answer with berth usage acknowledge",
      command: `${command} --number ${waiting.n} --out statement.jwt`,
      subject: name,
    }),
  ];
}

import type { VerifyReply } from "../../http/running-server.ts";
import { formatNumber, formatDateTime } from "../format.ts";
import { Button } from "../parts/button.tsx";
import { Notice } from "../parts/notice.tsx";
import { auditLog } from "../texts/audit-log.ts";
import { runIntegrityCheck, lastIntegrityCheck } from "./last-integrity-check.ts";

const { integrity: chain } = auditLog;

/** A mark that has to be earned: nothing is said to be whole that nobody has looked at. */
export function IntegrityCheck() {
  const { value: last } = lastIntegrityCheck;
  return (
    <div class="chain">
      <div class="row">
        <Button onClick={runIntegrityCheck}>
          {last === null ? chain.check : chain.checkAgain}
        </Button>
        {last === null && <span class="quiet">{chain.notChecked}</span>}
      </div>
      {last !== null && <IntegrityResult found={last.found} at={last.checkedAt} />}
    </div>
  );
}

function IntegrityResult({ found, at }: { found: VerifyReply; at: string }) {
  const said = <p class="quiet">{chain.checkedAt(formatDateTime(at))}</p>;
  if (!found.intact) {
    return (
      <Notice kind="bad" title={chain.broken}>
        <p>{found.finding}</p>
        <p>{found.remedy}</p>
        {said}
      </Notice>
    );
  }
  return (
    <Notice kind="good" title={`✓ ${chain.intact}`}>
      <p>{coverageText(found)}</p>
      {found.audit_gaps.length > 0 && <Gaps gaps={found.audit_gaps} />}
      <p>
        {chain.lastLine(formatNumber(found.audit_seq))} <code>{found.audit_sum}</code>
      </p>
      {said}
    </Notice>
  );
}

type IntactReply = Extract<VerifyReply, { intact: true }>;

function coverageText({ audit_from, audit_to, audit_files, audit_gaps }: IntactReply): string {
  if (audit_to < audit_from) return chain.empty;
  const [from, to] = [formatNumber(audit_from), formatNumber(audit_to)];
  const files = chain.files(audit_files);
  return audit_gaps.length === 0
    ? chain.coverage(from, to, files)
    : chain.coverageWithGaps(from, to, files);
}

/** Nothing is called whole without a word about what was declared as gone. */
const Gaps = ({ gaps }: { gaps: IntactReply["audit_gaps"] }) => (
  <ul>
    {gaps.map(({ from_line, to_line, reason, declared_at }) => (
      <li key={from_line}>
        {chain.gap(
          formatNumber(from_line),
          formatNumber(to_line),
          reason,
          formatDateTime(declared_at),
        )}
      </li>
    ))}
  </ul>
);

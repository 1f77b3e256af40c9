import type { VerifyReply } from "../../http/running-server.ts";
import { formatNumber, formatDateTime } from "../format.ts";
import { Time } from "../parts/time.tsx";
import { Button } from "../parts/button.tsx";
import { Notice } from "../parts/notice.tsx";
import { auditLog } from "./audit-log-texts.ts";
import { signal } from "@preact/signals";
import { admin, unwrapReply } from "../api.ts";

const { integrity } = auditLog;

/** The result appears only after a check: no claim is made before it. */
export function IntegrityCheck() {
  const { value: last } = lastIntegrityCheck;
  return (
    <div class="integrity">
      <div class="row">
        <Button onClick={runIntegrityCheck}>
          {last === null ? integrity.check : integrity.checkAgain}
        </Button>
        {last === null && <span class="muted">{integrity.notChecked}</span>}
      </div>
      {last !== null && <IntegrityResult result={last.result} at={last.checkedAt} />}
    </div>
  );
}

function IntegrityResult({ result, at }: { result: VerifyReply; at: string }) {
  const checkedAt = (
    <p class="hint">
      {integrity.checkedAt} <Time at={at} />
    </p>
  );
  if (!result.intact) {
    return (
      <Notice kind="bad" title={integrity.broken}>
        <p>{result.finding}</p>
        <p>{result.remedy}</p>
        {checkedAt}
      </Notice>
    );
  }
  return (
    <Notice kind="good" title={integrity.intact}>
      <p>{coverageText(result)}</p>
      {result.audit_gaps.length > 0 && <Gaps gaps={result.audit_gaps} />}
      <p>
        {integrity.lastLine(formatNumber(result.audit_seq))} <code>{result.audit_sum}</code>
      </p>
      <p class="hint">{integrity.explanation}</p>
      {checkedAt}
    </Notice>
  );
}

type IntactReply = Extract<VerifyReply, { intact: true }>;

function coverageText({ audit_from, audit_to, audit_files, audit_gaps }: IntactReply): string {
  if (audit_to < audit_from) return integrity.empty;
  const [from, to] = [formatNumber(audit_from), formatNumber(audit_to)];
  const files = integrity.files(audit_files);
  return audit_gaps.length === 0
    ? integrity.coverage(from, to, files)
    : integrity.coverageWithGaps(from, to, files);
}

/** An intact log can have declared gaps: they are always listed. */
const Gaps = ({ gaps }: { gaps: IntactReply["audit_gaps"] }) => (
  <ul>
    {gaps.map(({ from_line, to_line, reason, declared_at }) => (
      <li key={from_line}>
        {integrity.gap(
          formatNumber(from_line),
          formatNumber(to_line),
          reason,
          formatDateTime(declared_at),
        )}
      </li>
    ))}
  </ul>
);

interface IntegrityCheckRun {
  readonly checkedAt: string;
  readonly result: VerifyReply;
}

/** The last check of this page; null: none yet. */
const lastIntegrityCheck = signal<IntegrityCheckRun | null>(null);

async function runIntegrityCheck(): Promise<void> {
  lastIntegrityCheck.value = null;
  const result = await unwrapReply(admin.verify.get());
  lastIntegrityCheck.value = { checkedAt: new Date().toISOString(), result };
}

import { useSignal } from "@preact/signals";
import type { StatusReply } from "../../http/routes/health/status-schema.ts";
import { admin, unwrapReply } from "../api.ts";
import { berthCommand } from "../commands.ts";
import { formatBytes, formatNumber } from "../format.ts";
import { Button } from "../parts/button.tsx";
import { Command } from "../parts/command.tsx";
import { Facts, type Fact } from "../parts/facts.tsx";
import { PairCard } from "../pair/pair-card.tsx";
import { Time, TimeZoneNote } from "../parts/time.tsx";
import { serverStatus } from "../status-stream.ts";
import { FindingList } from "./finding-list.tsx";
import { needsAttention, type Severity } from "./findings.ts";
import { health } from "./health-texts.ts";

const SEVERITIES: readonly Severity[] = ["error", "warning", "note"];

/** What needs the operator's attention, and what is in order. */
export function Health() {
  const { value: status } = serverStatus;
  if (status === null) return null;
  const { findings } = status;
  return (
    <>
      <h2>{health.title}</h2>
      <FullCheck checkedAt={status.checked_at} />
      <PairCard />
      {!findings.some(needsAttention) && <p class="no-attention">{health.healthy}</p>}
      {SEVERITIES.map((severity) => (
        <FindingGroup
          key={severity}
          severity={severity}
          findings={findings.filter((finding) => finding.severity === severity)}
        />
      ))}
      <PassedChecks status={status} />
    </>
  );
}

/** When all checks were run, and a button that runs them now. */
function FullCheck({ checkedAt }: { checkedAt: string | null }) {
  const isRunning = useSignal(false);
  const run = async (): Promise<void> => {
    isRunning.value = true;
    try {
      // The stream of the status brings what it found.
      await unwrapReply(admin.doctor.get());
    } finally {
      isRunning.value = false;
    }
  };
  return (
    <div class="full-check">
      <p class="muted" role="status">
        {isRunning.value ? (
          health.running
        ) : checkedAt === null ? (
          health.neverChecked
        ) : (
          <>
            {health.lastCheck} <Time at={checkedAt} /> <TimeZoneNote />
          </>
        )}
      </p>
      <Button onClick={run}>{health.runAgain}</Button>
    </div>
  );
}

interface GroupProps {
  readonly severity: Severity;
  readonly findings: StatusReply["findings"];
}

function FindingGroup({ severity, findings }: GroupProps) {
  if (findings.length === 0) return null;
  return (
    <section class="card finding-group" aria-label={health.groups[severity]}>
      <h3>{health.groups[severity]}</h3>
      <p class="hint">{health.about[severity]}</p>
      <FindingList findings={findings} isDetailed />
    </section>
  );
}

function PassedChecks({ status }: { status: StatusReply }) {
  const { passed_checks: passed } = status;
  return (
    <details class="card passed-checks">
      <summary>{health.passed(passed.length)}</summary>
      <Facts
        as="lines"
        facts={passed.map(({ check, summary }) => [health.checks[check] ?? check, summary])}
      />
      <h3>{health.figures.title}</h3>
      <Facts as="tiles" facts={figuresOf(status)} />
      <Command text={berthCommand("doctor")} />
    </details>
  );
}

function figuresOf({ storage, appliance, certificate, version }: StatusReply): Fact[] {
  const { figures } = health;
  return [
    [figures.free, storage.free_bytes === null ? "?" : formatBytes(storage.free_bytes)],
    [figures.sync, `${storage.slowest_sync_ms} ms`],
    [figures.changes, formatNumber(storage.seq)],
    [figures.auditLines, formatNumber(storage.audit_seq)],
    [
      figures.certificate,
      certificate === null ? figures.noCertificate : <Time at={certificate.expires_at} as="end" />,
    ],
    [figures.hardware, appliance.components.join(", ") || figures.nothing],
    [figures.version, version],
  ];
}

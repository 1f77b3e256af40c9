import type { WarningTime } from "../../domain/licenses/end-date.ts";
import type { StatementStatus } from "../../domain/statements/statement-status.ts";
import type { Instant } from "../../domain/time.ts";
import { rfc3339 } from "../../platform/rfc3339.ts";
import type { BackupStatus } from "../backups/backup-status.ts";
import type { ClockView } from "../clock/timekeeping.ts";
import { checkBackups } from "./backups.ts";
import { checkCertificate } from "./certificate.ts";
import { checkClock } from "./clock.ts";
import { checkExposures, type ServerAccess } from "./exposures.ts";
import {
  createFinding,
  mergeReports,
  selectInstallationPart,
  type Finding,
  type HealthReport,
} from "./finding.ts";
import type { DeliveryFailure } from "../notifications/delivery-queue.ts";
import { checkLicenses, type LicenseFacts } from "./licenses.ts";
import type { PairStatus } from "../pair/pair-status.ts";
import { checkNotifications } from "./notifications.ts";
import { checkPair } from "./pair.ts";
import { checkSharingRules, type SharingFacts } from "./sharing-rules.ts";
import { checkStatements } from "./statements.ts";
import { checkStorage, type StorageFacts } from "./storage.ts";
import { checkTrust, type TrustFacts } from "./trust.ts";
import { checkUsageUpdate } from "./usage.ts";
import { checkTokens, type TokenFacts } from "./tokens.ts";

/** The last run of the checks of `berth doctor`. */
export interface FullCheck {
  readonly at: Instant;
  /** Null: it could not be run. */
  readonly report: HealthReport | null;
  /** Why it could not be run; empty: it was. */
  readonly failure: string;
}

/** What the server knows about the host that it runs on. */
export interface HostFacts extends WarningTime {
  readonly storage: StorageFacts;
  readonly hardware: { readonly isWeak: boolean; readonly components: readonly string[] };
  /** Null: no server runs, so nothing can be reached. */
  readonly access: ServerAccess | null;
  /** The end of the certificate of the TLS listener; null: there is no such listener. */
  readonly certificateEndsAt: Instant | null;
  /** Null: no server runs, and only a server makes backups by itself. */
  readonly backups: BackupStatus | null;
  /** The ways of notifications that do not work now. */
  readonly notificationFailures: readonly DeliveryFailure[];
  /** Why the usage files could not be updated; null: they could. */
  readonly usageError: string | null;
  /** Null: not since the start of the server. */
  readonly fullCheck: FullCheck | null;
  /** Null: this host is alone. */
  readonly pair: PairStatus | null;
}

/** All that the server knows about its health. */
export interface HealthFacts extends HostFacts {
  readonly clock: ClockView;
  readonly licenses: readonly LicenseFacts[];
  /** Usage statements, by vendor. */
  readonly statements: readonly StatementStatus[];
  readonly trust: TrustFacts;
  readonly sharing: SharingFacts;
  /** When the appliance was moved to another host; null: it was not. */
  readonly movedAwayAt: Instant | null;
  readonly tokens: readonly TokenFacts[];
}

/** Everything an operator should know, the most severe first, and the checks that passed. */
export const assessHealth = (facts: HealthFacts): HealthReport =>
  mergeReports([
    checkStorage(facts.storage),
    checkPair(facts.pair, facts.now),
    ...checkSite(facts),
    ...checkServer(facts),
  ]);

/** The same of a host on standby: the leader reports what both hosts share. */
export const assessStandby = (facts: HostFacts): HealthReport =>
  mergeReports([
    checkStorage(facts.storage),
    checkPair(facts.pair, facts.now),
    ...checkHost(facts),
    ...checkServer(facts),
  ]);

const checkServer = (facts: HostFacts): HealthReport[] => [
  checkNotifications(facts.notificationFailures),
  checkUsageUpdate(facts.usageError),
  fullCheckReport(facts),
];

const checkHost = (facts: HostFacts): HealthReport[] => [
  checkHardware(facts.hardware),
  checkCertificate(facts.certificateEndsAt, facts),
  ...(facts.access === null ? [] : [checkExposures(facts.access)]),
  ...(facts.backups === null ? [] : [checkBackups(facts.backups, facts.now)]),
];

/** An appliance that was moved away grants nothing: that is the only finding that matters. */
function checkSite(facts: HealthFacts): HealthReport[] {
  const { now, movedAwayAt } = facts;
  if (movedAwayAt !== null) return [{ findings: [movedAwayFinding(movedAwayAt)], passed: [] }];
  return [
    checkClock(facts.clock),
    checkLicenses(facts.licenses, facts),
    checkTrust(facts.trust, now),
    checkStatements(facts.statements, now),
    checkSharingRules(facts.sharing, facts.access),
    checkTokens(facts.tokens, facts),
    ...checkHost(facts),
  ];
}

const movedAwayFinding = (at: Instant): Finding =>
  createFinding("moved_away", "warning", {
    summary: `Moved to another host on ${rfc3339(at)}: this folder no longer grants licenses`,
    remedy: "Delete the folder once the other host serves it",
  });

function checkHardware({ isWeak, components }: HostFacts["hardware"]): HealthReport {
  const names = components.join(", ");
  if (!isWeak) {
    return { findings: [], passed: [{ check: "hardware", summary: `Bound to ${names}` }] };
  }
  const finding = createFinding("weak_binding", "note", {
    summary: `Weak hardware binding: only ${names || "nothing"} can be identified`,
    remedy: "The vendor must allow this binding when issuing a license (--allow-weak-binding)",
  });
  return { findings: [finding], passed: [] };
}

/** What only the full check finds; the rest is known now, and may have changed since. */
function fullCheckReport({ fullCheck }: HostFacts): HealthReport {
  if (fullCheck === null) return { findings: [], passed: [] };
  const { report, failure } = fullCheck;
  if (report === null) {
    const finding = createFinding("check_failed", "warning", {
      summary: `The last full check could not be run: ${failure}`,
      remedy: "Run the checks again; the server's log says more",
      command: "berth doctor",
    });
    return { findings: [finding], passed: [] };
  }
  return selectInstallationPart(report);
}

import type { AccessControl } from "../operations/access-control.ts";
import type { Airgap } from "../operations/airgap.ts";
import type { AuditMaintenance } from "../operations/audit-maintenance.ts";
import type { CloudCredentials } from "../operations/cloud-credentials.ts";
import type { Identity } from "../operations/identity.ts";
import type { Licensing } from "../operations/licensing.ts";
import type { AuditLogReader } from "../operations/audit-log-reader.ts";
import type { Timekeeping } from "../operations/timekeeping.ts";
import type { Operations } from "../operations/operations.ts";
import type { RunningServer } from "./running-server.ts";
import type { StatusStreams } from "./status-streams.ts";

/** The services that the routes use. */
export interface Services {
  readonly operations: Operations;
  readonly licensing: Licensing;
  readonly airgap: Airgap;
  readonly credentials: CloudCredentials;
  readonly identity: Identity;
  readonly timekeeping: Timekeeping;
  readonly access: AccessControl;
  readonly streams: StatusStreams;
  readonly auditLog: AuditLogReader;
  readonly auditMaintenance: AuditMaintenance;
  /** Empty while no listener is open. */
  readonly exposures: () => readonly Exposure[];
  /** Certificate of the TLS listener; null without one. */
  readonly certificate: () => CertificateView | null;
  /** Null: no server runs; a command opened the data folder itself. */
  readonly runningServer: RunningServer | null;
}

export interface Exposure {
  readonly finding: string;
  readonly remedy: string;
}

export interface CertificateView {
  readonly endsAt: number;
  readonly state: "ok" | "expiring" | "expired";
}

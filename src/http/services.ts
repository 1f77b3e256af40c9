import type { ApplianceOperations } from "../operations/wire.ts";
import type { RunningServer } from "./running-server.ts";
import type { StatusStreams } from "./reply/status-streams.ts";

/** The services that the routes use. */
export interface Services extends ApplianceOperations {
  readonly streams: StatusStreams;
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

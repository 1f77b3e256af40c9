import type { RunningServer, SettingsReply } from "../../http/running-server.ts";
import type { AuditFinding } from "../../operations/audit-maintenance.ts";
import type { FlagValues } from "../frame/command.ts";
import { getAllowedNetworks } from "../serve/access-policy.ts";
import { createMaintenanceJobs, type MaintenanceJobs } from "./maintenance.ts";

/** A listener as it is bound: HOST:PORT. */
export type BoundListener = SettingsReply["listeners"][number];

/** What only a running server can do; `bound` is filled when it listens. */
export function createRunningServer(
  flags: FlagValues,
  folder: string,
  bound: readonly BoundListener[],
  reportAuditFinding: (finding: AuditFinding | null) => void = () => {},
): RunningServer & MaintenanceJobs {
  const settings = (): SettingsReply => ({
    settings: [...flags.values].map(([name, { value, from }]) => ({
      name,
      value: typeof value === "object" ? [...value] : value,
      source: from,
    })),
    networks: getAllowedNetworks(flags),
    listeners: [...bound],
  });
  return {
    settings,
    ...createMaintenanceJobs({
      flags,
      folder,
      listeners: () => [...bound],
      reportAuditFinding,
    }),
  };
}

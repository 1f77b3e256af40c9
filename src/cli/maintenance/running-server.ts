import type { RunningServer, SettingsReply } from "../../http/running-server.ts";
import type { AuditFinding } from "../../store/audit/audit-health.ts";
import type { FlagValues } from "../command.ts";
import { listSettings } from "../commands/config.ts";
import { getAllowedNetworks } from "../access-policy.ts";
import { createMaintenanceJobs, type MaintenanceJobs } from "./maintenance.ts";

/** A listener as it is bound: HOST:PORT. */
export type BoundListener = SettingsReply["listeners"][number];

/** What a running server adds to the folder it works on; `bound` fills when it listens. */
export function createRunningServer(
  given: FlagValues,
  folder: string,
  bound: readonly BoundListener[],
  noteAudit: (found: AuditFinding | null) => void = () => {},
): RunningServer & MaintenanceJobs {
  const settings = (): SettingsReply => ({
    settings: listSettings(given).map(({ name, value, from }) => ({
      name,
      value: typeof value === "object" ? [...value] : value,
      source: from,
    })),
    networks: getAllowedNetworks(given),
    listeners: [...bound],
  });
  return {
    settings,
    ...createMaintenanceJobs({
      flags: given,
      folder,
      listeners: () => [...bound],
      reportAuditFinding: noteAudit,
    }),
  };
}

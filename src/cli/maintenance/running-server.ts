import type { RunningServer, SettingsReply } from "../../http/running-server.ts";
import type { SetOption } from "../frame/define-command.ts";
import { getAllowedNetworks } from "../serve/access-policy.ts";
import type { ServeSettings } from "../serve/settings.ts";
import {
  createMaintenanceJobs,
  type MaintenanceContext,
  type MaintenanceJobs,
} from "./maintenance.ts";

/** A listener as it is bound: HOST:PORT. */
export type BoundListener = SettingsReply["listeners"][number];

interface RunningServerOptions extends MaintenanceContext {
  readonly settings: MaintenanceContext["settings"] &
    Pick<ServeSettings, "clientNetworks" | "adminNetworks">;
  readonly setOptions: readonly SetOption[];
}

/** What only a running server can do. */
export function createRunningServer(
  options: RunningServerOptions,
): RunningServer & MaintenanceJobs {
  const { settings, setOptions, listeners } = options;
  return {
    settings: (): SettingsReply => ({
      settings: setOptions.map(({ name, value, from }) => ({
        name,
        value: typeof value === "object" ? [...value] : value,
        source: from,
      })),
      networks: getAllowedNetworks(settings),
      listeners: [...listeners],
    }),
    ...createMaintenanceJobs(options),
  };
}

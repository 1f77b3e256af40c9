import type { RunningServer, SettingsReply } from "../../http/running-server.ts";
import type { AuditFinding } from "../../store/audit/audit-health.ts";
import type { Given } from "../command.ts";
import { settingsIn } from "../commands/config.ts";
import { networksOf } from "../policy.ts";
import { errandsOf, type Errands } from "./errands.ts";

/** A listener as it is bound: HOST:PORT. */
export type Bound = SettingsReply["listeners"][number];

/** What a running server adds to the folder it works on; `bound` fills when it listens. */
export function servedBy(
  given: Given,
  folder: string,
  bound: readonly Bound[],
  noteAudit: (found: AuditFinding | null) => void = () => {},
): RunningServer & Errands {
  const settings = (): SettingsReply => ({
    settings: settingsIn(given).map(({ name, value, from }) => ({
      name,
      value: typeof value === "object" ? [...value] : value,
      source: from,
    })),
    networks: networksOf(given),
    listeners: [...bound],
  });
  return { settings, ...errandsOf({ given, folder, listeners: () => [...bound], noteAudit }) };
}

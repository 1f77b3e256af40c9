import type { PairSettings } from "./appliance.ts";
import type { Values } from "../frame/define-command.ts";
import type { pairSettings } from "./pair-settings.ts";

/** How this host takes part in a pair, by its settings; null: it is alone. */
export function readPairOptions(settings: Values<typeof pairSettings>): PairSettings | null {
  const { pairLog: url, pairLogPasswordFile, pairHost: host, pairUrl } = settings;
  if (url === null || url === undefined) return null;
  return {
    url,
    passwordFile: pairLogPasswordFile ?? null,
    host,
    clientUrl: pairUrl ?? null,
    termMs: settings.pairTakeoverSeconds * 1_000,
  };
}

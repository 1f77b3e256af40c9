import type { PairReply } from "../../http/routes/pair/pair-reply.ts";
import type { ServeSettings } from "../serve/settings.ts";
import type { Redactor } from "./redact.ts";

type Names = Pick<Redactor, "pseudonymFor">;

/** Gives pseudonyms to the hosts of the pair, and to those of its database. */
export function addPairNames(
  names: Names,
  { pairLog, pairHost, pairUrl }: Pick<ServeSettings, "pairLog" | "pairHost" | "pairUrl">,
  reply: PairReply | null,
): void {
  const { pair } = reply ?? { pair: null };
  const hosts = pair?.hosts ?? [];
  for (const name of [pairHost, ...hosts.map((host) => host.name)])
    names.pseudonymFor("host", name);
  for (const url of [pairUrl ?? null, ...hosts.map((host) => host.url)]) addUrlHost(names, url);
  for (const { host } of pairLog?.hosts ?? []) names.pseudonymFor("host", host);
  if (pairLog) names.pseudonymFor("user", pairLog.user);
}

function addUrlHost(names: Names, url: string | null): void {
  const host = url === null ? null : URL.parse(url)?.hostname;
  if (host) names.pseudonymFor("host", host);
}

import { Value } from "@sinclair/typebox/value";
import { RequestPairDocument } from "./request.ts";

/** The pair that a request describes, as one line; null: the request is for one host. */
export function describeRequestPair(pair: RequestPairDocument | undefined): string | null {
  if (pair === undefined) return null;
  const hosts = pair.hosts.map(({ name, head }) =>
    head === null ? `${name} has reported no line` : `${name} at line ${head.seq} (${head.at})`,
  );
  return `the request is for two hosts: ${hosts.join(", ")}; ${pair.leader} leads in epoch ${pair.epoch}`;
}

/** The same of a payload that was not checked; null if it has no valid pair. */
export function describeUncheckedPair(payload: unknown): string | null {
  const pair = (payload as { pair?: unknown } | null)?.pair;
  return Value.Check(RequestPairDocument, pair) ? describeRequestPair(pair) : null;
}

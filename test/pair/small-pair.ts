// Two hosts on one database, for tests that need no proxies.
import { join } from "node:path";
import { findFreePorts } from "../support/free-ports.ts";
import { consumptionTerms } from "../support/scenario.ts";
import { makeTempFolder } from "../support/suite-harness.ts";
import { waitUntil } from "../support/wait-until.ts";
import { callHost, type CallAnswer, type HostAddress } from "./faults/calls.ts";
import { formPair } from "./form-pair.ts";
import { PairHost, type HostOptions } from "./pair-host.ts";

const PRODUCT = "cad";
const NAMES = ["alpha", "beta"] as const;
const IDENTITY = "machine of the test";
const TIMEOUT = 30_000;
/** So long that a busy machine does not end it: a statement may take half of it. */
const TERM_SECONDS = 8;

export interface SmallHost {
  readonly host: PairHost;
  readonly address: HostAddress;
}

/** What is different for one of the hosts. */
type HostPlace = Partial<Pick<HostOptions, "logUrl" | "address" | "prefix">>;

/** Forms a pair on an empty database; no host is started yet. */
export async function makeSmallPair(
  databaseUrl: string,
  placeOf: (index: 0 | 1) => HostPlace = () => ({}),
): Promise<readonly [SmallHost, SmallHost]> {
  const root = makeTempFolder();
  const folders = [join(root, NAMES[0]), join(root, NAMES[1])] as const;
  await formPair({
    folders,
    names: NAMES,
    identity: IDENTITY,
    databaseUrl,
    terms: { product: PRODUCT, slots: 30, consumption: consumptionTerms({ max: null }) },
  });
  const ports = findFreePorts(2);
  const makeHost = (index: 0 | 1): SmallHost => {
    const name = NAMES[index];
    const place = placeOf(index);
    const port = ports[index] ?? 0;
    const url = `http://${place.address ?? "127.0.0.1"}:${port}`;
    const host = new PairHost({
      name,
      folder: folders[index],
      port,
      clientUrl: url,
      logUrl: databaseUrl,
      termSeconds: TERM_SECONDS,
      identity: IDENTITY,
      ...place,
    });
    return { host, address: { name, url } };
  };
  return [makeHost(0), makeHost(1)];
}

/** Starts hosts one after the other, so that the first one leads. */
export async function startHosts(...hosts: readonly SmallHost[]): Promise<void> {
  for (const { host } of hosts) {
    host.start();
    await waitUntil(() => host.isReady || !host.isRunning, `${host.name} is ready`);
    if (!host.isReady) throw new Error(`${host.name} did not start: ${host.output}`);
  }
}

export const register = ({ address }: SmallHost, user: string): Promise<CallAnswer | null> => {
  const body = { product: PRODUCT, user };
  return callHost(address, { path: "/api/v4/register", body, timeoutMs: TIMEOUT });
};

export const read = ({ address }: SmallHost, path: string): Promise<CallAnswer | null> =>
  callHost(address, { path, body: null, timeoutMs: TIMEOUT });

/** Waits until a host registers this user; returns the host. */
export async function registerSomewhere(
  hosts: readonly SmallHost[],
  user: string,
): Promise<SmallHost> {
  let leader: SmallHost | undefined;
  await waitUntil(
    async () => {
      for (const host of hosts) if ((await register(host, user))?.status === 200) leader = host;
      return leader !== undefined;
    },
    `a host registers ${user}`,
    { maxPause: 50 },
  );
  if (leader === undefined) throw new Error("no host leads");
  return leader;
}

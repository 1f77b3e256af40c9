import { afterAll, describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { runBinary } from "../support/binary.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { waitUntil } from "../support/wait-until.ts";
import {
  formPair,
  newFile,
  readPair,
  refusalOn,
  runOrThrowOn,
  waitForLeader,
  type Host,
} from "./hosts-of-pair.ts";
import { PostgresCluster } from "./postgres-cluster.ts";
import { withEnd } from "../support/vendor-commands.ts";

const cluster = PostgresCluster.start();
afterAll(() => cluster.remove());

async function runDesk<T>(desk: string, ...words: string[]): Promise<T> {
  const flags = ["--dir", desk, "--json"];
  const { code, stdout, stderr } = await runBinary(["vendor", ...words, ...flags]);
  if (code !== 0) throw new Error(`exit ${code}: ${stderr}`);
  return JSON.parse(stdout) as T;
}

interface Issued {
  readonly document: string;
  readonly hosts: readonly string[];
  readonly pair: {
    readonly epoch: number;
    readonly hosts: readonly { readonly name: string; readonly head: object | null }[];
  };
}

interface Installed extends Issued {
  /** What `berth license add` says of a renewal. */
  readonly changes: readonly string[] | null;
}

/** Requests a license of two hosts on the leader, and installs one for so many hosts. */
async function license(
  desk: string,
  leader: Host,
  product: string,
  hosts: "1" | "2",
): Promise<Installed> {
  const { payload } = await runOrThrowOn<{ readonly payload: string }>(
    leader,
    ["license", "request"],
    ["--product", product, "--hosts", "2"],
  );
  const [request, answer] = [newFile("request.jwt"), newFile("license.jwt")];
  writeFileSync(request, payload);
  const terms = ["--slots", "2", "--hosts", hosts, "--allow-weak-binding"];
  const issued = await runDesk<Issued>(desk, "issue", "--request", request, ...withEnd(terms));
  writeFileSync(answer, issued.document);
  const added = await runOrThrowOn<Pick<Installed, "changes">>(leader, ["license", "add", answer]);
  return { ...issued, changes: added.changes };
}

/** Until the leader knows where the journal of the other host ends. */
const waitForReport = (leader: Host, host: string): Promise<void> =>
  waitUntil(
    async () => {
      const { pair } = await readPair(leader);
      return pair?.hosts.some(({ name, version }) => name === host && version !== null) === true;
    },
    `${leader.name} has a report of ${host}`,
    { maxPause: 200 },
  );

async function register(url: string, product: string, user: string): Promise<string> {
  const response = await fetch(`${url}/api/v4/register`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ product, user }),
  });
  if (response.ok) return "granted";
  const { code, message } = (await response.json()) as { code: string; message: string };
  return `${code}: ${message}`;
}

describe("the licenses of a pair", () => {
  test("serve on both hosts, or only while their host leads", async () => {
    const desk = join(tempFolder(), "desk");
    const products = ["--product", "CAD", "--product", "CAM"];
    await runDesk(desk, "init", "--name", "Acme", "--no-passphrase", ...products);
    const { alpha, beta, servers } = await formPair(cluster);
    await runOrThrowOn(alpha, ["trust", "add", join(desk, "trust.jwt")], ["--yes"]);
    await waitForReport(alpha, "beta");
    const issued = await license(desk, alpha, "CAD", "2");
    expect([issued.hosts.length, issued.pair.hosts.map(({ name }) => name)]).toEqual([
      2,
      ["alpha", "beta"],
    ]);
    expect(issued.pair.hosts.map(({ head }) => head === null)).toEqual([false, false]);
    await license(desk, alpha, "CAM", "1");
    expect(await register(servers.alpha.url, "CAD", "ada")).toBe("granted");
    expect(await register(servers.alpha.url, "CAM", "ada")).toBe("granted");

    expect(await refusalOn(alpha, ["pair", "hand-over"])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("host beta cannot serve CAM"),
    });
    await servers.alpha.stop();
    await waitForLeader(beta, "beta");
    expect(await register(servers.beta.url, "CAD", "bob")).toBe("granted");
    expect(await register(servers.beta.url, "CAD", "eve")).toStartWith("floating_not_available");
    expect(await register(servers.beta.url, "CAM", "bob")).toBe(
      "hardware_mismatch: the license is for host alpha and serves only while that host leads; beta leads now",
    );
    expect(await refusalOn(beta, ["airgap", "request", "--license-key", "K-1"])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("a pair cannot be activated by codes"),
    });

    await waitForReport(beta, "alpha");
    expect((await license(desk, beta, "CAM", "2")).changes).toEqual(["hosts 1 → 2"]);
    expect(await register(servers.beta.url, "CAM", "bob")).toBe("granted");
  });
});

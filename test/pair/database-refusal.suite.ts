// A database that answers, and that accepts no new line: the disk of its log is full.
import { beforeAll, describe, expect } from "bun:test";
import { chmodSync, chownSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import type { PairReply } from "../../src/http/routes/pair/pair-reply.ts";
import type { DoctorReply } from "../../src/http/running-server.ts";
import { SmallDisk } from "../faults/disk-full/small-disk.ts";
import { runBinary } from "../support/binary.ts";
import { atEnd, testUnless } from "../support/suite-harness.ts";
import { waitUntil } from "../support/wait-until.ts";
import { PostgresCluster } from "./postgres-cluster.ts";
import { startPair, type RunningHost } from "./running-host.ts";
import { runSql } from "./test-databases.ts";

const TAKEOVER_SECONDS = 4;
const NOBODY = 65_534;
/** The mode bits that let any user open what is in a folder, by its name. */
const SEARCH_BY_ALL = 0o011;
/** As PostgreSQL says it. */
const NO_SPACE = "No space left on device";

const disk = SmallDisk.mount(16);
const testIfMounted = testUnless(typeof disk === "string" ? disk : null);

/** The lines of the log are on the small disk, and all else is not: the database goes on. */
async function moveLog(cluster: PostgresCluster, { folder }: SmallDisk): Promise<void> {
  for (const parent of [dirname(folder), dirname(dirname(folder))])
    chmodSync(parent, statSync(parent).mode | SEARCH_BY_ALL);
  chownSync(folder, NOBODY, NOBODY);
  await runSql(cluster, `CREATE TABLESPACE small LOCATION '${folder}'`);
  await runSql(cluster, "ALTER TABLE berth.journal SET TABLESPACE small");
}

const readPairOn = async ({ folder }: RunningHost): Promise<PairReply> => {
  const unix = join(folder, "berth.sock");
  return (await (await fetch("http://berth/api/admin/v1/pair", { unix })).json()) as PairReply;
};

async function register({ url }: RunningHost, user: string): Promise<number> {
  const reply = await fetch(`${url}/api/v4/register`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ product: "CAD", user }),
  });
  return reply.status;
}

describe("a database whose disk is full", () => {
  let cluster: PostgresCluster;
  let hosts: [RunningHost, RunningHost];

  const readTerm = async (): Promise<{ readonly epoch: number; readonly seconds: number }> => {
    const columns = "epoch, extract(epoch FROM clock_timestamp()) AS seconds";
    const [row = {}] = await runSql(cluster, `SELECT ${columns} FROM berth.leader`);
    return { epoch: Number(row["epoch"]), seconds: Number(row["seconds"]) };
  };

  beforeAll(async () => {
    if (typeof disk === "string") return;
    cluster = PostgresCluster.start();
    atEnd(() => cluster.remove());
    hosts = await startPair(cluster, { slots: 1_000 }, TAKEOVER_SECONDS);
    await moveLog(cluster, disk);
    disk.fill(0);
    // The last page of the table has room for some lines.
    let count = 0;
    await waitUntil(async () => (await register(hosts[0], `user-${(count += 1)}`)) === 503);
    const hasProblem = async (host: RunningHost): Promise<boolean> =>
      (await readPairOn(host)).pair?.problem?.includes(NO_SPACE) === true;
    for (const host of hosts) await waitUntil(() => hasProblem(host), `${host.name} says why`);
  });

  testIfMounted(
    "is named in its own words by status, page, doctor and log of both hosts",
    async () => {
      for (const host of hosts) {
        expect(await host.run("pair", "status")).toMatch(
          new RegExp(`problem +could not extend file .*${NO_SPACE}`),
        );
        const { findings = [] } = await readPairOn(host);
        const { stdout } = await runBinary(["doctor", ...host.flags, "--json"]);
        const all = [...findings, ...(JSON.parse(stdout) as DoctorReply).findings];
        const problems = all.filter(({ code }) => code === "pair_log_unreachable");
        expect(problems).toHaveLength(2);
        for (const { summary } of problems) expect(summary).toContain(NO_SPACE);
        expect(all.filter(({ code }) => code === "pair_leader_changed")).toEqual([]);
        expect(host.site.stderr()).toContain(NO_SPACE);
      }
    },
  );

  testIfMounted(
    "lets neither host name a leader, and is asked once in a term by each",
    async () => {
      const first = await readTerm();
      let last = first;
      await waitUntil(
        async () => {
          for (const { url } of hosts) {
            const reply = await fetch(`${url}/api/v4/health`);
            expect(reply.status).toBe(503);
            expect(reply.headers.get("berth-leader")).toBeNull();
          }
          last = await readTerm();
          return last.epoch >= first.epoch + 4;
        },
        "more epochs",
        { maxPause: 20 },
      );
      const terms = (last.seconds - first.seconds) / TAKEOVER_SECONDS;
      expect(last.epoch - first.epoch).toBeLessThanOrEqual(2 * (terms + 1));
    },
  );

  testIfMounted("is used again when there is space, and no host reports a problem", async () => {
    if (typeof disk !== "string") disk.removeBallast();
    const statuses = async () =>
      Promise.all(hosts.map(async (host) => (await readPairOn(host)).pair?.problem));
    await waitUntil(async () => {
      const answers = await Promise.all(hosts.map((host) => register(host, "last")));
      return answers.includes(200);
    });
    await waitUntil(async () => (await statuses()).every((problem) => problem === null));
  });
});

// What operators see of a pair on each of its hosts: status, doctor, check, metrics, bundle.
import { beforeAll, describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { DoctorReply } from "../../src/http/running-server.ts";
import type { PairReply } from "../../src/http/routes/pair/pair-reply.ts";
import type { StatusReply } from "../../src/http/routes/health/status-schema.ts";
import { readArchive } from "../support/archives.ts";
import { runBinary } from "../support/binary.ts";
import { atEnd, makeTempFolder } from "../support/suite-harness.ts";
import { waitUntil } from "../support/wait-until.ts";
import { PostgresCluster } from "./postgres-cluster.ts";
import { createDatabase, runSql } from "./test-databases.ts";
import { startPair, type RunningHost } from "./running-host.ts";

/** No host is killed. */
const TAKEOVER_SECONDS = 30;

let cluster: PostgresCluster;
let alpha: RunningHost;
let beta: RunningHost;

beforeAll(async () => {
  cluster = PostgresCluster.start();
  atEnd(() => cluster.remove());
  [alpha, beta] = await startPair(cluster, {}, TAKEOVER_SECONDS);
  // Both have reported, and the database was looked at.
  await waitUntil(async () => {
    const { pair } = await readStatus();
    return pair?.database != null && pair.hosts.every((host) => host.version !== null);
  }, "both hosts reported");
});

const readStatus = async (): Promise<StatusReply> =>
  JSON.parse(await alpha.run("status", "--json")) as StatusReply;

const readPairOn = async (host: RunningHost): Promise<PairReply> =>
  JSON.parse(await host.run("status", "--json")) as PairReply;

const readMetrics = (host: RunningHost): Promise<string> =>
  fetch("http://berth/metrics", { unix: join(host.folder, "berth.sock") }).then((reply) =>
    reply.text(),
  );

const valueOf = (metrics: string, name: string): number | null => {
  const [, value] = new RegExp(`^${name} (.*)$`, "m").exec(metrics) ?? [];
  return value === undefined ? null : Number(value);
};

const codesOf = ({ findings = [] }: Pick<PairReply, "findings">): string[] =>
  findings.map(({ code }) => code);

describe("berth status", () => {
  test("names both hosts on the leader, and the exposure of the database", async () => {
    const status = await readStatus();
    expect(status.pair).toMatchObject({ host: "alpha", role: "leader", leader: "alpha" });
    expect(status.pair?.hosts).toMatchObject([
      { name: "alpha", role: "leader", url: alpha.url },
      { name: "beta", role: "standby", url: beta.url },
    ]);
    expect(codesOf(status)).toContain("pair_database_async");
    expect(await alpha.run("status")).toMatch(
      /pair +alpha leads \(this host, epoch \d+\); beta is/,
    );
  });

  test("names the leader on standby, with the findings of that host", async () => {
    const reply = await readPairOn(beta);
    expect(reply.pair).toMatchObject({ host: "beta", role: "standby", leader: "alpha" });
    expect(reply.pair?.leader_url).toBe(alpha.url);
    expect(codesOf(reply)).toContain("pair_database_async");
    expect(codesOf(reply)).not.toContain("disk_failed");
    const text = await beta.run("status");
    expect(text).toStartWith("this host is on standby");
    expect(text).toContain(alpha.url);
  });
});

describe("berth doctor", () => {
  test.each(["alpha", "beta"])("reaches the running server of %s", async (name) => {
    const host = name === "alpha" ? alpha : beta;
    const { code, stdout } = await runBinary(["doctor", ...host.flags, "--json"]);
    const { findings } = JSON.parse(stdout) as DoctorReply;
    const codes = findings.map((finding) => finding.code);
    expect(codes).toContain("pair_database_async");
    expect(codes).not.toContain("server_unreachable");
    expect(codes).not.toContain("port_taken");
    // A warning, and no error.
    expect(code).toBe(1);
  });

  test("refuses a database that cannot be reached, without a start", async () => {
    const folder = join(makeTempFolder(), "site");
    const flags = ["--data", folder, "--pair-log", "postgres://berth@127.0.0.1:1/berth", "--json"];
    const { code, stdout } = await runBinary(["doctor", ...flags]);
    const { findings } = JSON.parse(stdout) as DoctorReply;
    expect(findings.map((finding) => finding.code)).toContain("pair_database_refused");
    expect(code).toBe(78);
  });

  test("checks an empty database and creates nothing in it", async () => {
    const { name, url } = await createDatabase(cluster);
    const folder = join(makeTempFolder(), "site");
    const flags = ["--data", folder, "--pair-log", url.text, "--json"];
    const { stdout } = await runBinary(["doctor", ...flags]);
    const codes = (JSON.parse(stdout) as DoctorReply).findings.map((finding) => finding.code);
    expect(codes).toContain("pair_database_async");
    expect(codes).not.toContain("pair_database_refused");
    const isEmpty = "SELECT to_regnamespace('berth') IS NULL AS is_empty";
    expect(await runSql(cluster, isEmpty, name)).toEqual([{ is_empty: true }]);
  });
});

describe("health and metrics", () => {
  test("health names the leader on standby", async () => {
    const reply = await fetch(`${beta.url}/api/v4/health`);
    expect(reply.status).toBe(503);
    expect(reply.headers.get("berth-leader")).toBe(alpha.url);
    expect(await reply.json()).toMatchObject({ code: "standby" });
  });

  test("metrics of licenses are those of the leader only, metrics of the pair of both", async () => {
    const [leader, standby] = await Promise.all([readMetrics(alpha), readMetrics(beta)]);
    expect(leader).toContain("berth_license_slots{");
    expect(standby).not.toContain("berth_license_slots{");
    expect([leader, standby].map((text) => valueOf(text, "berth_pair_leader"))).toEqual([1, 0]);
    for (const text of [leader, standby]) {
      expect(valueOf(text, "berth_pair_ready")).toBe(1);
      expect(valueOf(text, "berth_pair_hosts")).toBe(2);
      expect(valueOf(text, "berth_read_only")).toBe(0);
      expect(valueOf(text, "berth_pair_other_host_age_seconds")).toBeLessThan(30);
    }
  });

  test("berth check answers on standby", async () => {
    const { code, stdout } = await runBinary(["check", "pair", "--data", beta.folder]);
    expect(stdout).toStartWith("BERTH WARNING - the database has no strict synchronous standby");
    expect(code).toBe(1);
  });
});

test("a support bundle of either host has both hosts, and no name, address or password", async () => {
  const password = join(makeTempFolder(), "password");
  writeFileSync(password, "hunter2-of-the-database\n", { mode: 0o600 });
  for (const host of [alpha, beta]) {
    const folder = makeTempFolder();
    const [out, config] = [join(folder, "support.tar"), join(folder, "berth.toml")];
    const names = `pair_log = "${cluster.url}"\npair_host = "${host.name}"\n`;
    writeFileSync(config, `${names}pair_log_password_file = "${password}"\n`);
    await host.run("support-bundle", out, "--yes", "--config", config);
    const entries = readArchive(out);
    const { pair } = JSON.parse(entries.get("pair.json") ?? "{}") as PairReply;
    expect(pair?.hosts.length).toBe(2);
    const text = [...entries.values()].join("\n");
    expect(entries.get("settings.json")).toContain("pair-log");
    for (const secret of ["alpha", password, "hunter2-of-the-database"])
      expect(text).not.toContain(secret);
  }
});

// The password of a pair's database is in nothing that a host prints, answers, writes or collects.
import { beforeAll, describe, expect, test } from "bun:test";
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { buildBinary, runBinary } from "../support/binary.ts";
import { atEnd, makeTempFolder } from "../support/suite-harness.ts";
import { waitUntil } from "../support/wait-until.ts";
import { PostgresCluster } from "./postgres-cluster.ts";
import { createDatabase, runSql } from "./test-databases.ts";

const PASSWORD = "canary-0f5d8c1b";
const ROLE = "secretive";

const cluster = PostgresCluster.start();
atEnd(() => cluster.remove());

const folder = makeTempFolder();
const data = join(folder, "data");
const passwordFile = join(folder, "password");

let url = "";
beforeAll(async () => {
  writeFileSync(passwordFile, `${PASSWORD}\n`, { mode: 0o600 });
  await runSql(cluster, `CREATE ROLE ${ROLE} LOGIN PASSWORD '${PASSWORD}'`);
  ({ text: url } = (await createDatabase(cluster, `OWNER ${ROLE}`)).url);
  url = url.replace("berth@", `${ROLE}@`);
  cluster.addAccessRule(`host all ${ROLE} 127.0.0.1/32 scram-sha-256`);
});

const flagsFor = (logUrl: string): string[] => {
  const host = ["--data", data, "--identity", "test", "--pair-host", "alpha"];
  const log = ["--pair-log", logUrl, "--pair-log-password-file", passwordFile];
  return [...host, "--listen", "127.0.0.1:0", ...log, "--pair-takeover-seconds", "2"];
};

interface Server {
  readonly pid: number;
  readonly output: () => string;
  readonly stop: () => Promise<unknown>;
}

function startServer(): Server {
  const child = Bun.spawn([buildBinary(), "serve", ...flagsFor(url)], {
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
    env: { PATH: process.env["PATH"] ?? "" },
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    void (async () => {
      for await (const bytes of stream) output += new TextDecoder().decode(bytes);
    })();
  }
  return {
    pid: child.pid,
    output: () => output,
    stop() {
      child.kill();
      return child.exited;
    },
  };
}

/** All files of a folder, as one text. */
const readAll = (path: string): string =>
  statSync(path).isDirectory()
    ? readdirSync(path)
        .map((name) => readAll(join(path, name)))
        .join("")
    : statSync(path).isFile()
      ? readFileSync(path, "latin1")
      : "";

describe("the password of a pair's database", () => {
  test("is in no output, process list, status, bundle or file of a host", async () => {
    const server = startServer();
    try {
      await waitUntil(() => server.output().includes("this host leads the pair"));
      const texts = new Map<string, string>();
      const commands = [
        ["status"],
        ["status", "--json"],
        ["pair", "status", "--json"],
        ["config", "--json"],
        ["doctor", "--json"],
        ["support-bundle", join(folder, "bundle.tar"), "--yes"],
      ];
      for (const command of commands) {
        const { stdout, stderr } = await runBinary([...command, "--data", data]);
        expect(stdout).not.toBe("");
        texts.set(command.join(" "), stdout + stderr);
      }
      for (const name of ["cmdline", "environ"])
        texts.set(name, readFileSync(`/proc/${server.pid}/${name}`, "latin1"));
      texts.set("bundle", readFileSync(join(folder, "bundle.tar"), "latin1"));
      // What the host says when the database refuses it, and when it is away.
      await runSql(cluster, `ALTER ROLE ${ROLE} PASSWORD 'another'`);
      await runSql(
        cluster,
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '${ROLE}'`,
      );
      await waitUntil(() => server.output().includes("password authentication failed"));
      texts.set("output", server.output());
      texts.set("data folder", readAll(data));
      for (const [name, text] of texts)
        expect([name, text.includes(PASSWORD)]).toEqual([name, false]);
    } finally {
      await runSql(cluster, `ALTER ROLE ${ROLE} PASSWORD '${PASSWORD}'`);
      await server.stop();
    }
  });

  for (const wrong of [`b:${PASSWORD}@db/d`, `b:${PASSWORD}@x@db/d`, `b:${PASSWORD}/x@db/d`]) {
    test(`is not repeated if it is in the URL: ${wrong.replace(PASSWORD, "PASSWORD")}`, async () => {
      rmSync(data, { recursive: true, force: true });
      mkdirSync(data);
      const settings = join(folder, "berth.toml");
      writeFileSync(settings, `pair_log = "postgres://${wrong}"\n`);
      const runs = [
        ["serve", "--data", data, "--pair-log", `postgres://${wrong}`],
        ["serve", "--data", data, "--config", settings],
        ["serve", "--json", "--data", data, "--config", settings],
        ["config", "--data", data, "--config", settings],
      ];
      for (const args of runs) {
        const { code, stdout, stderr } = await runBinary(args);
        expect(code).toBe(2);
        expect(stdout + stderr).not.toContain(PASSWORD);
      }
    });
  }
});

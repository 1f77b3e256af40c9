// Prometheus' own tools read the metrics and the alert rules of the executable, and the counters of
// a server that was killed begin at zero.
import { beforeAll, describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseAlertRules } from "../../src/cli/monitoring/alert-rules.ts";
import { buildBinary, startBinary, type ServerProcess } from "../support/binary.ts";
import { parseExposition, type ParsedSample } from "../support/parse-exposition.ts";
import { makeLicensedSite } from "../support/site-folder.ts";
import { featureTerms } from "../support/scenario.ts";
import { atEnd, chooseSize, requirePackages } from "../support/suite-harness.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { ALERT_TESTS, alertTestFile } from "./prometheus/alert-tests.ts";

const [{ rules: alertRules }] = parseAlertRules().groups;

const KILLS = chooseSize(50, 500, 10);

let binary: string;

beforeAll(() => {
  requirePackages({ prometheus: "promtool" });
  binary = buildBinary();
});

function run(command: readonly string[], input = "") {
  const { exitCode, stdout, stderr } = Bun.spawnSync([...command], { stdin: Buffer.from(input) });
  return { exitCode, output: `${stdout.toString()}${stderr.toString()}` };
}

async function startSite(folder: string): Promise<ServerProcess> {
  const server = await startBinary("serve", "--data", folder, "--listen", "127.0.0.1:0");
  atEnd(() => server.kill());
  return server;
}

const post = (server: ServerProcess, operation: string, fields: object): Promise<Response> =>
  fetch(`${server.url}/api/v4/${operation}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(fields),
  });

const scrape = async (server: ServerProcess, accept: string): Promise<string> =>
  (await fetch(`${server.url}/metrics`, { headers: { accept } })).text();

async function makeSite(): Promise<string> {
  const folder = join(tempFolder(), "data");
  await makeLicensedSite(folder, {
    product: "CAD",
    slots: 1,
    features: [featureTerms("render", { floating: { slots: 1, timeoutMinutes: 30 } })],
  });
  return folder;
}

/** Every kind of change and of refusal that a client can cause. */
async function useSite(server: ServerProcess): Promise<void> {
  const calls: readonly (readonly [string, object])[] = [
    ["register", { user: "ada" }],
    ["register", { user: "bob" }],
    ["featureRegister", { user: "ada", feature: "render" }],
    ["featureRelease", { user: "ada", feature: "render" }],
    ["register", { user: "bob", product: 'evil"} 1\n' }],
    ["unregister", { user: "ada" }],
    ["register", { user: "bob" }],
    ["nothing", {}],
  ];
  for (const [operation, fields] of calls) await post(server, operation, fields);
}

describe("promtool", () => {
  test("finds nothing wrong in the metrics of a site in use", async () => {
    const server = await startSite(await makeSite());
    await useSite(server);
    const text = await scrape(server, "text/plain");
    expect(parseExposition(text, "text").length).toBeGreaterThan(40);
    expect(run(["promtool", "check", "metrics"], text)).toEqual({ exitCode: 0, output: "" });
  });

  test("finds nothing wrong in the alert rules", () => {
    const path = join(tempFolder(), "rules.yml");
    writeFileSync(path, run([binary, "metrics", "rules"]).output);
    const { exitCode, output } = run(["promtool", "check", "rules", path]);
    expect([exitCode, output]).toEqual([0, expect.stringContaining(`${alertRules.length} rules`)]);
  });

  test("sees each alert fire when it should, and not when it should not", () => {
    expect(Object.keys(ALERT_TESTS).toSorted()).toEqual(
      alertRules.map(({ alert }) => alert).toSorted(),
    );
    const folder = tempFolder();
    writeFileSync(join(folder, "rules.yml"), run([binary, "metrics", "rules"]).output);
    const path = join(folder, "tests.yml");
    writeFileSync(path, JSON.stringify(alertTestFile("rules.yml")));
    const { exitCode, output } = run(["promtool", "test", "rules", path]);
    expect([exitCode, output]).toEqual([0, expect.stringContaining("SUCCESS")]);
  });

  test("accepts the rules as JSON too", () => {
    const path = join(tempFolder(), "rules.yml");
    writeFileSync(path, run([binary, "metrics", "rules", "--json"]).output);
    expect(run(["promtool", "check", "rules", path]).exitCode).toBe(0);
  });
});

test(`the counters begin at zero, with the time of the start, after each of ${KILLS} kills`, async () => {
  const folder = await makeSite();
  let previousStart = 0;
  for (let kill = 0; kill < KILLS; kill += 1) {
    const server = await startSite(folder);
    const atStart = await readSamples(server);
    const start = valueOf(atStart, "berth_process_start_time_seconds");
    expect(start).toBeGreaterThan(previousStart);
    previousStart = start;
    const counters = atStart.filter(
      ({ name }) => name.endsWith("_total") && !name.includes("_cpu_"),
    );
    expect(counters.length).toBeGreaterThan(10);
    for (const { name, labels, value } of counters) {
      expect([name, labels, value]).toEqual([name, labels, 0]);
    }
    for (const { name, value } of atStart) {
      if (name.endsWith("_created")) expect([name, value]).toEqual([name, start]);
    }
    await useSite(server);
    const afterUse = await readSamples(server);
    expect(valueOf(afterUse, "berth_license_releases_total", { cause: "user" })).toBe(1);
    await post(server, "unregister", { user: "bob" });
    await server.kill();
  }
  console.log(`       ${KILLS} kills`);
});

const readSamples = async (server: ServerProcess): Promise<ParsedSample[]> =>
  parseExposition(await scrape(server, "application/openmetrics-text"), "openmetrics").flatMap(
    ({ samples }) => samples,
  );

function valueOf(
  samples: readonly ParsedSample[],
  name: string,
  labels: Readonly<Record<string, string>> = {},
): number {
  const found = samples.find(
    (sample) =>
      sample.name === name &&
      Object.entries(labels).every(([label, value]) => sample.labels[label] === value),
  );
  return found?.value ?? Number.NaN;
}

// What the clients of all languages share: the server that they call, the program that calls it,
// and what it must print. Everything that is generated stays in a folder that is gone at the end.
import { cpSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { atEnd, check, finish } from "../support/suite-harness.ts";
import { startBinary } from "../support/binary.ts";

export interface DemoServer {
  readonly url: string;
  /** A JSON file with the fields of the call that adds an air-gapped license. */
  readonly airgapFile: string;
}

export interface Workspace {
  readonly folder: string;
  /** The path of the server's openapi.json. */
  readonly document: string;
  readonly demo: DemoServer;
}

/** Copies a language's files to a folder with the openapi.json of a running demo. */
export async function prepareWorkspace(language: string): Promise<Workspace> {
  // Not in a tmpfs, which may be small and may forbid running programs.
  const root = mkdtempSync(join(tmpdir(), "berth-client-"));
  atEnd(() => rmSync(root, { recursive: true, force: true }));
  const folder = join(root, language);
  cpSync(join(import.meta.dir, language), folder, { recursive: true });
  const data = join(root, "demo");
  const server = await startBinary("demo", "--listen", "127.0.0.1:0", "--data", data);
  atEnd(() => server.signal("SIGKILL"));
  const document = join(folder, "openapi.json");
  writeFileSync(document, await (await fetch(`${server.url}/api/v4/openapi.json`)).text());
  const airgapFile = join(data, "demo", "airgap-license.json");
  return { folder, document, demo: { url: server.url, airgapFile } };
}

export interface CommandResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a tool in the workspace until it exits. */
export async function runTool(
  { folder, demo }: Workspace,
  words: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<CommandResult> {
  const child = Bun.spawn([...words], {
    cwd: folder,
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
    env: { ...process.env, ...env, BERTH_URL: demo.url, BERTH_AIRGAP_FILE: demo.airgapFile },
  });
  const [code, stdout, stderr] = await Promise.all([
    child.exited,
    child.stdout.text(),
    child.stderr.text(),
  ]);
  return { code, stdout, stderr };
}

/** Checks a step and ends the suite when it failed, because later steps depend on it. */
export function requireSuccess(name: string, result: CommandResult): void {
  check(name, result.code === 0, result);
  if (result.code !== 0) finish();
}

/** The end of the programs' borrows: in seven days, in whole seconds. */
const borrowedUntil = `${new Date(Date.now() + 7 * 86_400_000).toISOString().slice(0, 19)}Z`;

/** What each call of a program must print, in every language. */
const expectedCalls = (licenseId: number): Readonly<Record<string, object>> => ({
  register: {
    product: "DEMO",
    user: "ada",
    user_info: "",
    license_id: licenseId,
    borrowed_until: null,
    is_borrowed: false,
    floating_users: 5,
    lease: null,
    id_in_license_json: licenseId,
  },
  borrow: {
    license_id: licenseId,
    borrowed_until: borrowedUntil,
    is_borrowed: true,
    max_borrow_time: 8_760,
    has_lease: true,
  },
  addConsumption: {
    license_id: licenseId,
    max_consumptions: 100,
    total_consumptions: 3,
    max_overages: 10,
    consumption_period: null,
  },
  addFeatureConsumption: { feature: "EXPORT", max_consumption: 50, total_consumptions: 2 },
  generateLicenseRequest: {
    product: "DEMO",
    license_key: "ABCD-1234",
    cloud_payload: null,
    parts_of_payload: 3,
  },
  setKeys: { status: 200, updated: ["apiKey", "sharedKey"] },
  addAirgapLicense: {
    is_air_gapped: true,
    short_code: "DEMO",
    validity_period: null,
    feature_types: ["activation", "consumption"],
  },
  refusal: { status: 400, code: "invalid_license_feature_code" },
  getLicense: { id: licenseId, max_borrow_time: 8_760 },
  unregister: { text: "user_unregistered" },
});

/** Runs the program that makes the calls and checks its output: one line of JSON for each call. */
export async function checkCalls(
  work: Workspace,
  language: string,
  words: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<void> {
  const reply = await fetch(`${work.demo.url}/api/v4/license`);
  const { id } = (await reply.json()) as { readonly id: number };
  check("the license's id needs more than 32 bits", id > 2 ** 32, id);
  const result = await runTool(work, words, { ...env, BORROWED_UNTIL: borrowedUntil });
  check(`${language}: the program exits with 0`, result.code === 0, result);
  const printed = new Map(result.stdout.split("\n").filter(Boolean).map(readLine));
  for (const [call, expected] of Object.entries(expectedCalls(id))) {
    const actual = printed.get(call);
    check(`${language}: ${call} returns the expected values`, isDeepStrictEqual(actual, expected), {
      actual,
      expected,
    });
  }
}

function readLine(line: string): [call: string, value: unknown] {
  const { call, value } = JSON.parse(line) as { readonly call: string; readonly value: unknown };
  return [call, value];
}

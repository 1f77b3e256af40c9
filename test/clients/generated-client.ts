// What the clients of all languages share: the server that they call, the program that calls it,
// and what it must print. Everything that is generated stays in a folder that is gone at the end.
import { expect } from "bun:test";
import { cpSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { atEnd, type TestFunction } from "../support/suite-harness.ts";
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

/** Throws if a step failed: later steps and all tests depend on it. */
export function requireSuccess(step: string, { code, stdout, stderr }: CommandResult): void {
  if (code !== 0) throw new Error(`not true: ${step}; code ${code}\n${stdout}${stderr}`);
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
    max_borrow_time: 720,
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
  getLicense: { id: licenseId, max_borrow_time: 720 },
  unregister: { text: "user_unregistered" },
});

export interface ProgramCalls {
  readonly licenseId: number;
  readonly result: CommandResult;
}

/** Runs the program that makes the calls. */
export async function runProgram(work: Workspace, words: readonly string[]): Promise<ProgramCalls> {
  const reply = await fetch(`${work.demo.url}/api/v4/license`);
  const { id } = (await reply.json()) as { readonly id: number };
  const result = await runTool(work, words, { BORROWED_UNTIL: borrowedUntil });
  return { licenseId: id, result };
}

/** Tests what the program printed: one line of JSON for each call. */
export function testCalls(test: TestFunction, calls: () => ProgramCalls): void {
  test("reads the id of a license that needs more than 32 bits", () => {
    expect(calls().licenseId).toBeGreaterThan(2 ** 32);
  });
  test("is used by a program that exits with code 0", () => {
    const { code, stderr } = calls().result;
    expect({ code, stderr: code === 0 ? "" : stderr }).toEqual({ code: 0, stderr: "" });
  });
  for (const call of Object.keys(expectedCalls(0))) {
    test(`returns the expected values of ${call}`, () => {
      const { licenseId, result } = calls();
      const printed = new Map(result.stdout.split("\n").filter(Boolean).map(readLine));
      expect(printed.get(call)).toEqual(expectedCalls(licenseId)[call]);
    });
  }
}

function readLine(line: string): [call: string, value: unknown] {
  const { call, value } = JSON.parse(line) as { readonly call: string; readonly value: unknown };
  return [call, value];
}

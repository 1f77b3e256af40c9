// Two hosts on one machine, with the commands that an operator would run on each.
import { onTestFinished } from "bun:test";
import { join } from "node:path";
import { runBinary, startBinary, type ServerProcess } from "../support/binary.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { waitUntil } from "../support/wait-until.ts";
import type { PostgresCluster } from "./postgres-cluster.ts";
import { postgresFolder } from "./postgres-programs.ts";

let databaseCount = 0;

/** The URL of a new database: empty, or a copy of another one that no host uses. */
export function createDatabase({ port, url }: PostgresCluster, original?: string): string {
  databaseCount += 1;
  const name = `pair${databaseCount}`;
  const server = ["-h", "127.0.0.1", "-p", String(port), "-U", "berth"];
  const { exitCode, stderr } = Bun.spawnSync([
    join(postgresFolder(), "createdb"),
    ...server,
    ...(original === undefined ? [] : ["-T", new URL(original).pathname.slice(1)]),
    name,
  ]);
  if (exitCode !== 0) throw new Error(stderr.toString());
  return url.replace(/postgres$/, name);
}

export interface Host {
  readonly name: string;
  readonly folder: string;
  /** Of every command on this host. */
  readonly flags: readonly string[];
  /** Those of a server, and of the commands that read its settings. */
  readonly pairFlags: readonly string[];
}

/** Long: no test waits for the end of a term, and a busy machine must not lose it. */
const TAKEOVER = "--pair-takeover-seconds 30";

export function makeHost(name: string, database: string): Host {
  const folder = join(tempFolder(), "data");
  return {
    name,
    folder,
    flags: ["--data", folder, "--identity", name],
    pairFlags: `--pair-log ${database} --pair-host ${name} ${TAKEOVER}`.split(" "),
  };
}

/** The outcome of a command with `--json`. */
interface JsonResult<T> {
  readonly code: number;
  readonly stderr: string;
  readonly json: T;
}

/** Runs a command on a host. */
async function runOn<T>(
  { flags }: Host,
  words: readonly string[],
  more: readonly string[] = [],
): Promise<JsonResult<T>> {
  const { code, stdout, stderr } = await runBinary([...words, ...flags, ...more, "--json"]);
  if (stdout === "") throw new Error(`exit ${code} without output: ${stderr}`);
  return { code, stderr, json: JSON.parse(stdout) as T };
}

export async function runOrThrowOn<T>(
  host: Host,
  words: readonly string[],
  more: readonly string[] = [],
): Promise<T> {
  const { code, stderr, json } = await runOn<T>(host, words, more);
  if (code !== 0) throw new Error(`exit ${code}: ${stderr}`);
  return json;
}

/** A refusal of a command, as its error says it. */
export async function refusalOn(
  host: Host,
  words: readonly string[],
  more: readonly string[] = [],
): Promise<{ readonly code: number; readonly stderr: string }> {
  const { code, stderr } = await runBinary([...words, ...host.flags, ...more]);
  if (code === 0) throw new Error(`${words.join(" ")} was not refused`);
  return { code, stderr };
}

export async function serveOn(
  { flags, pairFlags }: Host,
  { isAlone = false } = {},
): Promise<ServerProcess> {
  const listen = ["--listen", "127.0.0.1:0"];
  const server = await startBinary("serve", ...flags, ...listen, ...(isAlone ? [] : pairFlags));
  onTestFinished(() => server.kill());
  return server;
}

/** The exit code and the error of a server that does not start. */
export const refusalOfServer = (
  { flags, pairFlags }: Host,
  { isAlone = false } = {},
): Promise<{ readonly code: number; readonly stderr: string }> =>
  runBinary(["serve", ...flags, "--listen", "127.0.0.1:0", ...(isAlone ? [] : pairFlags)]);

export interface PairJson {
  readonly pair: {
    readonly host: string | null;
    readonly role: string | null;
    readonly leader: string | null;
    readonly epoch: number | null;
    readonly problem: string | null;
    readonly hosts: readonly {
      readonly name: string;
      readonly role: string | null;
      readonly version: string | null;
      readonly lines_behind: number | null;
    }[];
    readonly database: { readonly replication: string } | null;
  } | null;
}

export const readPair = (host: Host): Promise<PairJson> =>
  runOrThrowOn<PairJson>(host, ["pair", "status"]);

export const waitForLeader = (host: Host, leader: string): Promise<void> =>
  waitUntil(
    async () => (await readPair(host)).pair?.leader === leader,
    `${leader} leads, as ${host.name} knows it`,
    { maxPause: 200 },
  );

/** Makes a request on one host, and admits it on another, which leads. */
export async function admitHost(leader: Host, joining: Host): Promise<AdmissionFiles> {
  const files = { request: newFile("request"), admission: newFile("admission") };
  const { fingerprint: shown } = await runOrThrowOn<Fingerprint>(
    joining,
    ["pair", "request", files.request],
    ["--pair-host", joining.name],
  );
  const { fingerprint } = await runOrThrowOn<Fingerprint>(
    leader,
    ["pair", "admit", files.request, files.admission],
    ["--yes"],
  );
  return { ...files, fingerprints: [shown, fingerprint] };
}

interface Fingerprint {
  readonly fingerprint: string;
}

export interface AdmissionFiles {
  readonly request: string;
  readonly admission: string;
  /** As both hosts show it. */
  readonly fingerprints: readonly [string, string];
}

export const newFile = (name: string): string => join(tempFolder(), name);

export interface RunningPair {
  readonly database: string;
  readonly alpha: Host;
  readonly beta: Host;
  readonly servers: { readonly alpha: ServerProcess; readonly beta: ServerProcess };
  readonly files: AdmissionFiles;
}

/** The journey of an operator: alpha leads, and beta joins it. */
export async function formPair(cluster: PostgresCluster): Promise<RunningPair> {
  const database = createDatabase(cluster);
  const alpha = makeHost("alpha", database);
  const beta = makeHost("beta", database);
  const first = await serveOn(alpha);
  await waitForLeader(alpha, "alpha");
  const files = await admitHost(alpha, beta);
  await runOrThrowOn(beta, ["pair", "join", files.admission], beta.pairFlags);
  const second = await serveOn(beta);
  await waitForLeader(beta, "alpha");
  return { database, alpha, beta, servers: { alpha: first, beta: second }, files };
}

/** The types of the events in the audit log of a host, newest first. */
export async function auditTypesOn(host: Host): Promise<string[]> {
  interface Audit {
    readonly events: readonly { readonly type: string }[];
  }
  const { events } = await runOrThrowOn<Audit>(host, ["audit"]);
  return events.map(({ type }) => type);
}

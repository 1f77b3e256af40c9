// A site's server as a process, for tests of access control: it can be restarted, administered with
// commands, and called from loopback or, through a network address, as from another machine.
import { expect, onTestFinished } from "bun:test";
import { networkInterfaces } from "node:os";
import { join } from "node:path";
import { startBinary, type ServerProcess } from "./binary.ts";
import { runBerth, type CommandResult } from "./run-berth.ts";
import { tempFolder } from "./temp-folder.ts";
import { waitUntil } from "./wait-until.ts";

export const PASSWORD = "correct horse battery";

/** This machine's address on a network: a call to it does not come from loopback. */
export const NETWORK_ADDRESS =
  Object.values(networkInterfaces())
    .flat()
    .find((entry) => entry?.family === "IPv4" && !entry.internal)?.address ?? null;

export const bearerHeader = (token: string): Record<string, string> => ({
  authorization: `Bearer ${token}`,
});

export const basicAuthHeader = (name: string, password: string): Record<string, string> => ({
  authorization: `Basic ${Buffer.from(`${name}:${password}`).toString("base64")}`,
});

export class RunningSite {
  readonly folder: string;
  #server: ServerProcess;
  #flags: readonly string[];

  /** `folder` may be an existing data folder. */
  static async open(flags: readonly string[] = [], folder = join(tempFolder(), "data")) {
    return new RunningSite(folder, flags, await serve(folder, flags));
  }

  private constructor(folder: string, flags: readonly string[], server: ServerProcess) {
    this.folder = folder;
    this.#flags = flags;
    this.#server = server;
    onTestFinished(() => this.#server.kill());
  }

  get server(): ServerProcess {
    return this.#server;
  }

  get port(): string {
    return new URL(this.#server.url).port;
  }

  async restart(flags = this.#flags): Promise<void> {
    await this.#server.stop();
    this.#flags = flags;
    this.#server = await serve(this.folder, flags);
  }

  /** Runs a command on the site's data folder, in the process of the test. */
  runCommand(args: readonly string[], input = ""): Promise<CommandResult> {
    return runBerth([...args, "--data", this.folder], { stdin: input });
  }

  async createToken(...flags: string[]): Promise<string> {
    const { stdout } = await this.runCommand(["admin", "token", "--json", ...flags]);
    return (JSON.parse(stdout) as { token: string }).token;
  }

  get(path: string, headers: Record<string, string> = {}, host = "127.0.0.1"): Promise<Response> {
    return fetch(`http://${host}:${this.port}${path}`, { headers });
  }

  post(
    path: string,
    body: object,
    headers: Record<string, string> = {},
    host = "127.0.0.1",
  ): Promise<Response> {
    return fetch(`http://${host}:${this.port}${path}`, {
      method: "POST",
      body: JSON.stringify(body),
      headers: { "content-type": "application/json", ...headers },
    });
  }

  /** Waits until the server's standard error contains the text. */
  async waitForStderr(text: string): Promise<void> {
    await waitUntil(() => this.#server.stderr().includes(text), text);
  }

  /**
   * The JSON lines of the log, once there are `count` of them; plain warnings do not count. Nor do
   * ordinary requests, which are in the default log only if the machine took a second for them.
   */
  async waitForLogLines(count: number, ordinaryPaths: readonly string[] = []): Promise<LogLine[]> {
    const parseLog = (): LogLine[] =>
      this.#server
        .stderr()
        .split("\n")
        .filter((line) => line.startsWith("{") && line.endsWith("}"))
        .map((line) => JSON.parse(line) as LogLine)
        .filter((line) => !(isSlow(line) && ordinaryPaths.includes(String(line["path"]))));
    await waitUntil(() => parseLog().length >= count, `${count} log lines`);
    return parseLog();
  }
}

type LogLine = Readonly<Record<string, unknown>>;

/** A request that took a second or longer is logged as that, whatever else it was. */
function isSlow({ message, duration_ms: duration }: LogLine): boolean {
  if (message !== "slow request") return false;
  // The logged duration is rounded.
  expect(duration).toBeGreaterThanOrEqual(999);
  return true;
}

/** Expects these lines and no others, on a machine of any speed. */
export function expectLogLines(lines: readonly LogLine[], expected: readonly LogLine[]): void {
  const slowMessage = (at: number): LogLine =>
    isSlow(lines[at] ?? {}) ? { message: "slow request" } : {};
  expect(lines).toMatchObject(expected.map((line, at) => ({ ...line, ...slowMessage(at) })));
  expect(lines).toHaveLength(expected.length);
}

const serve = (folder: string, flags: readonly string[]): Promise<ServerProcess> =>
  startBinary(
    "serve",
    "--data",
    folder,
    ...(flags.includes("--listen") ? [] : ["--listen", "0.0.0.0:0"]),
    ...flags,
  );

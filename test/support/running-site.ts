// A site's server as a process, with doors to be tried: started again, told things by the command
// line, called from this machine and, by its own network address, from another one.
import { onTestFinished } from "bun:test";
import { networkInterfaces } from "node:os";
import { join } from "node:path";
import { runBinary, startBinary, type ServerProcess, type CommandResult } from "./binary.ts";
import { PATIENCE } from "./patience.ts";
import { tempFolder } from "./temp-folder.ts";

export const PASSWORD = "correct horse battery";

/** The machine's own address on a network: whoever calls from there is not loopback. */
export const NETWORK_ADDRESS =
  Object.values(networkInterfaces())
    .flat()
    .find((one) => one?.family === "IPv4" && !one.internal)?.address ?? null;

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

  /** `folder`: one that is there already. */
  static async open(words: readonly string[] = [], folder = join(tempFolder(), "data")) {
    return new RunningSite(folder, words, await serve(folder, words));
  }

  private constructor(folder: string, words: readonly string[], running: ServerProcess) {
    this.folder = folder;
    this.#flags = words;
    this.#server = running;
    onTestFinished(() => this.#server.kill());
  }

  get server(): ServerProcess {
    return this.#server;
  }

  get port(): string {
    return new URL(this.#server.url).port;
  }

  async restart(words = this.#flags): Promise<void> {
    await this.#server.stop();
    this.#flags = words;
    this.#server = await serve(this.folder, words);
  }

  /** The command line beside it. */
  runCommand(words: readonly string[], input = ""): Promise<CommandResult> {
    return runBinary([...words, "--data", this.folder], input);
  }

  async createToken(...words: string[]): Promise<string> {
    const { stdout } = await this.runCommand(["admin", "token", "--json", ...words]);
    return (JSON.parse(stdout) as { createToken: string }).createToken;
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

  /** Waits until it has said something. */
  async waitForStderr(text: string): Promise<void> {
    await waitUntil(() => this.#server.stderr().includes(text), text);
  }

  /** The log, once it has so many lines; warnings to a person are none of it. */
  async waitForLogLines(lines: number): Promise<Record<string, unknown>[]> {
    const parsed = () =>
      this.#server
        .stderr()
        .split("\n")
        .filter((line) => line.startsWith("{") && line.endsWith("}"))
        .map((line) => JSON.parse(line) as Record<string, unknown>);
    await waitUntil(() => parsed().length >= lines, `${lines} lines`);
    return parsed();
  }
}

export async function waitUntil(done: () => boolean, what: string): Promise<void> {
  const deadline = performance.now() + PATIENCE;
  while (!done()) {
    if (performance.now() > deadline) throw new Error(`it never came: ${what}`);
    await Bun.sleep(5);
  }
}

const serve = (folder: string, words: readonly string[]): Promise<ServerProcess> =>
  startBinary(
    "serve",
    "--data",
    folder,
    ...(words.includes("--listen") ? [] : ["--listen", "0.0.0.0:0"]),
    ...words,
  );

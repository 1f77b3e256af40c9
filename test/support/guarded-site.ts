// A site's server as a process, with doors to be tried: started again, told things by the command
// line, called from this machine and, by its own network address, from another one.
import { onTestFinished } from "bun:test";
import { networkInterfaces } from "node:os";
import { join } from "node:path";
import { runBinary, startBinary, type Running, type Said } from "./binary.ts";
import { PATIENCE } from "./patience.ts";
import { tempFolder } from "./temp-folder.ts";

export const PASSWORD = "correct horse battery";

/** The machine's own address on a network: whoever calls from there is not loopback. */
export const REMOTE =
  Object.values(networkInterfaces())
    .flat()
    .find((one) => one?.family === "IPv4" && !one.internal)?.address ?? null;

export const bearer = (token: string): Record<string, string> => ({
  authorization: `Bearer ${token}`,
});

export const basic = (name: string, password: string): Record<string, string> => ({
  authorization: `Basic ${Buffer.from(`${name}:${password}`).toString("base64")}`,
});

export class GuardedSite {
  readonly folder: string;
  #running: Running;
  #words: readonly string[];

  /** `folder`: one that is there already. */
  static async open(words: readonly string[] = [], folder = join(tempFolder(), "data")) {
    return new GuardedSite(folder, words, await serve(folder, words));
  }

  private constructor(folder: string, words: readonly string[], running: Running) {
    this.folder = folder;
    this.#words = words;
    this.#running = running;
    onTestFinished(() => this.#running.kill());
  }

  get running(): Running {
    return this.#running;
  }

  get port(): string {
    return new URL(this.#running.url).port;
  }

  async restart(words = this.#words): Promise<void> {
    await this.#running.stop();
    this.#words = words;
    this.#running = await serve(this.folder, words);
  }

  /** The command line beside it. */
  tell(words: readonly string[], input = ""): Promise<Said> {
    return runBinary([...words, "--data", this.folder], input);
  }

  async token(...words: string[]): Promise<string> {
    const { stdout } = await this.tell(["admin", "token", "--json", ...words]);
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

  /** Waits until it has said something. */
  async said(text: string): Promise<void> {
    await until(() => this.#running.stderr().includes(text), text);
  }

  /** The log, once it has so many lines; warnings to a person are none of it. */
  async log(lines: number): Promise<Record<string, unknown>[]> {
    const parsed = () =>
      this.#running
        .stderr()
        .split("\n")
        .filter((line) => line.startsWith("{") && line.endsWith("}"))
        .map((line) => JSON.parse(line) as Record<string, unknown>);
    await until(() => parsed().length >= lines, `${lines} lines`);
    return parsed();
  }
}

export async function until(done: () => boolean, what: string): Promise<void> {
  const deadline = performance.now() + PATIENCE;
  while (!done()) {
    if (performance.now() > deadline) throw new Error(`it never came: ${what}`);
    await Bun.sleep(5);
  }
}

const serve = (folder: string, words: readonly string[]): Promise<Running> =>
  startBinary(
    "serve",
    "--data",
    folder,
    ...(words.includes("--listen") ? [] : ["--listen", "0.0.0.0:0"]),
    ...words,
  );

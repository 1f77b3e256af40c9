// A machine whose wall clock goes where it is told: the compiled binary under libfaketime, which
// leaves the monotonic clock alone.
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { SECOND } from "../../../src/domain/time.ts";
import { buildBinary } from "../../support/binary.ts";
import { installPackages } from "../../support/suite-harness.ts";

const END = "2099-12-31";

interface CommandResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface ClockReply {
  readonly now: string;
  readonly system_clock: string;
  readonly state: string;
  readonly code: string | null;
}

/** A machine with a clock of its own, a site's folder on it, and the vendor's desk beside it. */
export class FaketimeMachine {
  readonly #folder = mkdtempSync(join(tmpdir(), "berth-clock-"));
  readonly #time = join(this.#folder, "time");
  readonly #library: string;
  #offset = 0;
  #url = "";
  #server: Bun.Subprocess | null = null;

  constructor(library: string) {
    this.#library = library;
    this.setClockOffset(0);
  }

  /** The wall clock from here on: so far from the true one. */
  setClockOffset(offset: number): void {
    this.#offset = offset;
    const seconds = Math.round(offset / SECOND);
    writeFileSync(`${this.#time}.new`, `${seconds < 0 ? "" : "+"}${seconds}\n`);
    renameSync(`${this.#time}.new`, this.#time);
  }

  path(name: string): string {
    return join(this.#folder, name);
  }

  async runBerth(...words: string[]): Promise<CommandResult> {
    const child = this.#spawn(words);
    const [code, out, err] = await Promise.all([
      child.exited,
      new Response(child.stdout).text(),
      new Response(child.stderr).text(),
    ]);
    return { code, stdout: out, stderr: err };
  }

  async runBerthOrThrow(...words: string[]): Promise<string> {
    const { code, stdout, stderr } = await this.runBerth(...words);
    if (code !== 0) throw new Error(`berth ${words.join(" ")}: exit ${code}: ${stderr}${stdout}`);
    return stdout;
  }

  async startServer(): Promise<void> {
    const listen = ["--listen", "127.0.0.1:0", "--data", this.path("site")];
    const child = this.#spawn(["serve", ...listen]);
    this.#server = child;
    const decoder = new TextDecoder();
    let text = "";
    for await (const chunk of child.stdout) {
      text += decoder.decode(chunk, { stream: true });
      if (/^ready$/m.test(text)) break;
    }
    const url = /http:\/\/[\d.]+:\d+/.exec(text)?.[0];
    if (url === undefined) throw new Error(`it is not ready: ${text}`);
    this.#url = url;
  }

  async stopServer(signal: "SIGTERM" | "SIGKILL"): Promise<void> {
    this.#server?.kill(signal);
    await this.#server?.exited;
    this.#server = null;
  }

  async restartServer(signal: "SIGTERM" | "SIGKILL", offset = this.#offset): Promise<void> {
    await this.stopServer(signal);
    this.setClockOffset(offset);
    await this.startServer();
  }

  get url(): string {
    return this.#url;
  }

  /** What came of a call: `ok`, or the code it was refused with. */
  async call(operation: string, fields: object): Promise<string> {
    const response = await fetch(`${this.#url}/api/v4/${operation}`, {
      method: "POST",
      body: JSON.stringify(fields),
      headers: { "content-type": "application/json" },
    });
    if (response.ok) return "ok";
    const { code } = (await response.json()) as { readonly code: string };
    return code;
  }

  async runClockCommand(...words: string[]): Promise<ClockReply> {
    const data = ["--data", this.path("site"), "--json"];
    return JSON.parse(await this.runBerthOrThrow("clock", ...words, ...data)) as ClockReply;
  }

  async readStatus(): Promise<{ readonly now: string }> {
    const text = await this.runBerthOrThrow("status", "--data", this.path("site"), "--json");
    return JSON.parse(text) as { readonly now: string };
  }

  /** The way every license comes in. */
  async addLicense(product: string, ...terms: string[]): Promise<void> {
    const [request, license] = [this.path(`${product}-request`), this.path(`${product}-license`)];
    const [data, desk] = [
      ["--data", this.path("site")],
      ["--dir", this.path("desk")],
    ];
    await this.runBerthOrThrow(
      "license",
      "request",
      "--product",
      product,
      "--out",
      request,
      ...data,
    );
    const out = ["--product", product, "--new", "--allow-weak-binding", "--out", license];
    await this.runBerthOrThrow("vendor", "issue", ...desk, "--request", request, ...out, ...terms);
    await this.runBerthOrThrow("license", "add", license, ...data);
  }

  async setUp(): Promise<void> {
    mkdirSync(this.path("tmp"));
    const products = ["CAD", "MESH", "TRIP"].flatMap((product) => ["--product", product]);
    await this.runBerthOrThrow(
      "vendor",
      "init",
      "--no-passphrase",
      "--name",
      "Acme",
      "--dir",
      this.path("desk"),
      ...products,
    );
    await this.startServer();
    const trust = this.path("desk/trust.jwt");
    await this.runBerthOrThrow("trust", "add", trust, "--yes", "--data", this.path("site"));
    const lent = ["--slots", "9", "--timeout-minutes", "240"];
    await this.addLicense("MESH", ...lent);
    await this.addLicense("CAD", ...lent, "--borrow-hours", "24", "--valid-until", END);
    const counted = ["--consumptions", "100", "--period", "daily"];
    await this.addLicense("TRIP", "--slots", "5", "--borrow-hours", "240", ...counted);
  }

  async tearDown(): Promise<void> {
    await this.stopServer("SIGKILL");
    rmSync(this.#folder, { recursive: true, force: true });
  }

  #spawn(words: readonly string[]) {
    return Bun.spawn([buildBinary(), ...words], {
      stdin: "ignore",
      stdout: "pipe",
      stderr: "pipe",
      cwd: "/",
      env: {
        TMPDIR: this.path("tmp"),
        LD_PRELOAD: this.#library,
        FAKETIME_TIMESTAMP_FILE: this.#time,
        FAKETIME_NO_CACHE: "1",
        NO_FAKE_STAT: "1",
        // One name for each age of the library.
        DONT_FAKE_MONOTONIC: "1",
        FAKETIME_DONT_FAKE_MONOTONIC: "1",
      },
    });
  }
}

/** Where libfaketime is; it is installed when it is missing and may be. Null: neither. */
export const findOrInstallFaketime = (): string | null => findFaketime() ?? installFaketime();

function findFaketime(): string | null {
  const folders = ["/usr/lib64", "/usr/local/lib", ...readdirSync("/usr/lib").map(inLib)];
  const paths = folders.map((folder) => join(folder, "faketime", "libfaketime.so.1"));
  return paths.find((path) => existsSync(path)) ?? null;
}

const inLib = (name: string): string => join("/usr/lib", name);

function installFaketime(): string | null {
  if (process.getuid?.() !== 0 || Bun.which("apt-get") === null) return null;
  installPackages(["libfaketime"]);
  return findFaketime();
}

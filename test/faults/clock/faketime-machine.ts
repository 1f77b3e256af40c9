// A machine whose wall clock a test can set: it runs the compiled binary under libfaketime, which
// does not change the monotonic clock.
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
import { withEnd } from "../../support/vendor-commands.ts";

const VALID_UNTIL = "2099-12-31";

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

/** A machine with its own clock, the data folder of a site, and a vendor's desk. */
export class FaketimeMachine {
  readonly #folder = mkdtempSync(join(tmpdir(), "berth-clock-"));
  readonly #timeFile = join(this.#folder, "time");
  readonly #library: string;
  #offset = 0;
  #url = "";
  #server: Bun.Subprocess | null = null;

  constructor(library: string) {
    this.#library = library;
    this.setClockOffset(0);
  }

  /** Sets the wall clock to the true time plus `offset`. */
  setClockOffset(offset: number): void {
    this.#offset = offset;
    writeTimeFile(this.#timeFile, offset);
  }

  path(name: string): string {
    return join(this.#folder, name);
  }

  async runBerth(...args: string[]): Promise<CommandResult> {
    const child = this.#spawn(args);
    const [code, stdout, stderr] = await Promise.all([
      child.exited,
      new Response(child.stdout).text(),
      new Response(child.stderr).text(),
    ]);
    return { code, stdout, stderr };
  }

  async runBerthOrThrow(...args: string[]): Promise<string> {
    const { code, stdout, stderr } = await this.runBerth(...args);
    if (code !== 0)
      throw new Error(`berth ${args.join(" ")} exited with code ${code}: ${stderr}${stdout}`);
    return stdout;
  }

  async startServer(): Promise<void> {
    const flags = ["--listen", "127.0.0.1:0", "--data", this.path("site")];
    const child = this.#spawn(["serve", ...flags]);
    this.#server = child;
    const decoder = new TextDecoder();
    let text = "";
    for await (const chunk of child.stdout) {
      text += decoder.decode(chunk, { stream: true });
      if (/^ready$/m.test(text)) break;
    }
    const url = /http:\/\/[\d.]+:\d+/.exec(text)?.[0];
    if (url === undefined)
      throw new Error(`berth serve printed no address before it was ready: ${text}`);
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

  /** The outcome of a call: `ok`, or the code of its refusal. */
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

  async runClockCommand(...args: string[]): Promise<ClockReply> {
    const data = ["--data", this.path("site"), "--json"];
    return JSON.parse(await this.runBerthOrThrow("clock", ...args, ...data)) as ClockReply;
  }

  async readStatus(): Promise<{ readonly now: string }> {
    const text = await this.runBerthOrThrow("status", "--data", this.path("site"), "--json");
    return JSON.parse(text) as { readonly now: string };
  }

  /** Requests, issues and installs a license, as at any site. */
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
    await this.runBerthOrThrow(
      "vendor",
      "issue",
      ...desk,
      "--request",
      request,
      ...out,
      ...withEnd(terms),
    );
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
    const floatingTerms = ["--slots", "9", "--timeout-minutes", "240"];
    await this.addLicense("MESH", ...floatingTerms);
    await this.addLicense(
      "CAD",
      ...floatingTerms,
      "--borrow-hours",
      "24",
      "--valid-until",
      VALID_UNTIL,
    );
    const consumptionTerms = ["--consumptions", "100", "--period", "daily"];
    await this.addLicense("TRIP", "--slots", "5", "--borrow-hours", "240", ...consumptionTerms);
  }

  async tearDown(): Promise<void> {
    await this.stopServer("SIGKILL");
    rmSync(this.#folder, { recursive: true, force: true });
    removeSharedMemory();
  }

  #spawn(args: readonly string[]) {
    return Bun.spawn([buildBinary(), ...args], {
      stdin: "ignore",
      stdout: "pipe",
      stderr: "pipe",
      cwd: "/",
      env: {
        TMPDIR: this.path("tmp"),
        ...faketimeEnvironment(this.#library, this.#timeFile),
      },
    });
  }
}

/** The variables of a process whose clock the file sets. */
export const faketimeEnvironment = (library: string, timeFile: string) => ({
  LD_PRELOAD: library,
  FAKETIME_TIMESTAMP_FILE: timeFile,
  FAKETIME_NO_CACHE: "1",
  NO_FAKE_STAT: "1",
  // Old and new versions of the library use different names.
  DONT_FAKE_MONOTONIC: "1",
  FAKETIME_DONT_FAKE_MONOTONIC: "1",
});

/** Sets the clock of the processes that this file controls: the true time plus `offset`. */
export function writeTimeFile(path: string, offset: number): void {
  const seconds = Math.round(offset / SECOND);
  writeFileSync(`${path}.new`, `${seconds < 0 ? "" : "+"}${seconds}\n`);
  renameSync(`${path}.new`, path);
}

/** The path of libfaketime, installed if it is missing; null if it cannot be installed. */
export const findOrInstallFaketime = (): string | null => findFaketime() ?? installFaketime();

/**
 * The variant for several threads: in the other one, a thread that reads the clock while another
 * does may get the true time.
 */
const LIBRARY = join("faketime", "libfaketimeMT.so.1");

function findFaketime(): string | null {
  const folders = ["/usr/lib64", "/usr/local/lib", ...readdirSync("/usr/lib").map(pathInLib)];
  const paths = folders.map((folder) => join(folder, LIBRARY));
  return paths.find((path) => existsSync(path)) ?? null;
}

const pathInLib = (name: string): string => join("/usr/lib", name);

function installFaketime(): string | null {
  if (process.getuid?.() !== 0 || Bun.which("apt-get") === null) return null;
  installPackages(["libfaketime"]);
  return findFaketime();
}

const SHARED_MEMORY = "/dev/shm";

/** Removes what libfaketime leaves in memory for each process that is killed. */
export function removeSharedMemory(): void {
  if (!existsSync(SHARED_MEMORY)) return;
  for (const name of readdirSync(SHARED_MEMORY)) {
    const pid = /^(?:sem\.)?faketime_(?:sem|shm)_(\d+)$/.exec(name)?.[1];
    if (pid === undefined || existsSync(`/proc/${pid}`)) continue;
    rmSync(join(SHARED_MEMORY, name), { force: true });
  }
}

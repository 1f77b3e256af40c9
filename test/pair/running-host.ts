// Two hosts of a pair as servers of the executable, each with an address that clients know.
import { join } from "node:path";
import type { Terms } from "../../src/domain/model/licenses/terms.ts";
import { runBinary, startBinary, type ServerProcess } from "../support/binary.ts";
import { findFreePort } from "../support/free-ports.ts";
import { atEnd, makeTempFolder } from "../support/suite-harness.ts";
import { waitUntil } from "../support/wait-until.ts";
import { formPair } from "./form-pair.ts";
import type { PostgresCluster } from "./postgres-cluster.ts";

/** Both hosts are on one machine, with one hardware. */
const IDENTITY = "machine-of-the-suite";
/** Longer is safer on a busy machine; only a test that kills the leader waits for it. */
const TAKEOVER_SECONDS = 3;

export class RunningHost {
  readonly folder = join(makeTempFolder(), "site");
  readonly name: string;
  readonly #port = findFreePort();
  readonly #databaseUrl: string;
  readonly #takeoverSeconds: number;
  #server: ServerProcess | null = null;

  constructor(name: string, databaseUrl: string, takeoverSeconds: number) {
    this.name = name;
    this.#databaseUrl = databaseUrl;
    this.#takeoverSeconds = takeoverSeconds;
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  get site() {
    if (this.#server === null) throw new Error(`${this.name} is not started`);
    return { ...this.#server, folder: this.folder };
  }

  /** Of every command on this host. */
  get flags(): string[] {
    return ["--data", this.folder, "--identity", IDENTITY];
  }

  get pairFlags(): string[] {
    const names = ["--pair-log", this.#databaseUrl, "--pair-host", this.name];
    const term = ["--pair-takeover-seconds", String(this.#takeoverSeconds)];
    return [...names, "--pair-url", this.url, ...term];
  }

  async start(): Promise<void> {
    const listen = ["--listen", `127.0.0.1:${this.#port}`, "--site-name", "Plant 4"];
    const server = await startBinary("serve", ...this.flags, ...listen, ...this.pairFlags);
    atEnd(() => void server.kill());
    this.#server = server;
  }

  async kill(): Promise<void> {
    await this.#server?.kill();
  }

  async run(...words: string[]): Promise<string> {
    const { code, stdout, stderr } = await runBinary([...words, ...this.flags]);
    if (code !== 0) throw new Error(`${words.join(" ")}: ${stderr}`);
    return stdout;
  }

  /** 200: it leads. */
  async health(): Promise<number> {
    return (await fetch(`${this.url}/api/v4/health`)).status;
  }

  waitUntilLeading(): Promise<void> {
    return waitUntil(async () => (await this.health()) === 200, `${this.name} leads`, {
      maxPause: 100,
    });
  }
}

/** The first one leads. The license has five slots, unless its terms say something else. */
export async function startPair(
  { url }: Pick<PostgresCluster, "url">,
  terms: Partial<Terms> = {},
  takeoverSeconds = TAKEOVER_SECONDS,
): Promise<[RunningHost, RunningHost]> {
  const makeHost = (name: string) => new RunningHost(name, url, takeoverSeconds);
  const [alpha, beta] = [makeHost("alpha"), makeHost("beta")];
  await formPair({
    folders: [alpha.folder, beta.folder],
    names: [alpha.name, beta.name],
    identity: IDENTITY,
    databaseUrl: url,
    terms: { product: "CAD", slots: 5, ...terms },
  });
  await alpha.start();
  await alpha.waitUntilLeading();
  await beta.start();
  return [alpha, beta];
}

export async function handOverTo(host: RunningHost, other: RunningHost): Promise<void> {
  const isHandedOver = async (): Promise<boolean> => {
    if ((await host.health()) === 200) return true;
    const { code, stderr } = await runBinary(["pair", "hand-over", ...other.flags]);
    // On a busy machine the last report of the host may be too old.
    if (code !== 0 && !stderr.includes("has not reported for several seconds"))
      throw new Error(stderr);
    return code === 0;
  };
  await waitUntil(isHandedOver, `${other.name} hands over to ${host.name}`, { maxPause: 1_000 });
  await host.waitUntilLeading();
}

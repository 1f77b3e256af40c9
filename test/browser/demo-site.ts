// A demo of the binary that listens on every address of this machine: the worst case, since until
// it has a credential every caller can administer it.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { atEnd, makeTempFolder } from "../support/suite-harness.ts";
import { startBinary } from "../support/binary.ts";
import { BERTH_COMMANDS } from "../support/prepared-renewal.ts";
import type { Fields } from "./route-requests.ts";

export interface SiteCounters {
  /** The sequence number of the last change. */
  readonly seq: number;
  /** Requests that arrived, this one included. */
  readonly arrived: number;
  /** How many of them were the status calls that read these counters. */
  readonly statusCalls: number;
}

export class DemoSite {
  readonly #port: number;
  readonly airgapBody: Fields;
  /** An open request that nothing answers. */
  readonly requestId: string;
  /** A license that is not installed yet. */
  readonly license: string;
  readonly licenseId: string;
  /** The trust document of another vendor, and its id. */
  readonly otherTrust: string;
  readonly otherVendor: string;
  readonly #socket: string;
  readonly #folder: string;

  private constructor(folder: string, port: number, facts: SiteFacts) {
    this.#folder = folder;
    this.#socket = join(folder, "berth.sock");
    this.#port = port;
    ({
      license: this.license,
      licenseId: this.licenseId,
      otherTrust: this.otherTrust,
      otherVendor: this.otherVendor,
      airgapBody: this.airgapBody,
      requestId: this.requestId,
    } = facts);
  }

  static async start(): Promise<DemoSite> {
    const root = makeTempFolder();
    const folder = join(root, "site");
    const running = await startBinary("demo", "--data", folder, "--listen", "0.0.0.0:0");
    atEnd(() => process.kill(running.pid, "SIGKILL"));
    const site = new DemoSite(folder, Number(new URL(running.url).port), createFacts(root, folder));
    await site.occupy();
    return site;
  }

  /**
   * Registers a user whose slots an attack could release; without renewal they end in 15 minutes.
   */
  async occupy(): Promise<void> {
    await this.call("/api/v4/register", { user: "ada" });
    await this.call("/api/v4/featureRegister", { user: "ada", feature: "RENDER" });
  }

  /** A URL with an address or a host name of this machine. */
  urlAt(address: string, path = ""): string {
    return `http://${address}:${this.#port}${path}`;
  }

  /** Calls through the Unix socket, as an operator on the machine: not subject to the gate. */
  call(path: string, fields?: Fields): Promise<Response> {
    const body = { method: "POST", body: JSON.stringify(fields), headers: JSON_TYPE };
    return fetch(`http://berth${path}`, { unix: this.#socket, ...(fields && body) });
  }

  async readCounters(): Promise<SiteCounters> {
    const answer = await this.call("/api/admin/v1/status");
    const { storage } = (await answer.json()) as { storage: { seq: number } };
    const arrived = Number(answer.headers.get("x-request-id")?.split("-")[1]);
    return { seq: storage.seq, arrived, statusCalls: 1 };
  }

  /** Reads the counters once no more requests arrive. */
  async waitUntilIdle(): Promise<SiteCounters> {
    let before = await this.readCounters();
    for (let statusCalls = 2; ; statusCalls += 1) {
      await Bun.sleep(50);
      const now = await this.readCounters();
      if (now.arrived === before.arrived + 1) return { ...now, statusCalls };
      before = now;
    }
  }

  /** The types of the events that requests caused after a sequence number. */
  changesSince(seq: number): string[] {
    return readdirSync(this.#folder)
      .filter((name) => /^journal-\d+\.jsonl$/.test(name))
      .flatMap((name) => readFileSync(join(this.#folder, name), "utf8").trim().split("\n"))
      .filter((line) => line !== "")
      .map((line) => JSON.parse(line) as { seq?: number; events?: { type: string }[] })
      .filter((entry) => (entry.seq ?? 0) > seq)
      .flatMap(({ events = [] }) => events.map(({ type }) => type))
      .filter((type) => !WRITTEN_WITHOUT_REQUEST.has(type));
  }
}

/** Events that the server writes when their time has come: a slow machine finds them anywhere. */
const WRITTEN_WITHOUT_REQUEST = new Set([
  "EpisodeEnded",
  "EpisodesObserved",
  "FeatureExpired",
  "RefusalsCounted",
  "SlotExpired",
]);

export const JSON_TYPE = { "content-type": "application/json" };

type SiteFacts = Pick<
  DemoSite,
  "license" | "licenseId" | "otherTrust" | "otherVendor" | "airgapBody" | "requestId"
>;

function createFacts(root: string, folder: string): SiteFacts {
  const [request, license, other] = [
    join(root, "request"),
    join(root, "license"),
    join(root, "other"),
  ];
  const { run } = BERTH_COMMANDS;
  run("license", "request", "--data", folder, "--product", "DEMO", "--out", request);
  const desk = ["--dir", join(folder, "demo", "vendor"), "--request", request, "--out", license];
  run("vendor", "issue", ...desk, "--slots", "7", "--allow-weak-binding");
  run("vendor", "init", "--no-passphrase", "--name", "Other", "--dir", other, "--product", "cad");
  const status = JSON.parse(run("status", "--data", folder, "--json")) as {
    licenses: { license_id: number }[];
  };
  const openRequest = JSON.parse(
    run("license", "request", "--data", folder, "--product", "DEMO", "--json"),
  ) as { request_id: string };
  const otherTrust = readFileSync(join(other, "trust.jwt"), "utf8").trim();
  return {
    license: readFileSync(license, "utf8").trim(),
    licenseId: String(status.licenses[0]?.license_id),
    requestId: openRequest.request_id,
    otherTrust,
    otherVendor: claimsIn(otherTrust).vendor,
    airgapBody: JSON.parse(
      readFileSync(join(folder, "demo", "airgap-license.json"), "utf8"),
    ) as Fields,
  };
}

const claimsIn = (document: string): { vendor: string } =>
  JSON.parse(Buffer.from(document.split(".")[1] ?? "", "base64url").toString()) as {
    vendor: string;
  };

// The power goes while a data folder is being made, or soon after: the next start must make it
// anew or find all that was told of it.
import { join } from "node:path";
import type { PowerCut, PowerCutDisk, Ext4Options, LossReport } from "./power-cut-disk.ts";
import type { PowerViolation } from "./expected-state.ts";
import { copyFolder } from "./folder-checks.ts";
import { PowerServer } from "./power-server.ts";

interface Keys {
  readonly apiKey: string;
  readonly sharedKey: string;
}

/** What the server said of itself before the power went. */
interface ObservedSite {
  appliance: string | null;
  keys: Keys | null;
  /** Asked for, and not answered. */
  pendingKeys: Keys | null;
  refusal: string | null;
}

export class FirstStartScenario {
  readonly figures = { starts: 0, ready: 0, keys: 0 };
  readonly #disk: PowerCutDisk;
  readonly #evidence: string;
  readonly #folder: string;

  constructor(disk: PowerCutDisk, evidence: string) {
    this.#disk = disk;
    this.#evidence = evidence;
    this.#folder = join(disk.path, "data");
  }

  /** `pairs` of keys are set one after the other; then everything is told. */
  async runWithCut(
    cut: PowerCut,
    system: Ext4Options,
    pairs: number,
  ): Promise<{ loss: LossReport; faults: PowerViolation[] }> {
    this.figures.starts += 1;
    this.#disk.format(null, system);
    this.#disk.mount(system);
    this.#disk.armCut(cut);
    const told: ObservedSite = { appliance: null, keys: null, pendingKeys: null, refusal: null };
    const server = new PowerServer(this.#folder);
    const telling = this.#listen(server, told, pairs);
    await Promise.race([telling, this.#disk.waitUntilCut()]);
    this.#disk.cutNow();
    const loss = await this.#disk.waitUntilCut();
    await server.kill();
    await telling;
    await this.#disk.unmount();
    return { loss, faults: await this.#comeBack(system, told) };
  }

  /** One call after the other, so that no other's sync makes up for a missing one. */
  async #listen(server: PowerServer, told: ObservedSite, pairs: number): Promise<void> {
    const url = await server.ready;
    if (url === null) return;
    this.figures.ready += 1;
    try {
      told.appliance = await applianceAt(url);
      for (let pair = 0; pair < pairs; pair += 1) {
        told.pendingKeys = { apiKey: `api-${pair}`, sharedKey: `shared-${pair}` };
        await setKeys(url, told.pendingKeys);
        told.keys = told.pendingKeys;
        told.pendingKeys = null;
        this.figures.keys += 1;
      }
    } catch (error) {
      // Nobody answers without power; but who answers has no reason to refuse.
      if (error instanceof CallRefusedError) told.refusal = error.message;
    }
  }

  async #comeBack(system: Ext4Options, told: ObservedSite): Promise<PowerViolation[]> {
    this.#disk.mount(system);
    copyFolder(this.#folder, this.#evidence);
    const server = new PowerServer(this.#folder);
    const url = await server.ready;
    const faults = url === null ? [] : await this.#compare(url, told).catch(notAnswered);
    await server.kill();
    if (url === null) faults.push({ promise: "starts", detail: await server.describeExit() });
    await this.#disk.unmount();
    return faults;
  }

  async #compare(url: string, told: ObservedSite): Promise<PowerViolation[]> {
    const faults: PowerViolation[] = [];
    if (told.refusal !== null) faults.push({ promise: "answers", detail: told });
    const found = await applianceAt(url);
    if (told.appliance !== null && told.appliance !== found) {
      faults.push({ promise: "first", detail: { told, found } });
    }
    if (told.keys === null) return faults;
    // Half of each: of what is there, one half changes, and of anything else both.
    const asked = told.pendingKeys ?? told.keys;
    const updated = await setKeys(url, { ...told.keys, sharedKey: asked.sharedKey });
    const kept = updated.length === 0 || (told.pendingKeys !== null && updated.length === 1);
    if (!kept) faults.push({ promise: "first", detail: { told, updated } });
    return faults;
  }
}

class CallRefusedError extends Error {}

const notAnswered = (error: unknown): PowerViolation[] => [
  { promise: "answers", detail: String(error) },
];

async function applianceAt(url: string): Promise<string> {
  const status = (await answered(await fetch(`${url}/api/admin/v1/status`))) as {
    readonly appliance: { readonly id: string };
    readonly created_at: string;
  };
  return `${status.appliance.id} of ${status.created_at}`;
}

async function setKeys(url: string, keys: Keys): Promise<readonly string[]> {
  const response = await fetch(`${url}/api/v4/setKeys`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(keys),
  });
  return ((await answered(response)) as { readonly updated: readonly string[] }).updated;
}

async function answered(response: Response): Promise<unknown> {
  const text = await response.text();
  if (response.status >= 500) throw new Error(text);
  if (response.status !== 200) throw new CallRefusedError(text);
  return JSON.parse(text);
}

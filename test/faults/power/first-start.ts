// The power is cut while the first start creates a data folder, or soon after. The next start must
// create the folder again or find everything that the server had reported.
import { join } from "node:path";
import type { PowerCut, PowerCutDisk, Ext4Options, LossReport } from "./power-cut-disk.ts";
import type { PowerViolation } from "./power-site.ts";
import { copyFolder } from "./folder-checks.ts";
import { PowerServer } from "./power-server.ts";

interface Keys {
  readonly apiKey: string;
  readonly sharedKey: string;
}

/** What the server reported before the power cut. */
interface ObservedSite {
  appliance: string | null;
  keys: Keys | null;
  /** Keys of a call that was not answered. */
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

  /**
   * Sets this many pairs of keys one after the other, and cuts the power at `cut` or afterwards.
   */
  async runWithCut(
    cut: PowerCut,
    system: Ext4Options,
    keyPairs: number,
  ): Promise<{ loss: LossReport; violations: PowerViolation[] }> {
    this.figures.starts += 1;
    this.#disk.format(null, system);
    this.#disk.mount(system);
    this.#disk.armCut(cut);
    const observed: ObservedSite = {
      appliance: null,
      keys: null,
      pendingKeys: null,
      refusal: null,
    };
    const server = new PowerServer(this.#folder);
    const observing = this.#observe(server, observed, keyPairs);
    await Promise.race([observing, this.#disk.waitUntilCut()]);
    this.#disk.cutNow();
    const loss = await this.#disk.waitUntilCut();
    await server.kill();
    await observing;
    await this.#disk.unmount();
    return { loss, violations: await this.#restartAndCheck(system, observed) };
  }

  /** Makes one call at a time, so that the sync of another call cannot hide a missing one. */
  async #observe(server: PowerServer, observed: ObservedSite, keyPairs: number): Promise<void> {
    const url = await server.ready;
    if (url === null) return;
    this.figures.ready += 1;
    try {
      observed.appliance = await readAppliance(url);
      for (let index = 0; index < keyPairs; index += 1) {
        observed.pendingKeys = { apiKey: `api-${index}`, sharedKey: `shared-${index}` };
        await setKeys(url, observed.pendingKeys);
        observed.keys = observed.pendingKeys;
        observed.pendingKeys = null;
        this.figures.keys += 1;
      }
    } catch (error) {
      // Without power there is no answer. A server that answers has no reason to refuse.
      if (error instanceof CallRefusedError) observed.refusal = error.message;
    }
  }

  async #restartAndCheck(system: Ext4Options, observed: ObservedSite): Promise<PowerViolation[]> {
    this.#disk.mount(system);
    copyFolder(this.#folder, this.#evidence);
    const server = new PowerServer(this.#folder);
    const url = await server.ready;
    const violations =
      url === null ? [] : await this.#compare(url, observed).catch(toAnswersViolation);
    await server.kill();
    if (url === null) violations.push({ promise: "starts", detail: await server.describeExit() });
    await this.#disk.unmount();
    return violations;
  }

  async #compare(url: string, observed: ObservedSite): Promise<PowerViolation[]> {
    const violations: PowerViolation[] = [];
    if (observed.refusal !== null) violations.push({ promise: "answers", detail: observed });
    const found = await readAppliance(url);
    if (observed.appliance !== null && observed.appliance !== found) {
      violations.push({ promise: "first", detail: { observed, found } });
    }
    if (observed.keys === null) return violations;
    // Each pair has two halves. Sets one acknowledged half and one pending half: if the stored pair
    // is one of the two, at most one half changes; otherwise both change.
    const expectedKeys = observed.pendingKeys ?? observed.keys;
    const updated = await setKeys(url, { ...observed.keys, sharedKey: expectedKeys.sharedKey });
    const areKeysIntact =
      updated.length === 0 || (observed.pendingKeys !== null && updated.length === 1);
    if (!areKeysIntact) violations.push({ promise: "first", detail: { observed, updated } });
    return violations;
  }
}

class CallRefusedError extends Error {}

const toAnswersViolation = (error: unknown): PowerViolation[] => [
  { promise: "answers", detail: String(error) },
];

async function readAppliance(url: string): Promise<string> {
  const status = (await readAnswer(await fetch(`${url}/api/admin/v1/status`))) as {
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
  return ((await readAnswer(response)) as { readonly updated: readonly string[] }).updated;
}

async function readAnswer(response: Response): Promise<unknown> {
  const text = await response.text();
  if (response.status >= 500) throw new Error(text);
  if (response.status !== 200) throw new CallRefusedError(text);
  return JSON.parse(text);
}

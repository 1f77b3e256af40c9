import { join } from "node:path";
import type { Grant, License } from "../domain/state.ts";
import {
  freeze,
  hardwareId,
  isWeak,
  match,
  type Component,
  type Frozen,
  type Match,
} from "../license/hardware.ts";
import { idOf, makeKey, parsePrivateKey, rawKey, type PrivateKey } from "../license/keys.ts";
import type { Disk } from "../platform/disk.ts";
import { replaceFile } from "../platform/files.ts";
import { IDENTITY_FILE } from "../store/files.ts";
import { FolderRefused } from "../store/refusal.ts";

/** Which appliance this is, and which machine: its key, and what the hardware says. */
export class Identity {
  readonly #disk: Disk;
  readonly #path: string;
  readonly #components: readonly Component[];
  #key: PrivateKey | null = null;
  readonly #matched = new WeakMap<Grant, Match>();

  constructor(disk: Disk, folder: string, components: readonly Component[]) {
    this.#disk = disk;
    this.#path = join(folder, IDENTITY_FILE);
    this.#components = components;
  }

  /** On a first start, before anything else is written. A key that is there already stays. */
  async make(): Promise<string> {
    this.#key = this.#read() ?? (await makeKey());
    await replaceFile(this.#disk, this.#path, Buffer.from(`${JSON.stringify(this.#key)}\n`));
    return idOf(this.#key);
  }

  /** The key must be the one the folder was made with: licenses and leases hang on it. */
  open(appliance: string): void {
    const key = this.#read();
    if (key === null || idOf(key) !== appliance) {
      throw new FolderRefused(
        `${this.#path} is ${key === null ? "missing or damaged" : "another appliance's key"}`,
        "restore it from a backup; it cannot be replaced in any other way",
      );
    }
    this.#key = key;
  }

  get key(): PrivateKey {
    if (this.#key === null) throw new Error("the identity was not opened");
    return this.#key;
  }

  get id(): string {
    return idOf(this.key);
  }

  /** The hardware as a request freezes it now. */
  freeze(): { readonly hardware: Frozen[]; readonly hardwareId: string; readonly weak: boolean } {
    const hardware = freeze(this.#components, rawKey(this.key));
    return { hardware, hardwareId: hardwareId(hardware), weak: isWeak(hardware) };
  }

  /** How much of what a license was signed for this machine still has; asked on every call. */
  matching({ grant }: Pick<License, "grant">): Match {
    let known = this.#matched.get(grant);
    if (known === undefined) {
      const frozen = grant.hardware as readonly Frozen[];
      const found = match(frozen, this.#components, rawKey(this.key));
      // The list must be the one that was signed, whatever lies in the folder.
      known = { ...found, ok: found.ok && hardwareId(frozen) === grant.hardwareId };
      this.#matched.set(grant, known);
    }
    return known;
  }

  #read(): PrivateKey | null {
    const bytes = this.#disk.read(this.#path);
    if (bytes === null) return null;
    try {
      return parsePrivateKey(JSON.parse(new TextDecoder().decode(bytes)));
    } catch {
      return null;
    }
  }
}

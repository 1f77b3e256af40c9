import { join } from "node:path";
import type { Grant, License } from "../domain/state.ts";
import {
  hashComponents,
  computeHardwareId,
  isWeakBinding,
  matchHardware,
  type HardwareComponent,
  type HashedComponent,
  type HardwareMatch,
} from "../license/hardware.ts";
import {
  keyIdOf,
  generateKey,
  parsePrivateKey,
  publicKeyBytes,
  type PrivateKey,
} from "../license/keys.ts";
import type { Disk } from "../platform/disk.ts";
import { replaceFile } from "../platform/files.ts";
import { IDENTITY_FILE } from "../store/files.ts";
import { FolderRefused } from "../store/refusal.ts";

/** Which appliance this is, and which machine: its key, and what the hardware says. */
export class Identity {
  readonly #disk: Disk;
  readonly #path: string;
  readonly #components: readonly HardwareComponent[];
  #key: PrivateKey | null = null;
  readonly #matched = new WeakMap<Grant, HardwareMatch>();

  constructor(disk: Disk, folder: string, components: readonly HardwareComponent[]) {
    this.#disk = disk;
    this.#path = join(folder, IDENTITY_FILE);
    this.#components = components;
  }

  /** On a first start, before anything else is written. A key that is there already stays. */
  async create(): Promise<string> {
    this.#key = this.#read() ?? (await generateKey());
    await replaceFile(this.#disk, this.#path, Buffer.from(`${JSON.stringify(this.#key)}\n`));
    return keyIdOf(this.#key);
  }

  /** The key must be the one the folder was made with: licenses and leases hang on it. */
  open(appliance: string): void {
    const key = this.#read();
    if (key === null || keyIdOf(key) !== appliance) {
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
    return keyIdOf(this.key);
  }

  /** The hardware as a request freezes it now. */
  hashHardware(): {
    readonly hardware: HashedComponent[];
    readonly hardwareId: string;
    readonly weak: boolean;
  } {
    const hardware = hashComponents(this.#components, publicKeyBytes(this.key));
    return { hardware, hardwareId: computeHardwareId(hardware), weak: isWeakBinding(hardware) };
  }

  /** How much of what a license was signed for this machine still has; asked on every call. */
  matchHardware({ grant }: Pick<License, "grant">): HardwareMatch {
    let known = this.#matched.get(grant);
    if (known === undefined) {
      const frozen = grant.hardware as readonly HashedComponent[];
      const found = matchHardware(frozen, this.#components, publicKeyBytes(this.key));
      // The list must be the one that was signed, whatever lies in the folder.
      known = {
        ...found,
        isMatch: found.isMatch && computeHardwareId(frozen) === grant.hardwareId,
      };
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

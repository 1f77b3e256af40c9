import { join } from "node:path";
import type { HardwareDigest } from "../../domain/model/hardware-digest.ts";
import type { Grant, License } from "../../domain/model/state.ts";
import {
  hashComponents,
  computeHardwareId,
  isWeakBinding,
  matchHardware,
  type HardwareComponent,
  type HashedComponent,
  type HardwareMatch,
} from "../../license/documents/hardware.ts";
import {
  keyIdOf,
  generateKey,
  parsePrivateKey,
  publicKeyBytes,
  type PrivateKey,
} from "../../license/documents/keys.ts";
import type { Disk } from "../../platform/files/disk.ts";
import { replaceFile } from "../../platform/files/files.ts";
import { IDENTITY_FILE } from "../../store/folder/files.ts";
import { FolderRefused } from "../../store/folder/refusal.ts";

interface HashedHardware {
  readonly hardware: HashedComponent[];
  readonly hardwareId: string;
}

/** The identity of the appliance (its key) and of the machine (its hardware components). */
export class Identity {
  readonly #disk: Disk;
  readonly #path: string;
  readonly #components: readonly HardwareComponent[];
  #key: PrivateKey | null = null;
  readonly #matchCache = new WeakMap<Grant, HardwareMatch>();

  constructor(disk: Disk, folder: string, components: readonly HardwareComponent[]) {
    this.#disk = disk;
    this.#path = join(folder, IDENTITY_FILE);
    this.#components = components;
  }

  /** For a first start, before anything else is written. An existing key is kept. */
  async create(): Promise<string> {
    this.#key = this.#read() ?? (await generateKey());
    await replaceFile(this.#disk, this.#path, Buffer.from(`${JSON.stringify(this.#key)}\n`));
    return keyIdOf(this.#key);
  }

  /** Checks that the key is the one the data folder was created with: licenses depend on it. */
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
    if (this.#key === null) throw new Error("the identity is not open");
    return this.#key;
  }

  get id(): string {
    return keyIdOf(this.key);
  }

  /** Digests of the current hardware, as a license request contains them. */
  hashHardware(): HashedHardware & { readonly weak: boolean } {
    const hashed = this.hashHardwareOf(this.#components);
    return { ...hashed, weak: isWeakBinding(hashed.hardware) };
  }

  /** Digests of another machine's hardware, for the same appliance. */
  hashHardwareOf(components: readonly HardwareComponent[]): HashedHardware {
    const hardware = hashComponents(components, publicKeyBytes(this.key));
    return { hardware, hardwareId: computeHardwareId(hardware) };
  }

  /**
   * Compares the hardware in a license with this machine: of two hosts, with the one that matches
   * best. Cached, because every request needs it.
   */
  matchHardware({ grant }: Pick<License, "grant">): HardwareMatch {
    let match = this.#matchCache.get(grant);
    if (match === undefined) {
      const [best, ...others] = (grant.hosts ?? [grant]).map((host) => this.#matchHost(host));
      match = best ?? NO_MATCH;
      for (const other of others) if (isBetterMatch(other, match)) match = other;
      this.#matchCache.set(grant, match);
    }
    return match;
  }

  /** Whether most of these components, as `hashHardware` had them, are those of this machine. */
  isThisMachine(hardware: readonly HardwareDigest[]): boolean {
    const components = hardware as readonly HashedComponent[];
    return matchHardware(components, this.#components, publicKeyBytes(this.key)).isMatch;
  }

  #matchHost({ hardware, hardwareId }: Pick<Grant, "hardware" | "hardwareId">): HardwareMatch {
    const signedHardware = hardware as readonly HashedComponent[];
    const result = matchHardware(signedHardware, this.#components, publicKeyBytes(this.key));
    // The stored list must be the signed one, even if the data folder was edited.
    const isSigned = computeHardwareId(signedHardware) === hardwareId;
    return { ...result, isMatch: result.isMatch && isSigned };
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

const NO_MATCH: HardwareMatch = {
  matchingCount: 0,
  requiredCount: 0,
  missingKinds: [],
  isMatch: false,
};

const isBetterMatch = (a: HardwareMatch, b: HardwareMatch): boolean =>
  a.isMatch === b.isMatch ? a.matchingCount > b.matchingCount : a.isMatch;

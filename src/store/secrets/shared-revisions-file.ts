import { join } from "node:path";
import { Type } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import type { Disk } from "../../platform/files/disk.ts";
import { replaceFile } from "../../platform/files/files.ts";

const REVISIONS_FILE = "shared-files.json";

const Content = Type.Object({
  log: Type.String(),
  revisions: Type.Record(Type.String(), Type.Integer({ minimum: 0 })),
});

/**
 * Which revision of each shared file this host used last, so that it uses no older one, also after
 * a restart. Revisions count within one log.
 */
export class SharedRevisionsFile {
  readonly #disk: Disk;
  readonly #path: string;
  readonly #log: string;

  constructor(disk: Disk, folder: string, log: string) {
    this.#disk = disk;
    this.#path = join(folder, REVISIONS_FILE);
    this.#log = log;
  }

  /** Empty if it cannot be read: without it, only the check of a restarted host is missing. */
  read(): Map<string, number> {
    try {
      const content: unknown = JSON.parse(
        new TextDecoder().decode(this.#disk.read(this.#path) ?? Buffer.from("null")),
      );
      const isOfLog = Value.Check(Content, content) && content.log === this.#log;
      return new Map(isOfLog ? Object.entries(content.revisions) : []);
    } catch {
      return new Map();
    }
  }

  async write(revisions: ReadonlyMap<string, number>): Promise<void> {
    const content = { log: this.#log, revisions: Object.fromEntries(revisions) };
    await replaceFile(this.#disk, this.#path, Buffer.from(`${JSON.stringify(content)}\n`));
  }
}

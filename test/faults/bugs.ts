// The classic mistakes of a store, as edits to ours. A rig that cannot see the ones it is for
// proves nothing, so each is planted into a copy of the sources and hunted there.

export type RigName =
  "kill" | "syscalls" | "power" | "simulation" | "damage" | "full" | "starts" | "backups";

export interface Bug {
  readonly name: string;
  readonly file: string;
  /** Must stand there exactly once: an edit that no longer applies fails. */
  readonly find: string;
  readonly replace: string;
  readonly caughtBy: readonly RigName[];
}

export const bugs: readonly Bug[] = [
  {
    name: "the journal is never synced",
    file: "src/store/group-commit.ts",
    find: "await this.#file.syncData();",
    replace: "await null;",
    caughtBy: ["power", "simulation", "syscalls"],
  },
  {
    name: "answered before the sync",
    file: "src/store/store.ts",
    find: "    return this.#settled(answer);\n  }\n\n  async read",
    replace: "    return answer;\n  }\n\n  async read",
    caughtBy: ["kill", "power", "simulation", "syscalls"],
  },
  {
    name: "a read is answered before what it saw is durable",
    file: "src/store/store.ts",
    find: "return this.#settled(ok(view(this.#state, this.#now())));",
    replace: "return ok(view(this.#state, this.#now()));",
    caughtBy: ["kill", "simulation", "syscalls"],
  },
  {
    name: "a new segment's name is not synced",
    file: "src/store/store.ts",
    find: "          await disk.syncFolder(folder);",
    replace: "          await null;",
    caughtBy: ["power", "simulation"],
  },
  {
    name: "a new state is renamed into place unsynced",
    file: "src/store/durable-file.ts",
    find: "      await file.sync();",
    replace: "      await null;",
    caughtBy: ["power", "simulation"],
  },
  {
    name: "old files are dropped before the new state's name is safe",
    file: "src/store/durable-file.ts",
    find: "    await this.#disk.syncFolder(dirname(this.#path));",
    replace: "    await null;",
    caughtBy: ["simulation"],
  },
  {
    name: "the record is not synced before the state that says how far it goes",
    file: "src/store/history.ts",
    find: "      await file.sync();",
    replace: "      await null;",
    caughtBy: ["power", "simulation"],
  },
  {
    name: "a failed sync is tried again",
    file: "src/store/group-commit.ts",
    find: "await this.#file.syncData();",
    replace: "await this.#file.syncData().catch(() => this.#file.syncData());",
    caughtBy: ["simulation", "syscalls"],
  },
  {
    name: "a short write is taken for a whole one",
    file: "src/platform/files.ts",
    find: "  while (written < bytes.length) written += file.write(bytes.subarray(written));",
    replace: "  written += file.write(bytes);",
    caughtBy: ["simulation", "syscalls", "full"],
  },
  {
    name: "damage in the middle is cut off like a torn tail",
    file: "src/store/load.ts",
    find: "if (segment !== segments.at(-1) || scanned.damage.inside) {",
    replace: "if (segment !== segments.at(-1)) {",
    caughtBy: ["damage", "simulation"],
  },
  {
    name: "a line's checksum is not looked at",
    file: "src/store/journal.ts",
    find: "if (sum === undefined || sha256(bytes.subarray(0, end)) !== sum) return null;",
    replace: "if (sum === undefined) return null;",
    caughtBy: ["damage"],
  },
  {
    name: "the state's checksum is not looked at",
    file: "src/store/durable-file.ts",
    find: "if (sum !== hash) {",
    replace: "if (sum === undefined && hash === sum) {",
    caughtBy: ["damage"],
  },
  {
    name: "after a full disk memory stays ahead of the disk",
    file: "src/store/store.ts",
    find: "    this.#state = this.#bound(loaded.state);\n    this.#head = loaded.head;",
    replace: "    this.#head = loaded.head;",
    caughtBy: ["simulation", "full"],
  },
  {
    name: "a full disk leaves half a batch behind",
    file: "src/store/store.ts",
    find: "    file.truncate(durable);\n",
    replace: "",
    caughtBy: ["simulation", "full"],
  },
  {
    name: "two servers work on one folder",
    file: "src/store/lock.ts",
    find: "  const lock = disk.lock(path);\n  if (lock === null) {\n    throw",
    replace:
      "  const lock = disk.lock(path) ?? disk.lock(`${path}-${process.pid}`);\n  if (lock === null) {\n    throw",
    caughtBy: ["starts"],
  },
];

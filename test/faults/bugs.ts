// The classic mistakes of a store, as edits to ours. A rig that cannot see the ones it is for
// proves nothing, so each is planted into a copy of the sources and hunted there.

export type RigName =
  | "kill"
  | "syscalls"
  | "power"
  | "simulation"
  | "damage"
  | "full"
  | "starts"
  | "backups"
  | "day"
  | "memory";

export interface Bug {
  readonly name: string;
  readonly file: string;
  /** Must stand there exactly once: an edit that no longer applies fails. */
  readonly find: string;
  readonly replace: string;
  readonly caughtBy: readonly RigName[];
  /** Of all the scenes of `syscalls`, the one to look at; a soak looks at all of them. */
  readonly scene?: string;
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
    caughtBy: ["kill", "power", "simulation", "syscalls"],
  },
  {
    name: "the keys of calls that may be repeated are not in the checkpoint",
    file: "src/store/snapshot.ts",
    find: "remembered: [...state.remembered].map(([key, done]) => ({ key, ...done })),",
    replace: "remembered: [],",
    caughtBy: ["kill"],
  },
  {
    name: "a segment begun under load is named after the wrong line",
    file: "src/store/store.ts",
    find: "open = this.#commit.gatheringFrom ?? this.#head.seq + 1;",
    replace: "open = this.#head.seq + 1;",
    caughtBy: ["kill"],
  },
  {
    name: "what an unfinished checkpoint left in the record stays there",
    file: "src/store/history.ts",
    find: "    if (size > length) file.truncate(length);\n",
    replace: "",
    caughtBy: ["kill"],
  },
  {
    name: "a new segment's name is not synced",
    file: "src/store/store.ts",
    find: "          await disk.syncFolder(folder);",
    replace: "          await null;",
    caughtBy: ["simulation", "syscalls"],
  },
  {
    name: "a new state is renamed into place unsynced",
    file: "src/store/durable-file.ts",
    find: "      await file.sync();",
    replace: "      await null;",
    caughtBy: ["power", "simulation", "syscalls"],
  },
  {
    name: "old files are dropped before the new state's name is safe",
    file: "src/store/durable-file.ts",
    find: "    await this.#disk.syncFolder(dirname(this.#path));",
    replace: "    await null;",
    // The order of calls shows it at once; a simulated disk seldom loses just that.
    caughtBy: ["syscalls", "simulation"],
    scene: "a checkpoint",
  },
  {
    name: "the record is not synced before the state that says how far it goes",
    file: "src/store/history.ts",
    find: "      await file.sync();",
    replace: "      await null;",
    caughtBy: ["power", "simulation", "syscalls"],
  },
  {
    name: "a first journal is not synced before the state that needs it",
    file: "src/store/folder.ts",
    find: "    await journal.sync();",
    replace: "    await null;",
    caughtBy: ["syscalls", "power"],
    scene: "the first start",
  },
  {
    name: "a small file is renamed into place unsynced",
    file: "src/platform/files.ts",
    find: "    await file.sync();\n  } finally {\n    file.close();\n  }\n  return {",
    replace: "    await null;\n  } finally {\n    file.close();\n  }\n  return {",
    caughtBy: ["syscalls", "power"],
    scene: "setKeys again",
  },
  {
    name: "a small file's new name is not synced",
    file: "src/platform/files.ts",
    find: "      disk.rename(fresh, path);\n      await disk.syncFolder(dirname(path));",
    replace: "      disk.rename(fresh, path);\n      await null;",
    caughtBy: ["syscalls", "power"],
    scene: "setKeys again",
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
    file: "src/store/replay.ts",
    find: "if (segment !== found.at(-1) || scanned.damage.inside) {",
    replace: "if (segment !== found.at(-1)) {",
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
    name: "a line need not continue the one before it",
    file: "src/store/journal.ts",
    find: "if (line.seq !== head.seq + 1 || line.prev !== head.sum || line.from > line.seq) return null;",
    replace: "if (line.from > line.seq) return null;",
    caughtBy: ["damage"],
  },
  {
    name: "behind a lost line feed nobody looks for lines that were safe",
    file: "src/store/journal.ts",
    find: "let from = buffer.indexOf(BEGIN, offset + 1);",
    replace: "let from = buffer.indexOf(BEGIN, bytes.indexOf(LF, offset));",
    caughtBy: ["damage"],
  },
  {
    name: "the end of a closed segment is cut off like a torn tail",
    file: "src/store/replay.ts",
    find: "if (segment !== found.at(-1) || scanned.damage.inside) {",
    replace: "if (scanned.damage.inside) {",
    caughtBy: ["damage"],
  },
  {
    name: "a torn tail is cut without a copy",
    file: "src/store/load.ts",
    find: "    writeAll(copy, torn);\n",
    replace: "",
    caughtBy: ["damage"],
  },
  {
    name: "a record that is too short is written on",
    file: "src/store/history.ts",
    find: "if (size < length) throw",
    replace: "if (size < 0) throw",
    caughtBy: ["damage"],
  },
  {
    name: "any appliance's key will do",
    file: "src/operations/identity.ts",
    find: "if (key === null || idOf(key) !== appliance) {",
    replace: "if (key === null) {",
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
    name: "nobody looks for room again",
    file: "src/store/store.ts",
    find: 'if (this.#fault?.code === "storage_full") return this.#probe();',
    replace: 'if (this.#fault?.code === "storage_full") return;',
    caughtBy: ["full"],
  },
  {
    name: "a look for room takes up room",
    file: "src/store/room.ts",
    find: "      disk.remove(path);\n",
    replace: "",
    caughtBy: ["full"],
  },
  {
    name: "a full disk is taken for a failed one",
    file: "src/store/group-commit.ts",
    find: 'NO_ROOM.has(errorCode(error) ?? "") ? "storage_full" : "storage_failed",',
    replace: '"storage_failed",',
    caughtBy: ["full"],
  },
  {
    name: "what an unfinished fold left of the record is written on",
    file: "src/store/history.ts",
    find: "    if (size > length) file.truncate(length);\n",
    replace: "",
    caughtBy: ["full", "damage"],
  },
  {
    name: "two servers work on one folder",
    file: "src/store/lock.ts",
    find: "    const lock = disk.lock(path);",
    replace: "    const lock = disk.lock(path) ?? disk.lock(`${path}-${process.pid}`);",
    caughtBy: ["starts"],
  },
  {
    name: "old segments of the journal are never dropped",
    file: "src/store/checkpoint.ts",
    find: "    if (number <= before.covers.seq) disk.remove(path);",
    replace: "",
    caughtBy: ["day"],
  },
  {
    name: "old generations of the state are never dropped",
    file: "src/store/checkpoint.ts",
    find: "    if (number < before.covers.seq) disk.remove(path);",
    replace: "",
    caughtBy: ["day"],
  },
  {
    name: "the journal is folded by its age alone",
    file: "src/store/rotation.ts",
    find: "return size >= Math.min(Math.max(SMALLEST, state / 2), LARGEST) || age >= OLDEST;",
    replace: "return age >= OLDEST && state >= 0;",
    caughtBy: ["day"],
  },
  {
    name: "renewals go into the record",
    file: "src/domain/event.ts",
    find: 'if (event.type === "SlotRenewed") return event.contact !== undefined;',
    replace: "",
    caughtBy: ["day"],
  },
  {
    name: "refusals are written one by one",
    file: "src/operations/operations.ts",
    find: "    this.#refusals.note(this.#store.peek(installedProduct(product)), code, user);\n",
    replace:
      "    this.#refusals.note(this.#store.peek(installedProduct(product)), code, user);\n    void this.#countRefusals();\n",
    caughtBy: ["day"],
  },
  {
    name: "refusals are counted under products that callers guess",
    file: "src/operations/answers.ts",
    find: "return products.has(product) ? product : null;",
    replace: "return product;",
    caughtBy: ["day"],
  },
  {
    name: "every request is kept for ever",
    file: "src/http/server.ts",
    find: "const arrivals = new WeakMap<Request, Arrival>();",
    replace: "const arrivals = new Map<Request, Arrival>();",
    caughtBy: ["memory"],
  },
  {
    name: "the folder is checked once more, and not the copy",
    file: "src/store/backup.ts",
    find: "const { verified } = await openBackup(disk, fresh, options);",
    replace: "const verified = await verify(disk, folder, options);",
    caughtBy: ["backups"],
  },
  {
    name: "the journal is copied to wherever it ends by then",
    file: "src/store/backup.ts",
    find: "...segments.map(({ number, size }) => ({ name: segmentName(number), size })),",
    replace: "...segments.map(({ number }) => whole(segmentName(number))),",
    caughtBy: ["backups"],
  },
  {
    name: "the record is copied to its end, not as far as the state knows it",
    file: "src/store/backup.ts",
    find: "name === file ? { name: join(HISTORY, name), size: length } : whole(join(HISTORY, name)),",
    replace: "whole(join(HISTORY, name === file && length < 0 ? STATE : name)),",
    caughtBy: ["backups"],
  },
  {
    name: "a record that ends early passes for whole",
    file: "src/store/record.ts",
    find: "if (seq !== audit.seq || sum !== audit.sum) throw missing(folder, seq + 1, audit.seq);",
    replace: "if (seq > audit.seq && sum !== audit.sum) throw missing(folder, seq + 1, audit.seq);",
    caughtBy: ["backups"],
  },
  {
    name: "a backup that met a checkpoint is given up",
    file: "src/store/backup.ts",
    find: "const ATTEMPTS = 5;",
    replace: "const ATTEMPTS: number = 1;",
    caughtBy: ["backups"],
  },
  {
    name: "a backup holds only what the last checkpoint knew",
    file: "src/store/replay.ts",
    find: "const found = segmentsIn(disk, folder).filter(({ number }) => number > head.seq);",
    replace:
      "const found = segmentsIn(disk, folder)\n    .filter(({ number }) => number > head.seq)\n    .slice(0, 1);",
    caughtBy: ["backups"],
  },
  {
    name: "the cloud keys are in the backup",
    file: "src/store/backup.ts",
    find: "    whole(IDENTITY),\n",
    replace: '    whole(IDENTITY),\n    whole("credentials.sealed"),\n    whole("sealing.key"),\n',
    caughtBy: ["backups"],
  },
  {
    name: "a restore is not on record",
    file: "src/store/swap.ts",
    find: "    writeAll(journal, Buffer.from(text));\n",
    replace: "    writeAll(journal, Buffer.from(text).subarray(0, 0));\n",
    caughtBy: ["backups"],
  },
  {
    name: "a restore brings the state back without the journal since",
    file: "src/store/restore.ts",
    find: "names: manifest.files.map(({ name }) => name).filter((name) => name !== MANIFEST),",
    replace:
      'names: manifest.files\n        .map(({ name }) => name)\n        .filter((name) => name !== MANIFEST && !name.startsWith("journal-")),',
    caughtBy: ["backups"],
  },
  {
    name: "a look that met a checkpoint takes it for damage",
    file: "src/cli/commands/care.ts",
    find: "const PATIENCE = 5;",
    replace: "const PATIENCE: number = 1;",
    caughtBy: ["backups"],
  },
  {
    name: "a start goes on from what may be in memory only",
    file: "src/store/folder.ts",
    find: "    await makeDurable(disk, folder, loaded);\n",
    replace: "",
    caughtBy: ["simulation"],
  },
  {
    name: "the halves of a key need not belong together",
    file: "src/license/keys.ts",
    find: "return publicOf(d) === key.x ? { ...key, d } : null;",
    replace: "return publicOf(d) === null ? null : { ...key, d };",
    caughtBy: ["damage"],
  },
  {
    name: "a generation is offered without a look at the journal since",
    file: "src/store/replay.ts",
    find: "    follow(disk, folder, decodeSnapshot(kept), headOf(kept), () => {});\n",
    replace: "",
    caughtBy: ["damage"],
  },
  {
    name: "a damaged journal without a state is taken for a first start",
    file: "src/store/folder.ts",
    find: "  if (feed >= 0 && feed + 1 < bytes.length) return false;\n",
    replace: "",
    caughtBy: ["damage"],
  },
  {
    name: "a month whose first line is damaged is taken for a leftover",
    file: "src/store/history.ts",
    find: "    offset = feed + 1;\n",
    replace: "    return null;\n",
    caughtBy: ["damage"],
  },
  {
    name: "a stop that could not fold says nothing",
    file: "src/cli/serving.ts",
    find: "  refuseUnfolded(folder, operations.health());\n",
    replace: "",
    caughtBy: ["full"],
  },
  {
    name: "a checkpoint that outlived its server goes on beside the next",
    file: "src/store/folder.ts",
    find: "    await endOrphanCheckpoint(disk, folder);\n",
    replace: "",
    caughtBy: ["kill"],
  },
  {
    name: "a failed checkpoint goes unnoticed",
    file: "src/store/store.ts",
    find: "this.#checkpointError = error instanceof Error ? error.message : String(error);",
    replace: "void error;",
    caughtBy: ["syscalls"],
    scene: "a checkpoint",
  },
  {
    name: "a failed sync of a new segment's name is taken lightly",
    file: "src/store/store.ts",
    find: 'throw new StorageError({ code: "storage_failed" }, error);',
    replace: "throw error;",
    caughtBy: ["syscalls"],
    scene: "a rotation",
  },
  {
    name: "what an interrupted checkpoint left behind stops the next one",
    file: "src/store/durable-file.ts",
    find: 'if (errorCode(error) !== "EEXIST") throw error;',
    replace: "throw error;",
    caughtBy: ["syscalls"],
    scene: "a checkpoint",
  },
  {
    name: "an interrupted first start is refused",
    file: "src/store/folder.ts",
    find: "const begun = leftover !== null && holdsOnlyCreated(disk, leftover.path);",
    replace: "const begun = leftover !== null && disk.stat(leftover.path)?.size === 0;",
    caughtBy: ["syscalls"],
    scene: "the first start",
  },
  {
    name: "new credentials are answered for before they are written",
    file: "src/operations/credentials.ts",
    find: "    await this.#sealed.change({",
    replace: "    void this.#sealed.change({",
    caughtBy: ["syscalls"],
    scene: "setKeys",
  },
  {
    name: "a checkpoint that wakes up late goes on beside the next server",
    file: "src/store/checkpoint.ts",
    find: '    if (!isWanted()) throw new Error("the server that wanted it is gone");\n',
    replace: "",
    caughtBy: ["kill"],
  },
];

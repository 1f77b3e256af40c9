// A real ext4 on a disk whose power can be cut: power-cut-disk.c behind a loop device. What was not
// flushed is lost by lot, the file system is mounted again, and its journal does what it can.
import { statfsSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { PATIENCE } from "../../support/patience.ts";
import { atEnd } from "../../support/suite-harness.ts";

/** When the power goes: at a write, before a flush does anything, when it is done, or now. */
export type CutTrigger = "w" | "f" | "d" | "n";

/** What of the unflushed stays: all, nothing, a first part in order, blocks or sectors by lot. */
export type LossMode = "a" | "z" | "o" | "b" | "s";

export interface PowerCut {
  readonly trigger: CutTrigger;
  readonly count: number;
  readonly lossMode: LossMode;
  readonly seed: number;
}

/** What kind of ext4 lies on the disk. */
export interface Ext4Options {
  /** Seconds after which it writes down by itself what nobody synced. */
  readonly commitSeconds: number;
  /** Are there sums over its metadata? */
  readonly hasMetadataChecksums: boolean;
  /** A file's length may be written down before what is in it. */
  readonly isWriteback: boolean;
}

/** What the disk says of a cut. */
export interface LossReport {
  readonly trigger: string;
  readonly writes: number;
  readonly flushes: number;
  readonly lostSectors: number;
  readonly unflushedSectors: number;
}

const MIB = 1024 * 1024;
const SIZE = 64 * MIB;
const FUSE_MAGIC = 0x65735546;
const QUIET = 3_000;
const STEP = 2;

/** The program that is the disk. */
export function compileDiskProgram(folder: string): string {
  const program = join(folder, "power-cut-disk");
  const source = join(import.meta.dir, "power-cut-disk.c");
  run("gcc", "-O2", "-Wall", "-I/usr/include/fuse3", "-o", program, source, "-lfuse3");
  return program;
}

export class PowerCutDisk {
  /** Where the file system is mounted. */
  readonly path: string;
  readonly #image: string;
  readonly #fuse: string;
  #mounted = false;
  #cut = Promise.withResolvers<LossReport>();

  private constructor(folder: string) {
    this.#image = join(folder, "image");
    this.#fuse = join(folder, "fuse");
    this.path = join(folder, "disk");
  }

  /** Throws what the machine says when it does not allow this. */
  static async attach(folder: string, program: string): Promise<PowerCutDisk> {
    const disk = new PowerCutDisk(folder);
    writeFileSync(disk.#image, "");
    truncateSync(disk.#image, SIZE);
    run("mkdir", disk.#fuse, disk.path);
    const child = Bun.spawn([program, disk.#image, disk.#fuse], {
      stdin: "ignore",
      stdout: "pipe",
      stderr: "pipe",
    });
    atEnd(() => child.kill("SIGKILL"));
    await waitUntil("the disk is there", () => child.exitCode !== null || isFuse(disk.#fuse));
    if (child.exitCode !== null) throw new Error((await new Response(child.stderr).text()).trim());
    atEnd(() => run("umount", "--lazy", disk.#fuse));
    void disk.#listen(child.stdout);
    atEnd(() => {
      if (disk.#mounted) run("umount", "--lazy", disk.path);
    });
    return disk;
  }

  /** An ext4 of its own, with what is in a folder, or empty. */
  format(from: string | null, { hasMetadataChecksums }: Ext4Options): void {
    // Nothing of the one before may shine through.
    truncateSync(this.#image, 0);
    truncateSync(this.#image, SIZE);
    const quick = ["-E", "lazy_itable_init=0,lazy_journal_init=0,nodiscard"];
    // A sum over a superblock whose sectors came from two writes is wrong: half-written blocks are
    // for a file system without sums.
    const features = hasMetadataChecksums ? [] : ["-O", "^metadata_csum"];
    const content = from === null ? [] : ["-d", from];
    run("/sbin/mkfs.ext4", "-qF", "-b", "4096", ...quick, ...features, ...content, this.#image);
  }

  /** The power comes back. */
  mount({ commitSeconds, isWriteback }: Ext4Options): void {
    this.#sendCommand("load");
    this.#cut = Promise.withResolvers();
    // Without ext4's rescue of files that are renamed unsynced: not every file system has it.
    const loose = isWriteback ? ",data=writeback,nodelalloc" : "";
    const options = `loop,noauto_da_alloc,commit=${commitSeconds}${loose}`;
    run("mount", "-t", "ext4", "-o", options, join(this.#fuse, "disk"), this.path);
    this.#mounted = true;
  }

  /** Waits for those who still have a file open there. */
  async unmount(): Promise<void> {
    let complaint = "";
    await waitUntil("nobody works on the disk any more", () => {
      const { exitCode, stderr } = Bun.spawnSync(["umount", this.path]);
      complaint = stderr.toString();
      return exitCode === 0;
    }).catch((error: unknown) => {
      throw new Error(`${String(error)}: ${complaint}`);
    });
    this.#mounted = false;
  }

  armCut({ trigger, count, lossMode, seed }: PowerCut): void {
    this.#sendCommand(`cut ${trigger} ${count} ${lossMode} ${seed}`);
  }

  /** Resolves when the power is gone; where nothing is written any more, it goes by itself. */
  async waitUntilCut(): Promise<LossReport> {
    const timer = setTimeout(() => this.cutNow(), QUIET);
    const loss = await this.#cut.promise;
    clearTimeout(timer);
    return loss;
  }

  /** Unless it is gone already. */
  cutNow(): void {
    this.armCut({ trigger: "n", count: 0, lossMode: "z", seed: 0 });
  }

  #sendCommand(command: string): void {
    writeFileSync(join(this.#fuse, "control"), command);
  }

  async #listen(stdout: ReadableStream<Uint8Array>): Promise<void> {
    const decoder = new TextDecoder();
    let text = "";
    for await (const part of stdout) {
      text += decoder.decode(part, { stream: true });
      const lines = text.split("\n");
      text = lines.pop() ?? "";
      for (const line of lines) {
        const [writes = 0, flushes = 0, lost = 0, unflushed = 0] =
          line.match(/\d+/g)?.map(Number) ?? [];
        this.#cut.resolve({
          trigger: line.slice(0, 1),
          writes,
          flushes,
          lostSectors: lost,
          unflushedSectors: unflushed,
        });
      }
    }
  }
}

const isFuse = (path: string): boolean => statfsSync(path).type === FUSE_MAGIC;

function run(...words: [string, ...string[]]): void {
  const { exitCode, stderr } = Bun.spawnSync(words);
  if (exitCode !== 0) throw new Error(`${words.join(" ")}: ${stderr.toString().trim()}`);
}

export async function waitUntil(what: string, holds: () => boolean): Promise<void> {
  const end = performance.now() + PATIENCE;
  while (!holds()) {
    if (performance.now() > end) throw new Error(`it never came to pass that ${what}`);
    await Bun.sleep(STEP);
  }
}

// A real ext4 on a disk whose power can be cut: power-cut-disk.c behind a loop device. A cut loses
// a random part of the unflushed data; the next mount lets ext4 recover from its journal.
import { statfsSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { atEnd } from "../../support/suite-harness.ts";
import { waitUntil } from "../../support/wait-until.ts";

/** When to cut: at a write (w), before a flush (f), after a flush (d), or now (n). */
export type CutTrigger = "w" | "f" | "d" | "n";

/**
 * What of the cache survives: all (a), nothing (z), a prefix (o), random blocks (b) or sectors (s).
 */
export type LossMode = "a" | "z" | "o" | "b" | "s";

export interface PowerCut {
  readonly trigger: CutTrigger;
  readonly count: number;
  readonly lossMode: LossMode;
  readonly seed: number;
}

/** How the ext4 file system is made and mounted. */
export interface Ext4Options {
  /** Seconds after which ext4 commits unsynced data by itself. */
  readonly commitSeconds: number;
  /** Whether metadata has checksums. */
  readonly hasMetadataChecksums: boolean;
  /** Whether ext4 may commit a file's length before its content. */
  readonly isWriteback: boolean;
}

/** What the disk program reports about a cut. */
export interface LossReport {
  readonly trigger: string;
  readonly writes: number;
  readonly flushes: number;
  readonly lostSectors: number;
  readonly unflushedSectors: number;
}

const MIB = 1024 * 1024;
const DISK_SIZE = 64 * MIB;
const FUSE_MAGIC = 0x65735546;
const QUIET_MS = 3_000;

/** Compiles the program that emulates the disk. */
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
  #isMounted = false;
  #cutReport = Promise.withResolvers<LossReport>();

  private constructor(folder: string) {
    this.#image = join(folder, "image");
    this.#fuse = join(folder, "fuse");
    this.path = join(folder, "disk");
  }

  /** Throws the system's error message if the machine does not allow FUSE. */
  static async attach(folder: string, program: string): Promise<PowerCutDisk> {
    const disk = new PowerCutDisk(folder);
    writeFileSync(disk.#image, "");
    truncateSync(disk.#image, DISK_SIZE);
    run("mkdir", disk.#fuse, disk.path);
    const child = Bun.spawn([program, disk.#image, disk.#fuse], {
      stdin: "ignore",
      stdout: "pipe",
      stderr: "pipe",
    });
    atEnd(() => child.kill("SIGKILL"));
    await waitUntil(
      () => child.exitCode !== null || isFuse(disk.#fuse),
      "the disk is mounted by FUSE",
    );
    if (child.exitCode !== null) throw new Error((await new Response(child.stderr).text()).trim());
    atEnd(() => run("umount", "--lazy", disk.#fuse));
    void disk.#readReports(child.stdout);
    atEnd(() => {
      if (disk.#isMounted) run("umount", "--lazy", disk.path);
    });
    return disk;
  }

  /** Makes a new ext4, empty or with the content of a folder. */
  format(from: string | null, { hasMetadataChecksums }: Ext4Options): void {
    // Removes all content of the previous file system.
    truncateSync(this.#image, 0);
    truncateSync(this.#image, DISK_SIZE);
    const mkfsOptions = ["-E", "lazy_itable_init=0,lazy_journal_init=0,nodiscard"];
    // A superblock whose sectors come from two writes has a wrong checksum, so half-written blocks
    // need a file system without checksums.
    const features = hasMetadataChecksums ? [] : ["-O", "^metadata_csum"];
    const content = from === null ? [] : ["-d", from];
    run(
      "/sbin/mkfs.ext4",
      "-qF",
      "-b",
      "4096",
      ...mkfsOptions,
      ...features,
      ...content,
      this.#image,
    );
  }

  /** Restores the power and mounts the file system. */
  mount({ commitSeconds, isWriteback }: Ext4Options): void {
    this.#sendCommand("load");
    this.#cutReport = Promise.withResolvers();
    // noauto_da_alloc: other file systems do not sync a file before it is renamed over another.
    const writebackOptions = isWriteback ? ",data=writeback,nodelalloc" : "";
    const options = `loop,noauto_da_alloc,commit=${commitSeconds}${writebackOptions}`;
    run("mount", "-t", "ext4", "-o", options, join(this.#fuse, "disk"), this.path);
    this.#isMounted = true;
  }

  /** Waits until no process has a file open on the disk. */
  async unmount(): Promise<void> {
    let stderrText = "";
    await waitUntil(() => {
      const { exitCode, stderr } = Bun.spawnSync(["umount", this.path]);
      stderrText = stderr.toString();
      return exitCode === 0;
    }, "no process uses the disk").catch((error: unknown) => {
      throw new Error(`${String(error)}: ${stderrText}`);
    });
    this.#isMounted = false;
  }

  armCut({ trigger, count, lossMode, seed }: PowerCut): void {
    this.#sendCommand(`cut ${trigger} ${count} ${lossMode} ${seed}`);
  }

  /** Resolves after the cut; if the armed cut does not happen soon, cuts the power. */
  async waitUntilCut(): Promise<LossReport> {
    const timer = setTimeout(() => this.cutNow(), QUIET_MS);
    const loss = await this.#cutReport.promise;
    clearTimeout(timer);
    return loss;
  }

  /** Cuts the power, unless it is already cut. */
  cutNow(): void {
    this.armCut({ trigger: "n", count: 0, lossMode: "z", seed: 0 });
  }

  #sendCommand(command: string): void {
    writeFileSync(join(this.#fuse, "control"), command);
  }

  async #readReports(stdout: ReadableStream<Uint8Array>): Promise<void> {
    const decoder = new TextDecoder();
    let text = "";
    for await (const part of stdout) {
      text += decoder.decode(part, { stream: true });
      const lines = text.split("\n");
      text = lines.pop() ?? "";
      for (const line of lines) {
        const [writes = 0, flushes = 0, lost = 0, unflushed = 0] =
          line.match(/\d+/g)?.map(Number) ?? [];
        this.#cutReport.resolve({
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

function run(...command: [string, ...string[]]): void {
  const { exitCode, stderr } = Bun.spawnSync(command);
  if (exitCode !== 0) throw new Error(`${command.join(" ")}: ${stderr.toString().trim()}`);
}

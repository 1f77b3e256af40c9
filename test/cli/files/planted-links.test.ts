// Commands that write a file into a folder that other users can write to. Root often runs them.
import { describe, expect, test } from "bun:test";
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { realDisk } from "../../../src/platform/files/disk.ts";
import { buildBinary } from "../../support/binary.ts";
import { PATIENCE } from "../../support/patience.ts";
import { runBerth, runOrThrow } from "../../support/run-berth.ts";
import { makeLicensedSite } from "../../support/site-folder.ts";
import { modeOf, tempFolder } from "../../support/temp-folder.ts";

/** Makes a site and a shared folder for the command's output. */
async function prepareSite() {
  const root = tempFolder();
  const data = ["--data", join(root, "data")];
  const id = String(await makeLicensedSite(join(root, "data"), { product: "cad" }));
  await runOrThrow(["tls", "init", ...data]);
  const shared = join(root, "shared");
  mkdirSync(shared);
  return { data, id, out: join(shared, "out"), shared, victim: join(root, "victim") };
}

type PreparedSite = Awaited<ReturnType<typeof prepareSite>>;

const WRITERS: Record<string, (site: PreparedSite) => string[]> = {
  "license request": ({ data, out }) => [
    "license",
    "request",
    "--product",
    "cad",
    "--out",
    out,
    ...data,
  ],
  "license remove": ({ data, id, out }) => [
    "license",
    "remove",
    id,
    "--yes",
    "--out",
    out,
    ...data,
  ],
  audit: ({ data, out }) => ["audit", "--out", out, ...data],
  backup: ({ data, out }) => ["backup", out, ...data],
  "move out": ({ data, out }) => ["move", "out", out, "--yes", ...data],
  "pair request": ({ data: [, folder = ""], out }) => [
    "pair",
    "request",
    out,
    "--data",
    join(folder, "../second"),
  ],
  "tls client": ({ data, out }) => ["tls", "client", "--name", "ws-17", "--out", out, ...data],
  "support-bundle": ({ data, out }) => ["support-bundle", out, "--yes", ...data],
  qr: ({ data: [, folder = ""], out }) => ["qr", join(folder, "identity.jwk"), "--svg", out],
};

describe.each(Object.entries(WRITERS))("berth %s", (_name, wordsFor) => {
  test("refuses a symbolic link as its output, whether its target exists or not", async () => {
    const site = await prepareSite();
    symlinkSync(site.victim, site.out);
    const expectRefused = async (): Promise<void> => {
      const { code, stderr } = await runBerth(wordsFor(site));
      expect([code > 0, stderr]).toEqual([
        true,
        expect.stringMatching(/^berth: error: .*out is a symbolic link$/m),
      ]);
      expect(readdirSync(site.shared)).toEqual(["out"]);
    };
    await expectRefused();
    expect(existsSync(site.victim)).toBe(false);
    writeFileSync(site.victim, "a.b.c\n");
    await expectRefused();
    expect(readFileSync(site.victim, "utf8")).toBe("a.b.c\n");
  });

  test("refuses a pipe, a device and a folder as its output, and leaves them as they are", async () => {
    const site = await prepareSite();
    for (const command of [["mkfifo"], ["mkdir"], ["mknod", "c", "1", "3"]]) {
      const [program = "", ...type] = command;
      const isMade = Bun.spawnSync([program, site.out, ...type]).success;
      // Only root can make a device.
      if (!isMade && program === "mknod") continue;
      const before = lstatSync(site.out);
      // In a process of its own: one that opened the pipe would wait there.
      const words = [buildBinary(), ...wordsFor(site)];
      const child = Bun.spawn(words, { env: {}, stderr: "pipe", timeout: PATIENCE });
      const stderr = await child.stderr.text();
      expect([program, (await child.exited) > 0, stderr]).toEqual([
        program,
        true,
        expect.stringMatching(/^berth: error: .*out (?:is|already|exists).*$/m),
      ]);
      const { ino, mode } = lstatSync(site.out);
      expect([ino, mode, readdirSync(site.shared)]).toEqual([before.ino, before.mode, ["out"]]);
      rmSync(site.out, { recursive: true });
    }
  });

  test("does not write through a symbolic link planted beside its output", async () => {
    const site = await prepareSite();
    const planted = ["new", "trial", "trial.new", "tmp"].map((end) => `${site.out}.${end}`);
    for (const path of planted) symlinkSync(site.victim, path);
    const { code, stderr } = await runBerth(wordsFor(site));
    expect(existsSync(site.victim)).toBe(false);
    // The output is either written under an unpredictable name or refused.
    if (code === 0) expect(modeOf(site.out)).toBe("600");
    else expect(stderr).toMatch(/is a symbolic link|already exists/);
  });

  test("leaves no file but its output", async () => {
    const site = await prepareSite();
    await runOrThrow(wordsFor(site));
    expect(readdirSync(site.shared)).toEqual(["out"]);
    expect(modeOf(site.out)).toBe("600");
  });
});

describe("realDisk.open of a new file", () => {
  test("creates it with access for its owner only", () => {
    const path = join(tempFolder(), "file");
    const file = realDisk.open(path, "new");
    file.write(Buffer.from("text"));
    file.close();
    expect([readFileSync(path, "utf8"), modeOf(path)]).toEqual(["text", "600"]);
  });

  test("fails when a file or a link has its name, even a dangling link", () => {
    const folder = tempFolder();
    writeFileSync(join(folder, "file"), "kept");
    symlinkSync(join(folder, "file"), join(folder, "link"));
    symlinkSync(join(folder, "missing"), join(folder, "dangling"));
    for (const name of ["file", "link", "dangling"]) {
      expect(() => realDisk.open(join(folder, name), "new")).toThrow("EEXIST");
    }
    expect(readFileSync(join(folder, "file"), "utf8")).toBe("kept");
    expect(existsSync(join(folder, "missing"))).toBe(false);
  });
});

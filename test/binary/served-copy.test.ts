// A copy of a data folder has the same licenses: if both were served, every slot could be used
// twice.
import { describe, expect, onTestFinished, test } from "bun:test";
import {
  chmodSync,
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
} from "node:fs";
import { join } from "node:path";
import {
  buildBinary,
  MACHINE_VARIABLE,
  runBinary,
  startBinary,
  startProgram,
} from "../support/binary.ts";
import { canMount, makeInstalledMachine } from "../support/installed-machine.ts";
import { AS_NOBODY, canRunAsNobody, copyForEveryUser } from "../support/other-user.ts";
import { runBerth } from "../support/run-berth.ts";
import { makeLicensedSite } from "../support/site-folder.ts";
import { contentsOf, tempFolder } from "../support/temp-folder.ts";

const LISTEN = ["--listen", "127.0.0.1:0"];
const isLinux = process.platform === "linux";

async function makeSiteAndCopy(): Promise<{ readonly site: string; readonly copy: string }> {
  const [site, copy] = [join(tempFolder(), "site"), join(tempFolder(), "copy")];
  await makeLicensedSite(site, { product: "cad" });
  cpSync(site, copy, { recursive: true });
  return { site, copy };
}

async function serve(folder: string) {
  const server = await startBinary("serve", "--data", folder, ...LISTEN);
  onTestFinished(() => server.kill());
  return server;
}

describe.skipIf(!isLinux)("a copy of a served data folder", () => {
  test("is not served beside the original, stays unchanged, and can be read by commands", async () => {
    const { site, copy } = await makeSiteAndCopy();
    const server = await serve(site);
    const { lock: _before, ...before } = contentsOf(copy);
    const { code, stdout, stderr } = await runBinary(["serve", "--data", copy, ...LISTEN]);
    expect([code, stdout]).toEqual([1, ""]);
    const [error, hint] = stderr.split("\n");
    expect(error).toMatch(/^berth: error: appliance [0-9A-Z]{16} is already served from /);
    expect(error).toContain(`from ${site} by process ${server.pid} (`);
    expect(hint).toStartWith(`berth: hint: stop that server first: ${copy} is a copy`);
    const { lock: _after, ...after } = contentsOf(copy);
    expect(after).toEqual(before);
    for (const args of [["status"], ["slots"], ["verify"], ["license", "list"]]) {
      const read = await runBerth([...args, "--data", copy]);
      expect([args, read.code, read.stderr]).toEqual([args, 0, ""]);
    }
    expect((await fetch(`${server.url}/api/v4/health`)).status).toBe(200);
  });

  test("is not served with the variable by which tests simulate machines, which is not in a release", async () => {
    const { site, copy } = await makeSiteAndCopy();
    await serve(site);
    const command = ["env", `${MACHINE_VARIABLE}=b`, buildBinary(), "serve", "--data", copy];
    const outcome = await startProgram([...command, ...LISTEN]).then(
      (second) => second.kill().then(() => "it was served"),
      String,
    );
    expect(outcome).toContain(`is already served from ${site} by process`);
    expect(readFileSync(buildBinary()).includes(MACHINE_VARIABLE)).toBe(false);
  });

  test("is changed by no command, and each refusal names the original's folder and process", async () => {
    const { site, copy } = await makeSiteAndCopy();
    const listed = await runBerth(["license", "list", "--data", site, "--json"]);
    const [license] = JSON.parse(listed.stdout) as { readonly id: number }[];
    const file = join(tempFolder(), "other.move");
    const moved = join(tempFolder(), "moved");
    cpSync(site, moved, { recursive: true });
    expect((await runBerth(["move", "out", file, "--yes", "--data", moved])).code).toBe(0);
    const target = join(tempFolder(), "target");
    const server = await serve(site);
    const { lock: _before, ...before } = contentsOf(copy);
    const changingCommands = [
      ["license", "remove", String(license?.id), "--yes", "--data", copy],
      ["license", "request", "--product", "cad", "--data", copy],
      ["admin", "token", "--data", copy],
      ["release", "--product", "cad", "--user", "ada", "--data", copy],
      ["audit", "repair", "--data", copy],
      ["move", "out", join(tempFolder(), "site.move"), "--yes", "--data", copy],
      ["move", "in", file, "--data", target],
    ];
    for (const args of changingCommands) {
      const { code, stdout, stderr } = await runBerth(args);
      expect([args, code, stdout]).toEqual([args, 1, ""]);
      const [error, hint] = stderr.split("\n");
      expect(error).toMatch(/^berth: error: appliance [0-9A-Z]{16} is already served from /);
      expect(error).toContain(`from ${site} by process ${server.pid} (`);
      expect(hint).toStartWith("berth: hint: stop that server first: ");
    }
    const { lock: _after, ...after } = contentsOf(copy);
    expect(after).toEqual(before);
    expect(existsSync(target)).toBe(false);
    // Commands that only read still work, and doctor reports the copy.
    const backup = join(tempFolder(), "copy.berth");
    for (const args of [["backup", backup], ["audit"], ["trust", "list"]]) {
      const read = await runBerth([...args, "--data", copy]);
      expect([args, read.code, read.stderr]).toEqual([args, 0, ""]);
    }
    const doctor = await runBerth(["doctor", "--data", copy, ...LISTEN]);
    const text = doctor.stdout.replaceAll(/\s+/g, " ");
    expect([doctor.code, text]).toEqual([
      1,
      expect.stringMatching(new RegExp(`\\bwarning [^()]*already served from ${site} by`)),
    ]);
    expect(text).toContain("(copy_served)");
    expect((await runBerth(["doctor", "--data", site])).stdout).not.toContain("copy_served");
    expect(await server.stop()).toBe(0);
    expect((await runBerth(["admin", "token", "--data", copy])).code).toBe(0);
  });

  test("is served after the original is killed, and the original after the copy is stopped", async () => {
    const { site, copy } = await makeSiteAndCopy();
    const first = await serve(site);
    await first.kill();
    const second = await serve(copy);
    expect((await runBinary(["serve", "--data", site, ...LISTEN])).code).toBe(1);
    expect(await second.stop()).toBe(0);
    expect(await (await serve(site)).stop()).toBe(0);
  });

  test("of a demo is not served beside the demo", async () => {
    const demo = join(tempFolder(), "demo");
    const first = await startBinary("demo", "--data", demo, ...LISTEN);
    onTestFinished(() => first.kill());
    const copy = join(tempFolder(), "copy");
    cpSync(demo, copy, { recursive: true, filter: (path) => !path.endsWith(".sock") });
    const { code, stderr } = await runBinary(["demo", "--data", copy, ...LISTEN]);
    expect([code, stderr]).toEqual([1, expect.stringContaining(`from ${demo} by process`)]);
  });

  test.skipIf(!canRunAsNobody)("is not served by another user beside the original", async () => {
    const { site, copy } = await makeSiteAndCopy();
    const server = await serve(site);
    chmodSync(join(copy, ".."), 0o755);
    Bun.spawnSync(["chown", "-R", "65534:65534", copy]);
    const args = [
      ...AS_NOBODY,
      copyForEveryUser(buildBinary()),
      "serve",
      "--data",
      copy,
      ...LISTEN,
    ];
    const refused = Bun.spawnSync(args, { cwd: "/", env: {} });
    expect([refused.exitCode, refused.stderr.toString()]).toEqual([
      1,
      expect.stringContaining(`from ${site} by process ${server.pid}`),
    ]);
    await server.kill();
    const second = await startProgram(args);
    onTestFinished(() => second.kill());
    expect(second.output).toContain("ready");
  });
});

describe.skipIf(!isLinux)("berth restore", () => {
  /** The executable with a folder `data` beside it, which is then the default. */
  function copyBinary(): { readonly binary: string; readonly data: string } {
    const folder = tempFolder();
    chmodSync(folder, 0o755);
    const binary = join(folder, "berth");
    copyFileSync(buildBinary(), binary);
    chmodSync(binary, 0o755);
    const data = join(folder, "data");
    mkdirSync(data, { mode: 0o700 });
    return { binary, data };
  }

  test("without --data is refused while the appliance is served from another folder", async () => {
    const { site } = await makeSiteAndCopy();
    const server = await serve(site);
    const file = join(tempFolder(), "site.berth");
    expect((await runBerth(["backup", file, "--data", site])).code).toBe(0);
    const { binary, data } = copyBinary();
    const refused = Bun.spawnSync([binary, "restore", file], { cwd: "/", env: {} });
    expect(refused.exitCode).toBe(1);
    const [error, hint] = refused.stderr.toString().split("\n");
    expect(error).toContain(`is served from ${site} by process ${server.pid} (`);
    expect(error).toContain(`${data} would become a copy`);
    expect(hint).toBe("berth: hint: specify the folder to restore with --data DIR");
    expect(readdirSync(data)).toEqual([]);
    // With --data the restore succeeds, with a warning.
    const named = Bun.spawnSync([binary, "restore", file, "--data", data], { cwd: "/", env: {} });
    expect([named.exitCode, named.stderr.toString()]).toEqual([
      0,
      expect.stringContaining(`the copy in ${data} cannot be served at the same time`),
    ]);
    expect(await server.stop()).toBe(0);
    const again = await runBerth(["restore", file, "--data", site, "--accept-loss"]);
    expect([again.code, again.stderr]).toEqual([0, expect.not.stringContaining("copy")]);
  });

  test.skipIf(!canMount)(
    "without --data is refused while the service's folder contains the appliance",
    async () => {
      const { data, etc, runProgram } = makeInstalledMachine(null);
      await makeLicensedSite(data, { product: "cad" });
      const { binary, data: beside } = copyBinary();
      const file = "/etc/berth/site.berth";
      const backup = await runProgram(binary, "backup", file, "--data", "/var/lib/berth");
      expect([backup.code, readdirSync(etc)]).toEqual([0, ["site.berth"]]);
      const { code, stderr } = await runProgram(binary, "restore", file);
      expect([code, stderr]).toEqual([
        1,
        expect.stringMatching(/is in \/var\/lib\/berth: .* would become a copy/),
      ]);
      expect(readdirSync(beside)).toEqual([]);
    },
  );
});

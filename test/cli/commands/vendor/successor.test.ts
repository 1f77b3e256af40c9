import { describe, expect, test } from "bun:test";
import { lstatSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import { renameSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { realDisk } from "../../../../src/platform/files/disk.ts";
import { runBerth, runOrThrow } from "../../../support/run-berth.ts";
import {
  issueTestLicense,
  openDeskAndSite,
  makeRequestFrom,
} from "../../../support/desk-and-site.ts";
import { tempFolder } from "../../../support/temp-folder.ts";

function passphraseFile(text: string): string {
  const path = join(tempFolder(), "phrase");
  writeFileSync(path, `${text}\n`);
  return path;
}

async function makeDesk(folder: string): Promise<void> {
  const init = ["vendor", "init", "--name", "Acme", "--product", "CAD", "--no-passphrase"];
  await runOrThrow([...init, "--dir", folder]);
}

describe("berth vendor successor", () => {
  test("prints commands that name the desk's folder, and which file to copy", async () => {
    const { desk, folder, site } = await openDeskAndSite();
    const { license_id } = await issueTestLicense(desk, await makeRequestFrom(site));
    const words = ["vendor", "successor", "--dir", folder, "--no-passphrase", "--retire-old"];
    const result = await runOrThrow(words);
    expect(result).toContain("distribute a copy of successor-2.jwt");
    expect(result).toContain(`berth vendor issue --dir ${folder} --renew ${license_id} --out`);
    expect(result).toContain(`berth vendor list --dir ${folder} --to-reissue`);
    const shown = await runOrThrow(["vendor", "show", "--dir", folder]);
    expect(shown).toContain(`berth vendor list --dir ${folder} --to-reissue`);
  });

  test("quotes a folder with a space in the commands that it prints", async () => {
    const { desk, folder, site } = await openDeskAndSite();
    await issueTestLicense(desk, await makeRequestFrom(site));
    const spaced = join(tempFolder(), "my desk");
    mkdirSync(spaced, { mode: 0o700 });
    for (const name of readdirSync(folder)) {
      writeFileSync(join(spaced, name), readFileSync(join(folder, name)), { mode: 0o600 });
    }
    const words = ["vendor", "successor", "--dir", spaced, "--no-passphrase", "--retire-old"];
    expect(await runOrThrow(words)).toContain(`berth vendor list --dir '${spaced}' --to-reissue`);
  });

  test.each([
    ["2020-01-01", true],
    ["2999-01-01", false],
  ])("with --retire-from %s says that it takes effect immediately: %p", async (day, isPast) => {
    const folder = join(tempFolder(), "desk");
    await makeDesk(folder);
    const words = ["vendor", "successor", "--dir", folder, "--no-passphrase", "--retire-old"];
    const { code, stderr } = await runBerth([...words, "--retire-from", day]);
    expect([code, stderr.includes("takes effect immediately")]).toEqual([0, isPast]);
  });

  test("says that an earlier key is still stored without a passphrase", async () => {
    const folder = join(tempFolder(), "desk");
    await makeDesk(folder);
    const flags = ["--dir", folder, "--passphrase-file", passphraseFile("correct horse")];
    const result = await runBerth(["vendor", "successor", ...flags]);
    const plain = readdirSync(folder).find((name) => name.endsWith(".vendor.jwk")) ?? "none";
    expect([result.code, result.stderr]).toEqual([
      0,
      expect.stringContaining(`${plain} is stored without a passphrase`),
    ]);
    expect(result.stderr).toContain(`berth vendor passphrase --dir ${folder}`);
    const again = await runBerth(["vendor", "successor", ...flags, "--no-passphrase"]);
    expect(again.stderr).not.toContain("is stored without");
  });
});

test("berth vendor passphrase refuses a key file that is a symbolic link, and changes nothing", async () => {
  const folder = join(tempFolder(), "desk");
  await makeDesk(folder);
  const [key, target] = [join(folder, "vendor.jwk"), join(tempFolder(), "vendor.jwk")];
  renameSync(key, target);
  symlinkSync(target, key);
  const text = readFileSync(target, "utf8");
  const flags = ["--dir", folder, "--new-passphrase-file", passphraseFile("correct horse")];
  const result = await runBerth(["vendor", "passphrase", ...flags]);
  expect([result.code, result.stderr]).toEqual([
    1,
    expect.stringContaining(`${key} is a symbolic link`),
  ]);
  expect([lstatSync(key).isSymbolicLink(), readFileSync(target, "utf8")]).toEqual([true, text]);
  expect(realDisk.stat(join(folder, "vendor.jwe"))).toBeNull();
  await runOrThrow(["vendor", "verify", "--dir", folder]);
});

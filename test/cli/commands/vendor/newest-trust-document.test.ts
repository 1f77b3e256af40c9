// The newest trust document beside the answer to a site's request.
import { describe, expect, test } from "bun:test";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { Desk } from "../../../../src/desk/desk.ts";
import { realDisk } from "../../../../src/platform/files/disk.ts";
import { openAppliance } from "../../../support/appliance.ts";
import { openDeskAndSite, type DeskAndSite } from "../../../support/desk-and-site.ts";
import { readText, signNextTrust } from "../../../support/desk-keys.ts";
import { unwrap } from "../../../support/licensed-store.ts";
import { runBerth, runJsonOrThrow } from "../../../support/run-berth.ts";
import { contentsOf, tempFolder } from "../../../support/temp-folder.ts";
import { createVendor } from "../../../support/vendor.ts";
import { withEnd } from "../../../support/vendor-commands.ts";

class Answers {
  readonly place = tempFolder();
  readonly out = join(this.place, "license.jwt");
  readonly trust = join(this.place, "trust.jwt");
  readonly #opened: DeskAndSite;
  #requests = 0;

  constructor(opened: DeskAndSite) {
    this.#opened = opened;
  }

  async requestFlags(): Promise<string[]> {
    const { document } = unwrap(await this.#opened.site.licensing.request("sim", null, "test"));
    this.#requests += 1;
    const file = join(tempFolder(), `${this.#requests}.request`);
    writeFileSync(file, document);
    return ["vendor", "issue", "--dir", this.#opened.folder, "--request", file];
  }

  async issue(...flags: string[]) {
    return runBerth([...(await this.requestFlags()), "--allow-weak-binding", ...withEnd(flags)]);
  }
}

/** The desk has version 2; the site has version 1. */
async function openWithOlderSite() {
  const opened = await openDeskAndSite();
  const { trust } = await signNextTrust(opened.folder, { name: "Initech" });
  return { ...opened, newest: trust.document, answers: new Answers(opened) };
}

describe("vendor issue gives the newest trust document", () => {
  test("in a file beside the answer, which the site installs with it", async () => {
    const { answers, newest, site } = await openWithOlderSite();
    const { code, stdout, stderr } = await answers.issue("--out", answers.out);
    expect([code, stderr]).toEqual([0, expect.not.stringContaining("trust")]);
    expect(stdout).toContain(`${answers.trust} is written for the site, too`);
    expect(readText(answers.trust)).toBe(newest);
    unwrap(await site.vendorTrust.trustVendor(readText(answers.trust), "test"));
    unwrap(await site.licensing.installLicense(readText(answers.out), "test"));
    const next = await answers.issue("--out", answers.out);
    expect([next.stdout, next.stderr.includes("trust")]).toEqual([
      expect.not.stringContaining("trust.jwt"),
      false,
    ]);
  });

  test("as a member of the JSON output; null if the site has it", async () => {
    const { answers, newest, site } = await openWithOlderSite();
    const issue = async () =>
      runJsonOrThrow<{ trust: string | null }>([
        ...withEnd(await answers.requestFlags()),
        "--allow-weak-binding",
      ]);
    expect((await issue()).trust).toBe(newest);
    unwrap(await site.vendorTrust.trustVendor(newest, "test"));
    expect((await issue()).trust).toBeNull();
    expect(readdirSync(answers.place)).toEqual([]);
  });

  test("with a note if the answer is printed", async () => {
    const { answers } = await openWithOlderSite();
    const { code, stdout, stderr } = await answers.issue();
    expect([code, stdout]).toEqual([0, expect.stringMatching(/^[\w-]+\.[\w-]+\.[\w-]+\n$/)]);
    expect(stderr).toContain("note: the site needs the newest trust document: send it trust.jwt");
  });

  test("to a site that does not trust the vendor yet", async () => {
    const opened = await openDeskAndSite();
    const answers = new Answers({ ...opened, site: await openAppliance({ licenses: {} }) });
    await answers.issue("--out", answers.out);
    expect(readText(answers.trust)).toBe(opened.desk.trust.document);
  });
});

describe("trust.jwt beside the answer", () => {
  test("replaces an older one of this vendor, and stays if it is the same", async () => {
    const { answers, desk, newest } = await openWithOlderSite();
    writeFileSync(answers.trust, `${desk.trust.document}\n`);
    const first = await answers.issue("--out", answers.out);
    expect(first.stdout).toContain(`${answers.trust} is written for the site, too`);
    const before = contentsOf(answers.place)["trust.jwt"];
    const second = await answers.issue("--out", join(answers.place, "second.jwt"));
    expect(second.stdout).toContain(`${answers.trust} is for the site, too`);
    expect([readText(answers.trust), contentsOf(answers.place)["trust.jwt"]]).toEqual([
      newest,
      before,
    ]);
  });

  test.each<[what: string, make: (path: string, opened: DeskAndSite) => unknown]>([
    ["another file", (path) => writeFileSync(path, "a letter")],
    ["an empty file", (path) => writeFileSync(path, "")],
    ["a folder", (path) => mkdirSync(path)],
    ["a link", (path) => symlinkSync("/dev/null", path)],
    [
      "the document of another vendor",
      async (path) => writeFileSync(path, (await createVendor()).trust),
    ],
    [
      "a newer one of this vendor",
      async (path, { folder }) => {
        const copy = await Desk.open(realDisk, folder, null);
        await signNextTrust(folder, { name: "Newer" });
        writeFileSync(path, readFileSync(join(folder, "trust.jwt")));
        // The desk was restored from a backup since.
        writeFileSync(join(folder, "trust.jwt"), `${copy.trust.document}\n`);
        const ledger = join(folder, "ledger.jsonl");
        const lines = readFileSync(ledger, "utf8").trimEnd().split("\n").slice(0, -1);
        writeFileSync(ledger, `${lines.join("\n")}\n`);
        writeFileSync(join(folder, "ledger.head"), "");
      },
    ],
  ])("does not replace %s; the output says to send it", async (_what, make) => {
    const { answers, ...opened } = await openWithOlderSite();
    await make(answers.trust, opened);
    const before = contentsOf(answers.place)["trust.jwt"];
    const { code, stdout } = await answers.issue("--out", answers.out);
    expect([code, existsSync(answers.out)]).toEqual([0, true]);
    expect(stdout).toContain(
      `${answers.trust} is another file and was not replaced: send the site`,
    );
    expect(contentsOf(answers.place)["trust.jwt"]).toBe(before);
  });

  test("is not written for --dry-run, and not over the answer itself", async () => {
    const { answers } = await openWithOlderSite();
    await answers.issue("--dry-run");
    expect(readdirSync(answers.place)).toEqual([]);
    const { stdout } = await answers.issue("--out", answers.trust);
    expect(stdout).toContain("is another file and was not replaced");
    expect(readdirSync(answers.place)).toEqual(["trust.jwt"]);
  });
});

describe("a trust document at the site that the desk does not know", () => {
  test.each([
    [
      "a higher version",
      { name: "Newer" },
      2,
      "has version 3 of this vendor's trust document, and",
    ],
    ["another one of the same version", { name: "Other" }, 1, "has another version 2 of this"],
  ])("is a warning if it is %s", async (_what, change, versions, message) => {
    const opened = await openDeskAndSite();
    const copy = join(tempFolder(), "desk");
    for (const end of ["", "-root"]) {
      mkdirSync(`${copy}${end}`, { mode: 0o700 });
      for (const name of readdirSync(`${opened.folder}${end}`))
        writeFileSync(
          join(`${copy}${end}`, name),
          readFileSync(join(`${opened.folder}${end}`, name)),
        );
    }
    await signNextTrust(opened.folder, { name: "Initech" });
    let { trust } = await signNextTrust(copy, change);
    if (versions === 2) ({ trust } = await signNextTrust(copy, { name: "Newest" }));
    unwrap(await opened.site.vendorTrust.trustVendor(trust.document, "test"));
    const answers = new Answers(opened);
    const { code, stdout, stderr } = await answers.issue("--json");
    expect([code, stderr]).toEqual([0, expect.stringContaining(`warning: the site ${message}`)]);
    expect(stderr).toContain("or the root was misused");
    expect(JSON.parse(stdout)).toMatchObject({
      trust: null,
      warnings: [expect.stringContaining(message)],
    });
  });
});

test("a serial that the desk did not issue is a warning, as text and as JSON", async () => {
  const opened = await openDeskAndSite();
  const before = join(tempFolder(), "desk");
  const answers = new Answers(opened);
  await answers.issue("--out", answers.out);
  const { folder, site } = opened;
  unwrap(await site.licensing.installLicense(readText(answers.out), "test"));
  mkdirSync(before, { mode: 0o700 });
  for (const name of readdirSync(folder))
    writeFileSync(join(before, name), readFileSync(join(folder, name)));
  const renewal = await answers.issue("--slots", "7", "--out", answers.out);
  expect([renewal.code, renewal.stderr]).toEqual([0, expect.not.stringContaining("warning")]);
  unwrap(await site.licensing.installLicense(readText(answers.out), "test"));
  const restored = new Answers({ ...opened, folder: before });
  const { code, stdout, stderr } = await restored.issue("--slots", "9", "--json");
  const message =
    "the site has serial 2, which this desk did not issue, and installs serial 2 only";
  expect([code, stderr]).toEqual([0, expect.stringContaining(message)]);
  expect(JSON.parse(stdout)).toMatchObject({
    serial: 2,
    warnings: [expect.stringContaining("or a key of it was stolen")],
  });
  const { license_id } = JSON.parse(stdout) as { license_id: number };
  const chosen = ["--license-id", String(license_id), "--slots", "9", "--json"];
  const continued = JSON.parse((await restored.issue(...chosen)).stdout) as { document: string };
  expect(continued).toMatchObject({ license_id, serial: 3, warnings: [] });
  unwrap(await site.licensing.installLicense(continued.document, "test"));
});

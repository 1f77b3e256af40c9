import { describe, expect, test } from "bun:test";
import { cpSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { verifyAcknowledgement } from "../../../src/license/documents/acknowledgement.ts";
import { generateKey, keyIdOf, publicPart } from "../../../src/license/documents/keys.ts";
import {
  encodeFigures,
  signUsageStatement,
  type UsageFigures,
  type UsageStatement,
} from "../../../src/license/documents/usage-statement.ts";
import { Desk } from "../../../src/desk/desk.ts";
import { checkStatement } from "../../../src/desk/statements/receive-statement.ts";
import { verifyDesk } from "../../../src/desk/verify-desk.ts";
import { wallClock } from "../../../src/platform/clock.ts";
import { realDisk } from "../../../src/platform/files/disk.ts";
import { openAppliance } from "../../support/appliance.ts";
import { replaceKey, signNextTrust } from "../../support/desk-keys.ts";
import { issueTestLicense, makeRequestFrom } from "../../support/desk-and-site.ts";
import { refusal } from "../../support/desk-refusal.ts";
import { unwrap } from "../../support/licensed-store.ts";
import { mutateDocument } from "../../support/mutate-document.ts";
import {
  atDay,
  goTo,
  makeStatement,
  openReportingSite,
  readStatement,
  receive,
  type ReportingSite,
} from "../../support/reporting-site.ts";
import { createRandom } from "../../support/suite-harness.ts";
import { tempFolder } from "../../support/temp-folder.ts";

/** The contents of every file of a folder. */
const contentsOf = (folder: string): Record<string, string> =>
  Object.fromEntries(
    readdirSync(folder)
      .filter((name) => !name.endsWith(".lock"))
      .map((name) => [name, readFileSync(join(folder, name), "base64")]),
  );

/** Expects that the desk refuses a document and stays as it is; returns the message. */
async function refusedUnchanged(
  { desk, folder }: Pick<ReportingSite, "desk" | "folder">,
  document: string,
): Promise<string> {
  const before = contentsOf(folder);
  const message = await refusal(receive(desk, document));
  expect(contentsOf(folder)).toEqual(before);
  return message;
}

/** Signs a changed statement with the appliance's own key, as a hostile site can. */
async function signChanged(
  { site }: Pick<ReportingSite, "site">,
  document: string,
  change: Partial<UsageStatement>,
  changeFigures: (figures: UsageFigures) => UsageFigures = (figures) => figures,
): Promise<string> {
  const { statement, figures } = await readStatement(document);
  const usage = encodeFigures(changeFigures(structuredClone(figures)));
  const signed = await signUsageStatement(
    { ...statement, usage, ...change },
    site.services.identity.key,
  );
  return signed ?? "";
}

async function openSiteWithStatement() {
  const opened = await openReportingSite();
  await opened.site.register({ user: "ada", product: "sim" });
  goTo(opened.site, 3);
  const { document } = await makeStatement(opened.site);
  return { ...opened, document };
}

describe("the desk", () => {
  test("records a statement and answers with a signed acknowledgement", async () => {
    const { desk, document, site } = await openSiteWithStatement();
    const entry = await receive(desk, document);
    expect(entry).toMatchObject({ n: 1, from: "2026-03-02", to: "2026-03-05", document });
    const { ack, signer } = unwrap(
      await verifyAcknowledgement(entry.acknowledgement, [desk.vendor]),
    );
    expect(signer.key.x).toBe(desk.issuing.key.x);
    expect(ack).toMatchObject({
      appliance: site.services.identity.id,
      n: 1,
      digest: entry.digest,
    });
  });

  test("gives the same answer to the same statement, also after it is opened again", async () => {
    const { desk, document, folder } = await openSiteWithStatement();
    const { acknowledgement } = await receive(desk, document);
    const reopened = await Desk.open(realDisk, folder, null);
    const before = contentsOf(folder);
    const again = await receive(reopened, document, null, atDay(200));
    expect(again.acknowledgement).toBe(acknowledgement);
    expect(contentsOf(folder)).toEqual(before);
  });

  test("warns if the same answer is of a retired key; the answer to the next statement counts", async () => {
    const { desk, document, folder, site } = await openSiteWithStatement();
    const first = await receive(desk, document);
    await replaceKey(folder);
    const { trust } = await signNextTrust(folder, { retired: [keyIdOf(desk.issuing.key)] });
    unwrap(await site.vendorTrust.trustVendor(trust.document, "test"));
    const after = await Desk.open(realDisk, folder, null);
    const options = { acceptForkReason: null, now: atDay(4) };
    const { warnings, recorded } = await checkStatement(after, document, options);
    expect([recorded?.acknowledgement, warnings]).toEqual([
      first.acknowledgement,
      [expect.stringContaining("the site refuses this answer")],
    ]);
    const acknowledge = (answer: string) =>
      site.services.usageStatements.acknowledge(answer, "test");
    expect(await acknowledge(first.acknowledgement)).toMatchObject({
      ok: false,
      fault: { code: "retired_key" },
    });
    await site.register({ user: "ada", product: "sim" });
    goTo(site, 5);
    const next = await receive(after, (await makeStatement(site)).document, null, atDay(5));
    expect((await acknowledge(next.acknowledgement)).ok).toBe(true);
  });

  test("records the statements of a chain in order", async () => {
    const { desk, site, document, folder } = await openSiteWithStatement();
    await receive(desk, document);
    goTo(site, 5);
    await receive(desk, (await makeStatement(site)).document);
    goTo(site, 40);
    await receive(desk, (await makeStatement(site)).document);
    await receive(desk, (await makeStatement(site)).document);
    const [appliance = ""] = desk.ledger.statementSenders();
    expect(desk.ledger.statementsOf(appliance).map(({ n }) => n)).toEqual([1, 2, 3, 4]);
    const { faults } = await verifyDesk(realDisk, folder, null);
    expect(faults).toEqual([]);
  });
});

describe("the desk refuses a statement", () => {
  test("of an appliance that it issued no license to", async () => {
    const { document } = await openSiteWithStatement();
    const { desk, folder } = await openReportingSite();
    expect(await refusedUnchanged({ desk, folder }, document)).toContain("for another vendor");
  });

  test("of an unknown appliance for this vendor", async () => {
    const opened = await openSiteWithStatement();
    const key = await generateKey();
    const { statement } = await readStatement(opened.document);
    const foreign = await signUsageStatement(
      { ...statement, iss: keyIdOf(key), jwk: publicPart(key) },
      key,
    );
    expect(await refusedUnchanged(opened, foreign ?? "")).toContain(
      `issued no license to appliance ${keyIdOf(key)}`,
    );
  });

  test("that another key signed in the appliance's name", async () => {
    const opened = await openSiteWithStatement();
    const key = await generateKey();
    const { statement } = await readStatement(opened.document);
    const forged = await signUsageStatement({ ...statement, jwk: publicPart(key) }, key);
    expect(await refusedUnchanged(opened, forged ?? "")).toContain("is not a usage statement");
  });

  test("with a gap", async () => {
    const opened = await openSiteWithStatement();
    goTo(opened.site, 5);
    const { document } = await makeStatement(opened.site);
    expect(await refusedUnchanged(opened, document)).toContain("statement 1 is missing");
    goTo(opened.site, 7);
    await receive(opened.desk, opened.document);
    const third = await makeStatement(opened.site);
    expect(await refusedUnchanged(opened, third.document)).toContain("statement 2 is missing");
  });

  test.each<[string, Partial<UsageStatement>, string]>([
    ["whose days overlap", { from: "2026-03-04", to: "2026-03-06" }, "covers the days before"],
    ["that leaves out days", { from: "2026-03-06", to: "2026-03-07" }, "are missing"],
    ["whose audit lines overlap", { audit: { from: 1, to: 99, sum: "a".repeat(64) } }, "ended at"],
    ["that continues another one", { previous: "b".repeat(64) }, "two machines may use"],
  ])("%s", async (_, change, message) => {
    const opened = await openSiteWithStatement();
    await receive(opened.desk, opened.document);
    goTo(opened.site, 5);
    const { document } = await makeStatement(opened.site);
    const changed = await signChanged(opened, document, change);
    // The figures have as many days as the range.
    const fitting = changed === "" ? document : changed;
    expect(await refusedUnchanged(opened, fitting)).toContain(message);
  });

  test.each<[string, Partial<UsageStatement>]>([
    ["an empty range", { to: "2026-03-02" }],
    ["a range that runs backward", { from: "2026-03-05", to: "2026-03-02" }],
    ["more than 31 days", { to: "2026-05-02" }],
    ["a day that does not exist", { to: "2026-02-30" }],
    ["fewer days than its figures", { to: "2026-03-03" }],
    ["a number without the statement before", { n: 2 }],
    ["a first number with a statement before", { previous: "a".repeat(64) }],
    ["audit lines that run backward", { audit: { from: 9, to: 3, sum: "a".repeat(64) } }],
  ])("with %s", async (_, change) => {
    const opened = await openSiteWithStatement();
    const changed = await signChanged(opened, opened.document, change);
    expect(await refusedUnchanged(opened, changed)).toContain("is not a usage statement");
  });

  const withLicense =
    (change: Partial<UsageFigures["licenses"][number]>) =>
    (figures: UsageFigures): UsageFigures => ({
      ...figures,
      licenses: figures.licenses.map((license) => ({ ...license, ...change })),
    });

  test.each<[string, (figures: UsageFigures) => UsageFigures]>([
    ["a license that the desk did not issue", withLicense({ license_id: 4711 })],
    ["a serial that the desk did not issue", withLicense({ serial: 9 })],
    ["another product", withLicense({ product: "ray" })],
    ["a feature that the license lacks", withLicense({ pools: [{ feature: "GHOST" }] })],
    [
      "denials of a product that the desk did not sell there",
      (figures) => ({ ...figures, denied: [{ product: "ray", feature: null }] }),
    ],
    [
      "denials of an unknown feature",
      (figures) => ({ ...figures, denied: [{ product: "sim", feature: "GHOST" }] }),
    ],
  ])("that reports %s", async (_, changeFigures) => {
    const opened = await openSiteWithStatement();
    const changed = await signChanged(opened, opened.document, {}, changeFigures);
    expect(await refusedUnchanged(opened, changed)).toContain("did not issue");
  });

  test.each([
    ["a column of another length", { pools: [{ feature: null, peak: [1] }] }],
    ["a pool twice", { pools: [{ feature: null }, { feature: null }] }],
    ["a number below 0", { pools: [{ feature: null, peak: [1, -1, 0] }] }],
    ["an unknown member", { pools: [{ feature: null, user: "ada" }] }],
  ])("with figures that have %s", async (_, change) => {
    const opened = await openSiteWithStatement();
    const changed = await signChanged(opened, opened.document, {}, withLicense(change));
    expect(await refusedUnchanged(opened, changed)).toContain("is not a usage statement");
  });
});

describe("a site that restored a backup", () => {
  async function openRestoredSite() {
    const opened = await openSiteWithStatement();
    await opened.site.stop();
    const copy = join(tempFolder(), "copy");
    cpSync(opened.site.folder, copy, { recursive: true });
    const site = await openAppliance({ folder: opened.site.folder, licenses: {} });
    const clone = await openAppliance({ folder: copy, licenses: {} });
    return { ...opened, site, clone };
  }

  test("or a cloned machine is found when both report: the same number with another content", async () => {
    const { desk, folder, site, clone, document } = await openRestoredSite();
    await receive(desk, document);
    goTo(site, 5);
    goTo(clone, 6);
    await receive(desk, (await makeStatement(site)).document);
    const second = await makeStatement(clone);
    const message = await refusedUnchanged({ desk, folder }, second.document);
    expect(message).toContain("another statement 2 of this appliance was received on");
    expect(message).toContain("no restore is listed, so two machines may use the same key");
    expect(message).toContain("--accept-fork");
  });

  test("needs --accept-fork, whose reason is in the ledger; its chain then continues", async () => {
    const { desk, folder, site, clone, document } = await openRestoredSite();
    await receive(desk, document);
    goTo(site, 5);
    const replaced = await makeStatement(site);
    await receive(desk, replaced.document);
    goTo(site, 7);
    await receive(desk, (await makeStatement(site)).document);
    goTo(clone, 6);
    const second = await makeStatement(clone);
    await refusedUnchanged({ desk, folder }, second.document);
    const entry = await receive(desk, second.document, "the disk failed");
    expect(entry.accepted_fork).toBe("the disk failed");
    const options = { acceptForkReason: null, now: wallClock() };
    expect((await checkStatement(desk, replaced.document, options)).warnings).toEqual([
      "statement 2 is not counted: an accepted fork replaced it",
    ]);
    expect((await checkStatement(desk, second.document, options)).warnings).toEqual([]);
    goTo(clone, 8);
    await receive(desk, (await makeStatement(clone)).document);
    goTo(site, 9);
    expect(
      await refusedUnchanged({ desk, folder }, (await makeStatement(site)).document),
    ).toContain("continues another statement 3");
  });

  test("is found at its next request seen: the audit log became shorter", async () => {
    const { desk, folder, site, clone, document } = await openRestoredSite();
    await receive(desk, document);
    goTo(site, 4);
    for (let index = 0; index < 20; index += 1)
      await site.register({ user: `user ${index}`, product: "sim" });
    const request = await makeRequestFrom(site, "sim");
    await issueTestLicense(desk, request, { isNew: true });
    goTo(clone, 6);
    const message = await refusedUnchanged({ desk, folder }, (await makeStatement(clone)).document);
    expect(message).toContain("the audit log had");
  });
});

describe("a restore or move that a statement lists", () => {
  const restore = (lineage: string, more: object = {}) => ({
    lineage: lineage.repeat(32),
    at: "2026-03-06T10:00:00.000Z",
    seq: 3,
    replaced: null,
    ...more,
  });

  async function openSiteWithTwo() {
    const opened = await openSiteWithStatement();
    await receive(opened.desk, opened.document);
    goTo(opened.site, 5);
    const { document: second } = await makeStatement(opened.site);
    return { ...opened, second };
  }

  test("is a warning if the statement continues the one before", async () => {
    const opened = await openSiteWithTwo();
    const restores = [restore("a"), restore("b", { moved: true })];
    const document = await signChanged(opened, opened.second, { restores });
    const options = { acceptForkReason: null, now: atDay(90) };
    const { warnings } = await checkStatement(opened.desk, document, options);
    expect(warnings).toEqual([
      "the site restored a backup on 2026-03-06T10:00:00.000Z",
      "the site moved to another host on 2026-03-06T10:00:00.000Z",
    ]);
  });

  test("is named when the statement is a fork", async () => {
    const opened = await openSiteWithTwo();
    await receive(opened.desk, opened.second);
    const forked = await signChanged(opened, opened.second, { restores: [restore("a")] });
    const message = await refusedUnchanged(opened, forked);
    expect(message).toContain("the site restored a backup on 2026-03-06T10:00:00.000Z");
    expect(message).not.toContain("two machines");
  });

  test("must be in the next statement too", async () => {
    const opened = await openSiteWithTwo();
    const restored = await signChanged(opened, opened.second, { restores: [restore("a")] });
    const { digest } = await receive(opened.desk, restored);
    goTo(opened.site, 7);
    const { document } = await makeStatement(opened.site);
    const third = await signChanged(opened, document, { previous: digest });
    expect(await refusedUnchanged(opened, third)).toContain("it is from another copy");
  });

  test("of days that have not come is refused as a fork, so that the genuine one is accepted", async () => {
    const opened = await openSiteWithStatement();
    const ahead = "the statement is dated up to 2026-03-05, more than a day ahead of this desk's";
    const early = { acceptForkReason: null, now: atDay(1) };
    expect(checkStatement(opened.desk, opened.document, early)).rejects.toThrow(ahead);
    const accepted = { ...early, acceptForkReason: "the desk's clock is slow" };
    const checked = await checkStatement(opened.desk, opened.document, accepted);
    expect(checked.contradictions).toEqual([expect.stringContaining(ahead)]);
    expect((await receive(opened.desk, opened.document)).n).toBe(1);
  });
});

describe("mutated statements", () => {
  test("are refused, and change nothing", async () => {
    const opened = await openSiteWithStatement();
    const random = createRandom(1);
    const before = contentsOf(opened.folder);
    for (let index = 0; index < 500; index += 1) {
      const mutated = mutateDocument(opened.document, random);
      if (mutated === opened.document) continue;
      await refusal(receive(opened.desk, mutated));
    }
    expect(contentsOf(opened.folder)).toEqual(before);
  });
});

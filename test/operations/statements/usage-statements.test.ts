import { describe, expect, test } from "bun:test";
import { readUnverifiedPayload } from "../../../src/license/documents/document.ts";
import { usualRootFolder } from "../../../src/desk/desk.ts";
import { Root } from "../../../src/desk/root.ts";
import { later, MINUTE } from "../../../src/domain/time.ts";
import { realDisk } from "../../../src/platform/files/disk.ts";
import { openAppliance } from "../../support/appliance.ts";
import { unwrap } from "../../support/licensed-store.ts";
import {
  atDay,
  goTo,
  makeStatement,
  openReportingSite,
  readStatement,
  receive,
} from "../../support/reporting-site.ts";
import { signAcknowledgement } from "../../../src/license/documents/acknowledgement.ts";
import { answerRequest, createVendor, makeTrustDocument } from "../../support/vendor.ts";

const failure = async (attempt: Promise<{ ok: boolean; fault?: unknown }>): Promise<unknown> => {
  const result = await attempt;
  if (result.ok) throw new Error("the operation was not refused");
  return result.fault;
};

describe("a usage statement", () => {
  test("covers the whole days since the license was installed, and never the current day", async () => {
    const { site } = await openReportingSite();
    goTo(site, 3, 15);
    const { statement } = await readStatement((await makeStatement(site)).document);
    expect(statement).toMatchObject({ n: 1, previous: null, from: "2026-03-02", to: "2026-03-05" });
  });

  test("has the figures of each day", async () => {
    const { site, license } = await openReportingSite();
    await site.register({ user: "ada", product: "sim" });
    await site.register({ user: "bob#2", product: "sim" });
    await site.featureRegister({ user: "ada", product: "sim", feature: "MESH" });
    await site.addConsumption({ product: "sim", consumptions: 12, user: "ada" });
    goTo(site, 1, 23);
    await site.register({ user: "bob", product: "sim" });
    goTo(site, 1, 23.5);
    await site.register({ user: "bob", product: "sim" });
    goTo(site, 3, 1);
    const { figures } = await readStatement((await makeStatement(site)).document);
    expect(figures).toEqual({
      licenses: [
        {
          license_id: license,
          serial: 1,
          product: "sim",
          pools: [
            {
              feature: null,
              peak: [2, 1, 1],
              slot_minutes: [120, 60, 30],
              people: [2, 1, 1],
              consumption: [12, 0, 0],
              overage: [2, 0, 0],
            },
            { feature: "MESH", peak: [1, 0, 0], slot_minutes: [60, 0, 0], people: [1, 0, 0] },
          ],
        },
      ],
      denied: [],
    });
  });

  test("counts denied episodes by product and feature, also open ones", async () => {
    const { site } = await openReportingSite({ slots: 1 });
    for (const user of ["ada", "bob", "bob", "eve"]) await site.register({ user, product: "sim" });
    await site.stop();
    const reopened = await openAppliance({ folder: site.folder, licenses: {} });
    goTo(reopened, 1, 1);
    const { figures } = await readStatement((await makeStatement(reopened)).document);
    expect(figures.denied).toEqual([{ product: "sim", feature: null, episodes: [2] }]);
  });

  test("continues the one before, and the audit log is covered without a gap", async () => {
    const { site } = await openReportingSite();
    goTo(site, 2);
    const first = await makeStatement(site);
    goTo(site, 4);
    const second = await makeStatement(site);
    expect(second).toMatchObject({ n: 2, previous: first.digest, from: first.to });
    expect(second.auditFrom).toBe(first.auditTo + 1);
    const { statement } = await readStatement(second.document);
    expect(statement.audit).toEqual({
      from: second.auditFrom,
      to: second.auditTo,
      sum: second.auditSum,
    });
  });

  test("is the same, byte for byte, if no whole day has passed since, also after a restart", async () => {
    const { site } = await openReportingSite();
    goTo(site, 2);
    const first = await makeStatement(site);
    const again = await makeStatement(site);
    expect(again).toEqual({ ...first, isNew: false, unreportedDays: 0 });
    await site.stop();
    const reopened = await openAppliance({ folder: site.folder, licenses: {} });
    goTo(reopened, 2, 20);
    expect((await makeStatement(reopened)).document).toBe(first.document);
  });

  test("covers at most 31 days, and says how many are left", async () => {
    const { site } = await openReportingSite();
    goTo(site, 40);
    const first = await makeStatement(site);
    expect(first).toMatchObject({ to: atDay(31), unreportedDays: 9 });
    expect(await makeStatement(site)).toMatchObject({ n: 2, from: atDay(31), to: atDay(40) });
  });

  test("leaves a day out until five minutes after it ended", async () => {
    const { site } = await openReportingSite();
    site.clock.now = later(atDay(2), 5 * MINUTE - 1);
    expect((await makeStatement(site)).to).toBe(atDay(1));
    site.clock.now = later(atDay(2), 5 * MINUTE);
    expect((await makeStatement(site)).to).toBe(atDay(2));
  });

  test("writes the expiries that are due before it is made, at their true end", async () => {
    const { site } = await openReportingSite();
    await site.register({ user: "ada", product: "sim" });
    goTo(site, 2);
    const { auditTo } = await makeStatement(site);
    const page = unwrap(
      await site.services.auditLog.readPage({
        from: null,
        limit: 2,
        since: null,
        pick: ({ event, seq }) => ({ type: event.type, at: event.at, seq }),
      }),
    );
    expect(page.entries).toEqual([
      { type: "StatementMade", at: atDay(2, 9), seq: auditTo + 1 },
      { type: "SlotExpired", at: atDay(0, 10), seq: auditTo },
    ]);
  });
});

describe("a usage statement is refused", () => {
  test("before the first whole day of a license has ended", async () => {
    const { site } = await openReportingSite();
    expect(await failure(site.services.usageStatements.make(null, "test"))).toEqual({
      code: "statement_not_due",
      since: atDay(0),
    });
  });

  test("for a vendor that is not trusted", async () => {
    const { site } = await openReportingSite();
    goTo(site, 2);
    const written = site.lastSeq();
    expect(await failure(site.services.usageStatements.make("nobody", "test"))).toEqual({
      code: "unknown_vendor",
    });
    expect(site.lastSeq()).toBe(written);
  });

  test("for a trusted vendor without a license", async () => {
    const { site } = await openReportingSite();
    goTo(site, 2);
    expect(await failure(site.services.usageStatements.make("Initrode", "test"))).toEqual({
      code: "statement_not_due",
      since: null,
    });
  });

  test("on a host that the appliance was moved away from", async () => {
    const { site } = await openReportingSite();
    goTo(site, 2);
    unwrap(await site.services.hostMove.moveAway("test"));
    expect(await failure(site.services.usageStatements.make(null, "test"))).toEqual({
      code: "moved_away",
      at: site.clock.now,
    });
  });

  test("without a vendor if two vendors have licenses", async () => {
    const { site } = await openReportingSite();
    const document = await answerRequest(await site.makeRequestDocument(), 7, { product: "cad" });
    unwrap(await site.licensing.installLicense(document, "test"));
    goTo(site, 2);
    expect(await failure(site.services.usageStatements.make(null, "test"))).toEqual({
      code: "missing_parameters",
      fields: ["vendor"],
    });
  });
});

describe("the content of a usage statement", () => {
  const HOSTILE = ["p3rson", "h0stname", "10.99.88.77", "secretinfo", "othervendorproduct", "9717"];

  test("names no user, host or address, and no license of another vendor", async () => {
    const { site, desk } = await openReportingSite();
    const other = { product: "othervendorproduct", slots: 1 };
    unwrap(
      await site.vendorTrust.trustVendor(
        await makeTrustDocument({ products: ["othervendorproduct"], version: 2 }),
        "test",
      ),
    );
    const document = await answerRequest(await site.makeRequestDocument(), 9717, other);
    unwrap(await site.licensing.installLicense(document, "test"));
    const contact = { os_hostname: "h0stname", ip_local: "10.99.88.77", user_info: "secretinfo" };
    site.peer = "10.99.88.77";
    for (const product of ["sim", "othervendorproduct"]) {
      for (const user of ["p3rson", "p3rson-2", "p3rson-3", "p3rson-4"])
        await site.register({ user, product, ...contact });
      await site.addConsumption({ product, user: "p3rson", consumptions: 3 });
    }
    goTo(site, 2);
    const made = await makeStatement(site, desk.vendor.vendor);
    const { figures } = await readStatement(made.document);
    const payload = `${JSON.stringify(readUnverifiedPayload(made.document))}${JSON.stringify(figures)}`;
    for (const text of HOSTILE) expect(payload).not.toContain(text);
    expect(figures.licenses.map(({ product }) => product)).toEqual(["sim"]);
    expect(figures.licenses[0]?.pools[0]).toMatchObject({ people: [3, 0], consumption: [3, 0] });
  });
});

describe("an acknowledgement", () => {
  test("of a statement is accepted once, and an older one changes nothing", async () => {
    const { site, desk } = await openReportingSite();
    const { usageStatements } = site.services;
    goTo(site, 2);
    const first = await receive(desk, (await makeStatement(site)).document);
    goTo(site, 4);
    const second = await receive(desk, (await makeStatement(site)).document);
    const accepted = unwrap(await usageStatements.acknowledge(second.acknowledgement, "test"));
    expect(accepted).toMatchObject({ n: 2, isNew: true, newest: 2 });
    const written = site.lastSeq();
    for (const { acknowledgement, n } of [first, second]) {
      const again = unwrap(await usageStatements.acknowledge(acknowledgement, "test"));
      expect(again).toMatchObject({ n, isNew: false, newest: 2 });
    }
    expect(site.lastSeq()).toBe(written);
  });

  test("for another appliance is refused", async () => {
    const { site, desk, folder } = await openReportingSite();
    const other = await openReportingSite();
    const root = await Root.open(realDisk, usualRootFolder(folder), null);
    unwrap(
      await other.site.vendorTrust.trustVendor(
        (await root.signNext({ products: ["elsewhere"] })).trust.document,
        "test",
      ),
    );
    goTo(site, 2);
    const { acknowledgement } = await receive(desk, (await makeStatement(site)).document);
    const written = other.site.lastSeq();
    expect(
      await failure(other.site.services.usageStatements.acknowledge(acknowledgement, "test")),
    ).toMatchObject({ code: "acknowledgement_foreign" });
    expect(other.site.lastSeq()).toBe(written);
  });

  test("in the name of another trusted vendor is refused", async () => {
    const { site, desk } = await openReportingSite();
    const thief = await createVendor({ products: ["elsewhere"] });
    unwrap(await site.vendorTrust.trustVendor(thief.trust, "test"));
    goTo(site, 2);
    const { n, digest } = await makeStatement(site);
    const appliance = site.services.identity.id;
    const ack = { iss: desk.vendor.vendor, iat: 0, appliance, n, digest };
    const forged = await signAcknowledgement(ack, thief.issuing);
    expect(await failure(site.services.usageStatements.acknowledge(forged, "test"))).toEqual({
      code: "invalid_license_file",
      problem: { wrong: "content", expected: "ack" },
    });
  });

  test("of a vendor that is not trusted is refused", async () => {
    const { site, desk } = await openReportingSite();
    const other = await openReportingSite();
    goTo(site, 2);
    const { acknowledgement } = await receive(desk, (await makeStatement(site)).document);
    expect(
      await failure(other.site.services.usageStatements.acknowledge(acknowledgement, "test")),
    ).toEqual({ code: "acknowledgement_foreign", appliances: null });
  });
});

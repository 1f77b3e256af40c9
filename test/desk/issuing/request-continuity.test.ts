import { describe, expect, test } from "bun:test";
import type { LicenseRequest } from "../../../src/license/requests/request.ts";
import type { TermsDocument } from "../../../src/license/terms/terms.ts";
import { rfc3339 } from "../../../src/platform/rfc3339.ts";
import { findRequestWarnings } from "../../../src/desk/issuing/request-continuity.ts";
import { expectOk, openAppliance, type Appliance } from "../../support/appliance.ts";
import {
  issueTestLicense,
  openDeskAndSite,
  makeRequestFrom,
  type DeskAndSite,
} from "../../support/desk-and-site.ts";
import { hoursLater, MONDAY } from "../../support/scenario.ts";
import { copyFolder } from "../../support/temp-folder.ts";

type Consumption = NonNullable<TermsDocument["consumption"]>;

const CONSUMPTION: Consumption = { max: 1_000_000, overages: 0, negative: false, period: null };

interface ConsumingSite extends DeskAndSite {
  readonly license: number;
  /** The site's last request on the desk's ledger. */
  readonly seen: LicenseRequest;
}

const addConsumption = async (site: Appliance, consumptions: number): Promise<void> => {
  expectOk(await site.addConsumption({ product: "sim", consumptions: String(consumptions) }));
};

/** A site whose license had a total of 80 at the last request that the desk saw. */
async function openConsumingSite(consumption: Consumption = CONSUMPTION): Promise<ConsumingSite> {
  const deskAndSite = await openDeskAndSite();
  const { desk, site } = deskAndSite;
  const { document, license_id } = await issueTestLicense(desk, await makeRequestFrom(site), {
    terms: { consumption },
  });
  expectOk(await site.upload(document));
  await addConsumption(site, 80);
  const seen = await makeRequestFrom(site);
  await issueTestLicense(desk, seen);
  return { ...deskAndSite, license: license_id, seen };
}

const at = (time: number): string => rfc3339(time as typeof MONDAY);

/** The same request with more lines in the audit log, and with another total. */
const editRequest = (
  request: LicenseRequest,
  lines: number,
  total: number | null = null,
): LicenseRequest => {
  const seq = request.audit.seq + lines;
  const [newest] = request.heads.slice(-1).map((head) => ({ ...head, audit_seq: seq }));
  return {
    ...request,
    audit: { ...request.audit, seq },
    heads: [...request.heads.slice(0, -1), ...(newest === undefined ? [] : [newest])],
    licenses: request.licenses.map((license) => ({
      ...license,
      total_consumptions: total ?? license.total_consumptions,
    })),
  };
};

describe("findRequestWarnings for a request that continues the one before", () => {
  test("finds nothing, before and after the answer", async () => {
    const { desk, site } = await openConsumingSite();
    await addConsumption(site, 5);
    site.clock.now = hoursLater(5);
    const request = await makeRequestFrom(site);
    expect(findRequestWarnings(desk, request, hoursLater(6))).toEqual([]);
    await issueTestLicense(desk, request, { now: hoursLater(6) });
    expect(findRequestWarnings(desk, request, hoursLater(6))).toEqual([]);
  });

  test("finds nothing for a lower total that resets or may be reduced", async () => {
    for (const more of [{ period: "daily" }, { negative: true }] as const) {
      const { desk, site } = await openConsumingSite({ ...CONSUMPTION, ...more });
      const request = editRequest(await makeRequestFrom(site), 3, 10);
      expect(findRequestWarnings(desk, request, MONDAY)).toEqual([]);
    }
  });

  test("ignores the totals of another vendor's licenses", async () => {
    const { desk, site } = await openConsumingSite();
    const request = editRequest(await makeRequestFrom(site), 3, 10);
    const licenses = request.licenses.map((license) => ({
      ...license,
      vendor: "ANOTHERVENDOR000",
    }));
    expect(findRequestWarnings(desk, { ...request, licenses }, MONDAY)).toEqual([]);
  });

  test("finds nothing for a first request", async () => {
    const { desk, site } = await openDeskAndSite();
    expect(findRequestWarnings(desk, await makeRequestFrom(site), MONDAY)).toEqual([]);
  });
});

describe("a request from a restored copy of the site", () => {
  /** A copy of the site from before its last request, with that request's head inserted. */
  async function restoreForgedCopy() {
    const { desk, site } = await openDeskAndSite();
    const first = await issueTestLicense(desk, await makeRequestFrom(site), {
      terms: { consumption: CONSUMPTION },
    });
    expectOk(await site.upload(first.document));
    const copy = copyFolder(site.folder);
    for (let times = 0; times < 8; times += 1) await addConsumption(site, 10);
    const seen = await makeRequestFrom(site);
    await issueTestLicense(desk, seen);
    const clone = await openAppliance({ folder: copy, licenses: {} });
    // In the right position, as an attacker would who knows the desk's checks.
    const insertHead = (request: LicenseRequest): LicenseRequest => ({
      ...request,
      heads: [
        ...request.heads.filter(({ audit_seq }) => audit_seq !== seen.audit.seq),
        ...seen.heads.slice(-1),
      ].toSorted((a, b) => a.audit_seq - b.audit_seq),
    });
    return { desk, clone, insertHead, seen, license: first.license_id };
  }

  test("is refused if its audit log is shorter than at the last request seen", async () => {
    const { desk, clone, insertHead, seen } = await restoreForgedCopy();
    const request = insertHead(await makeRequestFrom(clone));
    expect(request.audit.seq).toBeLessThan(seen.audit.seq);
    const answer = issueTestLicense(desk, request);
    expect(answer).rejects.toThrow("does not continue the last one seen");
    await answer.catch(() => null);
    await issueTestLicense(desk, request, { acceptForkReason: "a copy of Monday" });
  });

  test("gets a warning about the total if its audit log is longer by now", async () => {
    const { desk, clone, insertHead, seen, license } = await restoreForgedCopy();
    while ((await makeRequestFrom(clone)).audit.seq <= seen.audit.seq)
      await addConsumption(clone, 1);
    const request = insertHead(await makeRequestFrom(clone));
    const [warning, ...more] = findRequestWarnings(desk, request, MONDAY);
    expect(more).toEqual([]);
    expect(warning).toMatch(
      new RegExp(
        `^license ${license}: the consumption was 80 at the last request seen and is only \\d now`,
      ),
    );
    await issueTestLicense(desk, request);
  });
});

describe("issueLicense refuses a request", () => {
  test("whose audit log did not grow since the last request seen", async () => {
    const { desk, site, seen } = await openConsumingSite();
    const request = await makeRequestFrom(site);
    const unchanged = editRequest(request, seen.audit.seq - request.audit.seq);
    expect(issueTestLicense(desk, unchanged)).rejects.toThrow(
      "does not continue the last one seen",
    );
  });

  test("whose earlier requests are not in order", async () => {
    const { desk, site } = await openConsumingSite();
    const request = await makeRequestFrom(site);
    const heads = [...request.heads.slice(0, -1).toReversed(), ...request.heads.slice(-1)];
    expect(issueTestLicense(desk, { ...request, heads })).rejects.toThrow("does not continue");
    const audit = { ...request.audit, seq: request.audit.seq + 9_000 };
    expect(issueTestLicense(desk, { ...request, audit })).rejects.toThrow("does not continue");
  });
});

describe("findRequestWarnings warns", () => {
  test("if a total is lower than before, unless the license was returned in between", async () => {
    const { desk, site, license } = await openConsumingSite();
    const request = editRequest(await makeRequestFrom(site), 3, 10);
    expect(findRequestWarnings(desk, request, MONDAY)).toEqual([
      `license ${license}: the consumption was 80 at the last request seen and is only 10 now; an old copy may have been restored`,
    ]);
    const receipt = { license_id: license, serial: 1, total_consumptions: 80, borrows: 0 };
    const { appliance } = request;
    const dates = { at: at(MONDAY), removed_at: at(MONDAY) };
    await desk.ledger.transact((append) =>
      append({ type: "received", ...dates, appliance, ...receipt }),
    );
    const licenses = request.licenses.map((entry) => ({ ...entry, serial: 2 }));
    expect(findRequestWarnings(desk, { ...request, licenses }, MONDAY)).toEqual([]);
  });

  test("if a total grew but the audit log has no line for it", async () => {
    const { desk, site } = await openConsumingSite();
    const request = await makeRequestFrom(site);
    expect(findRequestWarnings(desk, editRequest(request, 0, 90), MONDAY)).toEqual([
      "the consumption grew since the last request seen, but the audit log has no line for it",
    ]);
    expect(findRequestWarnings(desk, editRequest(request, 1, 90), MONDAY)).toEqual([]);
  });

  test("if a request is dated more than a day ahead of the desk, and not at one day", async () => {
    const { desk, site } = await openConsumingSite();
    const dated = { ...(await makeRequestFrom(site)), created_at: at(hoursLater(24)) };
    expect(findRequestWarnings(desk, dated, MONDAY)).toEqual([]);
    const ahead = { ...dated, created_at: at(hoursLater(24) + 1) };
    expect(findRequestWarnings(desk, ahead, MONDAY)).toEqual([
      `the request is dated ${at(hoursLater(24) + 1)}, more than a day ahead of this desk's clock`,
    ]);
    expect(findRequestWarnings(desk, { ...dated, created_at: "soon" }, MONDAY)).toEqual([
      "the request has no creation time",
    ]);
  });

  test("if a request is dated before the last request seen", async () => {
    const { desk, site, seen } = await openConsumingSite();
    const dated = { ...(await makeRequestFrom(site)), created_at: at(MONDAY - 1) };
    expect(findRequestWarnings(desk, dated, MONDAY)).toEqual([
      `the request is dated ${at(MONDAY - 1)}, before the last request seen (${seen.created_at})`,
    ]);
  });

  test("if the audit log or a total grew ten times slower than before", async () => {
    const { desk, site, license } = await openConsumingSite();
    const day = (count: number) => hoursLater(24 * count);
    const busy = {
      ...editRequest(await makeRequestFrom(site), 1_000, 2_080),
      created_at: at(day(10)),
    };
    expect(findRequestWarnings(desk, busy, day(10))).toEqual([]);
    await issueTestLicense(desk, busy, { now: day(10) });
    const next = await makeRequestFrom(site);
    const heads = [...next.heads.slice(0, -2), ...busy.heads.slice(-1), ...next.heads.slice(-1)];
    const after = (lines: number, total: number): LicenseRequest => ({
      ...editRequest({ ...next, heads }, busy.audit.seq - next.audit.seq + lines, total),
      created_at: at(day(20)),
    });
    expect(findRequestWarnings(desk, after(110, 2_290), day(20))).toEqual([]);
    expect(findRequestWarnings(desk, after(90, 2_290), day(20))).toEqual([
      "the audit log grew by 90 lines in 10 days and by 1001 in the 10 days before; an old copy may have been restored",
    ]);
    expect(findRequestWarnings(desk, after(110, 2_090), day(20))).toEqual([
      `license ${license}: the consumption grew by 10 in 10 days and by 2000 in the 10 days before; an old copy may have been restored`,
    ]);
    // Less than a day is too short to compare.
    const soon = { ...after(90, 2_081), created_at: at(hoursLater(241)) };
    expect(findRequestWarnings(desk, soon, day(20))).toEqual([]);
  });
});

import { describe, expect, test } from "bun:test";
import type { LicenseRequest } from "../../src/license/request.ts";
import type { TermsDocument } from "../../src/license/terms.ts";
import { rfc3339 } from "../../src/platform/rfc3339.ts";
import { findRequestWarnings } from "../../src/desk/request-continuity.ts";
import { expectOk, openAppliance, type Appliance } from "../support/appliance.ts";
import {
  issueTestLicense,
  openDeskAndSite,
  makeRequestFrom,
  type DeskAndSite,
} from "../support/desk-and-site.ts";
import { hoursLater, MONDAY } from "../support/scenario.ts";
import { copyFolder } from "../support/temp-folder.ts";

type Consumption = NonNullable<TermsDocument["consumption"]>;

const COUNTED: Consumption = { max: 1_000_000, overages: 0, negative: false, period: null };

interface Counting extends DeskAndSite {
  readonly license: number;
  /** The request that is on the desk's ledger. */
  readonly seen: LicenseRequest;
}

const counted = async (site: Appliance, consumptions: number): Promise<void> => {
  expectOk(await site.addConsumption({ product: "sim", consumptions: String(consumptions) }));
};

/** A site on whose license 80 were counted when the desk saw its last request. */
async function countingSite(consumption: Consumption = COUNTED): Promise<Counting> {
  const dealing = await openDeskAndSite();
  const { desk, site } = dealing;
  const { document, license_id } = await issueTestLicense(desk, await makeRequestFrom(site), {
    terms: { consumption },
  });
  expectOk(await site.upload(document));
  await counted(site, 80);
  const seen = await makeRequestFrom(site);
  await issueTestLicense(desk, seen);
  return { ...dealing, license: license_id, seen };
}

const at = (moment: number): string => rfc3339(moment as typeof MONDAY);

/** The same request as if more lines were on record, and another total. */
const edited = (
  request: LicenseRequest,
  lines: number,
  total: number | null = null,
): LicenseRequest => {
  const seq = request.audit.seq + lines;
  const [own] = request.heads.slice(-1).map((head) => ({ ...head, audit_seq: seq }));
  return {
    ...request,
    audit: { ...request.audit, seq },
    heads: [...request.heads.slice(0, -1), ...(own === undefined ? [] : [own])],
    licenses: request.licenses.map((license) => ({
      ...license,
      total_consumptions: total ?? license.total_consumptions,
    })),
  };
};

describe("a request that continues the one before", () => {
  test("is not warned about", async () => {
    const { desk, site } = await countingSite();
    await counted(site, 5);
    site.clock.now = hoursLater(5);
    const request = await makeRequestFrom(site);
    expect(findRequestWarnings(desk, request, hoursLater(6))).toEqual([]);
    await issueTestLicense(desk, request, { now: hoursLater(6) });
    expect(findRequestWarnings(desk, request, hoursLater(6))).toEqual([]);
  });

  test("is not warned about for a total that resets or may be counted down", async () => {
    for (const more of [{ period: "daily" }, { negative: true }] as const) {
      const { desk, site } = await countingSite({ ...COUNTED, ...more });
      const request = edited(await makeRequestFrom(site), 3, 10);
      expect(findRequestWarnings(desk, request, MONDAY)).toEqual([]);
    }
  });

  test("is not warned about for what another vendor's license counted", async () => {
    const { desk, site } = await countingSite();
    const request = edited(await makeRequestFrom(site), 3, 10);
    const licenses = request.licenses.map((license) => ({
      ...license,
      vendor: "ANOTHERVENDOR000",
    }));
    expect(findRequestWarnings(desk, { ...request, licenses }, MONDAY)).toEqual([]);
  });

  test("is compared with nothing when it is the first, or the ledger is older", async () => {
    const { desk, site } = await openDeskAndSite();
    const request = await makeRequestFrom(site);
    expect(findRequestWarnings(desk, request, MONDAY)).toEqual([]);
    const { appliance, request_id, audit } = request;
    const old = { type: "seen", at: at(MONDAY), appliance, request_id } as const;
    await desk.ledger.append({ ...old, audit_seq: audit.seq, sum: audit.sum });
    expect(findRequestWarnings(desk, await makeRequestFrom(site), MONDAY)).toEqual([]);
  });
});

describe("a request of a copy that was brought back", () => {
  /** A copy of the site as it was before the last request, with that request's head pasted in. */
  async function grafted() {
    const dealing = await openDeskAndSite();
    const { desk, site } = dealing;
    const first = await issueTestLicense(desk, await makeRequestFrom(site), {
      terms: { consumption: COUNTED },
    });
    expectOk(await site.upload(first.document));
    const copy = copyFolder(site.folder);
    for (let times = 0; times < 8; times += 1) await counted(site, 10);
    const seen = await makeRequestFrom(site);
    await issueTestLicense(desk, seen);
    const clone = await openAppliance({ folder: copy, licenses: {} });
    // Where it belongs, as somebody would who knows what the desk looks at.
    const graft = (request: LicenseRequest): LicenseRequest => ({
      ...request,
      heads: [
        ...request.heads.filter(({ audit_seq }) => audit_seq !== seen.audit.seq),
        ...seen.heads.slice(-1),
      ].toSorted((a, b) => a.audit_seq - b.audit_seq),
    });
    return { desk, clone, graft, seen, license: first.license_id };
  }

  test("is refused where its record is shorter than at the request seen last", async () => {
    const { desk, clone, graft, seen } = await grafted();
    const request = graft(await makeRequestFrom(clone));
    expect(request.audit.seq).toBeLessThan(seen.audit.seq);
    const answer = issueTestLicense(desk, request);
    expect(answer).rejects.toThrow("does not continue the last one seen");
    await answer.catch(() => null);
    await issueTestLicense(desk, request, { acceptForkReason: "a copy of Monday" });
  });

  test("is warned about where the record is longer by now, for what was counted", async () => {
    const { desk, clone, graft, seen, license } = await grafted();
    while ((await makeRequestFrom(clone)).audit.seq <= seen.audit.seq) await counted(clone, 1);
    const request = graft(await makeRequestFrom(clone));
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

describe("a request is refused", () => {
  test("where its record stands where it stood at the request seen last", async () => {
    const { desk, site, seen } = await countingSite();
    const request = await makeRequestFrom(site);
    const still = edited(request, seen.audit.seq - request.audit.seq);
    expect(issueTestLicense(desk, still)).rejects.toThrow("does not continue the last one seen");
  });

  test("where its earlier requests are not in order", async () => {
    const { desk, site } = await countingSite();
    const request = await makeRequestFrom(site);
    const heads = [...request.heads.slice(0, -1).toReversed(), ...request.heads.slice(-1)];
    expect(issueTestLicense(desk, { ...request, heads })).rejects.toThrow("does not continue");
    const own = { ...request.audit, seq: request.audit.seq + 9_000 };
    expect(issueTestLicense(desk, { ...request, audit: own })).rejects.toThrow("does not continue");
  });
});

describe("a request is warned about", () => {
  test("when a total fell, unless the license was given back in between", async () => {
    const { desk, site, license } = await countingSite();
    const request = edited(await makeRequestFrom(site), 3, 10);
    expect(findRequestWarnings(desk, request, MONDAY)).toEqual([
      `license ${license}: the consumption was 80 at the last request seen and is only 10 now; an old copy may have been restored`,
    ]);
    const back = { license_id: license, serial: 1, total_consumptions: 80 };
    const { appliance } = request;
    await desk.ledger.append({ type: "received", at: at(MONDAY), appliance, ...back });
    const licenses = request.licenses.map((one) => ({ ...one, serial: 2 }));
    expect(findRequestWarnings(desk, { ...request, licenses }, MONDAY)).toEqual([]);
  });

  test("when more was counted than the record has lines for", async () => {
    const { desk, site } = await countingSite();
    const request = await makeRequestFrom(site);
    expect(findRequestWarnings(desk, edited(request, 0, 90), MONDAY)).toEqual([
      "the consumption grew since the last request seen, but the audit log has no line for it",
    ]);
    expect(findRequestWarnings(desk, edited(request, 1, 90), MONDAY)).toEqual([]);
  });

  test("when it is dated more than a day ahead of the desk", async () => {
    const { desk, site } = await countingSite();
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

  test("when it is dated before the last request seen", async () => {
    const { desk, site, seen } = await countingSite();
    const dated = { ...(await makeRequestFrom(site)), created_at: at(MONDAY - 1) };
    expect(findRequestWarnings(desk, dated, MONDAY)).toEqual([
      `the request is dated ${at(MONDAY - 1)}, before the last request seen (${seen.created_at})`,
    ]);
  });

  test("when the record or a total grew ten times slower than before", async () => {
    const { desk, site, license } = await countingSite();
    const day = (count: number) => hoursLater(24 * count);
    const busy = { ...edited(await makeRequestFrom(site), 1_000, 2_080), created_at: at(day(10)) };
    expect(findRequestWarnings(desk, busy, day(10))).toEqual([]);
    await issueTestLicense(desk, busy, { now: day(10) });
    const next = await makeRequestFrom(site);
    const heads = [...next.heads.slice(0, -2), ...busy.heads.slice(-1), ...next.heads.slice(-1)];
    const after = (lines: number, total: number): LicenseRequest => ({
      ...edited({ ...next, heads }, busy.audit.seq - next.audit.seq + lines, total),
      created_at: at(day(20)),
    });
    expect(findRequestWarnings(desk, after(110, 2_290), day(20))).toEqual([]);
    expect(findRequestWarnings(desk, after(90, 2_290), day(20))).toEqual([
      "the audit log grew by 90 lines in 10 days and by 1001 in the 10 days before; an old copy may have been restored",
    ]);
    expect(findRequestWarnings(desk, after(110, 2_090), day(20))).toEqual([
      `license ${license}: the consumption grew by 10 in 10 days and by 2000 in the 10 days before; an old copy may have been restored`,
    ]);
    // What takes less than a day tells nothing.
    const soon = { ...after(90, 2_081), created_at: at(hoursLater(241)) };
    expect(findRequestWarnings(desk, soon, day(20))).toEqual([]);
  });
});

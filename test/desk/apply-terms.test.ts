import { describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { TermsDocument } from "../../src/license/terms.ts";
import { realDisk } from "../../src/platform/disk.ts";
import { Desk } from "../../src/desk/desk.ts";
import { DeskRefused } from "../../src/desk/desk-refused.ts";
import { expectOk } from "../support/appliance.ts";
import { issueTestLicense, openDeskAndSite, makeRequestFrom } from "../support/desk-and-site.ts";

type Feature = TermsDocument["features"][number];

const feature = (code: string, differing: Partial<Feature> = {}): Feature => ({
  code,
  name: code,
  metadata: null,
  expires: null,
  floating: null,
  consumption: null,
  ...differing,
});

const counting = { max: 1_000, overages: 50, negative: true, period: "monthly" } as const;
const MESH = feature("MESH", {
  name: "Meshing",
  metadata: "tier 2",
  expires: "2029-01-01T00:00:00.000Z",
  floating: { slots: 2, timeout_minutes: 30 },
});
const EXPORT = feature("EXPORT", { consumption: { ...counting, max: 100 } });
const SOLD: Partial<TermsDocument> = {
  slots: 5,
  timeout_minutes: 30,
  customer: "Initech",
  consumption: counting,
  features: [MESH, EXPORT, feature("PRO")],
};

async function sold() {
  const { desk, folder, site } = await openDeskAndSite();
  const first = await issueTestLicense(desk, await makeRequestFrom(site), { terms: SOLD });
  return { desk, folder, site, first, renew: first.license_id };
}

async function refusal(act: Promise<unknown>): Promise<string> {
  const error: unknown = await act.then(
    () => null,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(DeskRefused);
  return error instanceof DeskRefused ? `${error.message}; ${error.hint}` : "";
}

describe("a renewal of the ledger's license", () => {
  test("keeps overages, negative and period when only the count is given", async () => {
    const { desk, renew, first } = await sold();
    const { terms } = await issueTestLicense(desk, null, {
      renewLicenseId: renew,
      terms: { consumption: { max: 2_000 } },
    });
    expect(terms).toEqual({ ...first.terms, consumption: { ...counting, max: 2_000 } });
  });

  test("keeps the count when only the overages are given", async () => {
    const { desk, renew } = await sold();
    const { terms } = await issueTestLicense(desk, null, {
      renewLicenseId: renew,
      terms: { consumption: { overages: 0 } },
    });
    expect(terms.consumption).toEqual({ ...counting, overages: 0 });
  });

  test("keeps the features that are not given, and of one given what is not given", async () => {
    const { desk, renew, first } = await sold();
    const features = [{ code: "MESH", floating: { slots: 4 } }];
    const { terms } = await issueTestLicense(desk, null, {
      renewLicenseId: renew,
      terms: { features },
    });
    const mesh = { ...MESH, floating: { slots: 4, timeout_minutes: 30 } };
    expect(terms).toEqual({ ...first.terms, features: [mesh, EXPORT, feature("PRO")] });
  });

  test("keeps a feature's overages and period when only its count is given", async () => {
    const { desk, renew } = await sold();
    const features = [{ code: "EXPORT", consumption: { max: 500 } }];
    const { terms } = await issueTestLicense(desk, null, {
      renewLicenseId: renew,
      terms: { features },
    });
    expect(terms.features[1]).toEqual({ ...EXPORT, consumption: { ...counting, max: 500 } });
  });

  test("gets a new feature after those that it has", async () => {
    const { desk, renew } = await sold();
    const features = [{ code: "NEW", floating: { slots: 1 } }];
    const { terms } = await issueTestLicense(desk, null, {
      renewLicenseId: renew,
      terms: { features },
    });
    const added = feature("NEW", { floating: { slots: 1, timeout_minutes: 15 } });
    expect(terms.features).toEqual([MESH, EXPORT, feature("PRO"), added]);
  });

  test("loses exactly the features that are taken away", async () => {
    const { desk, renew } = await sold();
    const taken = { without: ["EXPORT", "PRO"] };
    const { terms } = await issueTestLicense(desk, null, { renewLicenseId: renew, terms: taken });
    expect(terms.features).toEqual([MESH]);
  });

  test("is refused for a feature to take away that it does not have", async () => {
    const { desk, renew } = await sold();
    const reason = await refusal(
      issueTestLicense(desk, null, { renewLicenseId: renew, terms: { without: ["EXPRT"] } }),
    );
    expect(reason).toContain("no feature EXPRT");
    expect(reason).toContain("MESH, EXPORT, PRO");
    expect(desk.ledger.issuedEntries()).toHaveLength(1);
  });

  test("loses what is set to null", async () => {
    const { desk, renew } = await sold();
    const features = [{ code: "MESH", expires: null, floating: null, metadata: null }];
    const unset = { customer: null, consumption: null, features };
    const { terms } = await issueTestLicense(desk, null, { renewLicenseId: renew, terms: unset });
    expect(terms).toMatchObject({ customer: null, consumption: null });
    expect(terms.features[0]).toEqual(feature("MESH", { name: "Meshing" }));
  });

  test("is refused for another product, which the site would not take", async () => {
    const { desk, renew } = await sold();
    const reason = await refusal(
      issueTestLicense(desk, null, { renewLicenseId: renew, terms: { product: "ray" } }),
    );
    expect(reason).toContain("is for sim, not for ray");
  });
});

test("a license on a ledger line that lacks a term is renewed with that term's default", async () => {
  const { folder, first } = await sold();
  const { move_grace_hours: _, ...older } = first.terms;
  const line = JSON.stringify({ ...first, terms: older });
  writeFileSync(join(folder, "ledger.jsonl"), `${line}\n`);
  realDisk.remove(join(folder, "ledger.head"));
  const opened = await Desk.open(realDisk, folder, null);
  const { terms } = await issueTestLicense(opened, null, {
    renewLicenseId: first.license_id,
    terms: { slots: 6 },
  });
  expect(terms).toEqual({ ...first.terms, slots: 6 });
});

describe("an answer to a request that renews", () => {
  test("keeps what was sold, as a renewal of the ledger's license does", async () => {
    const { desk, site, first } = await sold();
    const features = [{ code: "MESH", floating: { slots: 4 } }];
    const terms = { consumption: { max: 9 }, features, without: ["PRO"] };
    const request = await makeRequestFrom(site);
    const second = await issueTestLicense(desk, request, { terms });
    const mesh = { ...MESH, floating: { slots: 4, timeout_minutes: 30 } };
    const consumption = { ...counting, max: 9 };
    expect(second.terms).toEqual({ ...first.terms, consumption, features: [mesh, EXPORT] });
    // Asked again, nothing is left to take away, and the answer is the same one.
    expect((await issueTestLicense(desk, request, { terms })).document).toBe(second.document);
  });

  test("stays the same one when what it took away was named by a file as well", async () => {
    const { desk, site } = await openDeskAndSite();
    const request = await makeRequestFrom(site);
    const terms = { features: [{ code: "MESH" }, { code: "PRO" }], without: ["PRO"] };
    const first = await issueTestLicense(desk, request, { terms });
    expect(first.terms.features.map(({ code }) => code)).toEqual(["MESH"]);
    expect((await issueTestLicense(desk, request, { terms })).document).toBe(first.document);
  });

  test("stays the same one after a later renewal with other terms", async () => {
    const { desk, site, renew } = await sold();
    const request = await makeRequestFrom(site);
    const second = await issueTestLicense(desk, request, { terms: { slots: 9 } });
    await issueTestLicense(desk, null, {
      renewLicenseId: renew,
      terms: { slots: 7, timeout_minutes: 99 },
    });
    const again = await issueTestLicense(desk, request, { terms: { slots: 9 } });
    expect(again.document).toBe(second.document);
  });
});

describe("a new license", () => {
  test("is as large as a site takes, and is refused when it would be larger", async () => {
    const { desk, site } = await openDeskAndSite();
    const metadata = "m".repeat(4_000);
    const features = (count: number) =>
      Array.from({ length: count }, (_, place) => ({ code: `F${place}`, metadata }));
    const request = await makeRequestFrom(site);
    const large = issueTestLicense(desk, request, { terms: { features: features(9) } });
    expect(await refusal(large)).toMatch(/the terms have \d+ bytes, but a license holds at most/);
    const rest = { code: "REST", metadata: "m".repeat(1_200) };
    const most = { features: [...features(8), rest] };
    expectOk(await site.upload((await issueTestLicense(desk, request, { terms: most })).document));
  });

  test.each([
    ["overages", { consumption: { overages: 5 } }, "consumptions"],
    ["a period", { consumption: { period: "monthly" } }, "consumptions"],
    ["a feature's timeout", { features: [{ code: "A", floating: { timeout_minutes: 5 } }] }, "A"],
    ["a feature's overages", { features: [{ code: "A", consumption: { overages: 5 } }] }, "A"],
  ] as const)("is refused for %s of nothing", async (_what, terms, named) => {
    const { desk, site } = await openDeskAndSite();
    const reason = await refusal(issueTestLicense(desk, await makeRequestFrom(site), { terms }));
    expect(reason).toContain(named);
    expect(desk.ledger.issuedEntries()).toEqual([]);
  });
});

import { describe, expect, test } from "bun:test";
import type { TermsDocument } from "../../../src/license/terms/terms.ts";
import { expectOk } from "../../support/appliance.ts";
import { issueTestLicense, openDeskAndSite, makeRequestFrom } from "../../support/desk-and-site.ts";
import { refusal } from "../../support/desk-refusal.ts";

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

const CONSUMPTION = { max: 1_000, overages: 50, negative: true, period: "monthly" } as const;
const MESH = feature("MESH", {
  name: "Meshing",
  metadata: "tier 2",
  expires: "2029-01-01T00:00:00.000Z",
  floating: { slots: 2, timeout_minutes: 30 },
});
const EXPORT = feature("EXPORT", { consumption: { ...CONSUMPTION, max: 100 } });
const TERMS: Partial<TermsDocument> = {
  slots: 5,
  timeout_minutes: 30,
  customer: "Initech",
  consumption: CONSUMPTION,
  features: [MESH, EXPORT, feature("PRO")],
};

async function issueFirstLicense() {
  const { desk, folder, site } = await openDeskAndSite();
  const first = await issueTestLicense(desk, await makeRequestFrom(site), { terms: TERMS });
  return { desk, folder, site, first, renew: first.license_id };
}

describe("a renewal from the ledger", () => {
  test("keeps overages, negative and period if only the maximum changes", async () => {
    const { desk, renew, first } = await issueFirstLicense();
    const { terms } = await issueTestLicense(desk, null, {
      renewLicenseId: renew,
      terms: { consumption: { max: 2_000 } },
    });
    expect(terms).toEqual({ ...first.terms, consumption: { ...CONSUMPTION, max: 2_000 } });
  });

  test("keeps the maximum if only the overages change", async () => {
    const { desk, renew } = await issueFirstLicense();
    const { terms } = await issueTestLicense(desk, null, {
      renewLicenseId: renew,
      terms: { consumption: { overages: 0 } },
    });
    expect(terms.consumption).toEqual({ ...CONSUMPTION, overages: 0 });
  });

  test("keeps features that are not named, and the unnamed settings of one that is", async () => {
    const { desk, renew, first } = await issueFirstLicense();
    const features = [{ code: "MESH", floating: { slots: 4 } }];
    const { terms } = await issueTestLicense(desk, null, {
      renewLicenseId: renew,
      terms: { features },
    });
    const mesh = { ...MESH, floating: { slots: 4, timeout_minutes: 30 } };
    expect(terms).toEqual({ ...first.terms, features: [mesh, EXPORT, feature("PRO")] });
  });

  test("keeps a feature's overages and period if only its maximum changes", async () => {
    const { desk, renew } = await issueFirstLicense();
    const features = [{ code: "EXPORT", consumption: { max: 500 } }];
    const { terms } = await issueTestLicense(desk, null, {
      renewLicenseId: renew,
      terms: { features },
    });
    expect(terms.features[1]).toEqual({ ...EXPORT, consumption: { ...CONSUMPTION, max: 500 } });
  });

  test("adds a new feature after the existing ones", async () => {
    const { desk, renew } = await issueFirstLicense();
    const features = [{ code: "NEW", floating: { slots: 1 } }];
    const { terms } = await issueTestLicense(desk, null, {
      renewLicenseId: renew,
      terms: { features },
    });
    const added = feature("NEW", { floating: { slots: 1, timeout_minutes: 15 } });
    expect(terms.features).toEqual([MESH, EXPORT, feature("PRO"), added]);
  });

  test("removes exactly the features named by without", async () => {
    const { desk, renew } = await issueFirstLicense();
    const changes = { without: ["EXPORT", "PRO"] };
    const { terms } = await issueTestLicense(desk, null, { renewLicenseId: renew, terms: changes });
    expect(terms.features).toEqual([MESH]);
  });

  test("is refused if it removes a feature that the license does not have", async () => {
    const { desk, renew } = await issueFirstLicense();
    const reason = await refusal(
      issueTestLicense(desk, null, { renewLicenseId: renew, terms: { without: ["EXPRT"] } }),
    );
    expect(reason).toContain("no feature EXPRT");
    expect(reason).toContain("MESH, EXPORT, PRO");
    expect(desk.ledger.issuedEntries()).toHaveLength(1);
  });

  test("removes every term that is set to null", async () => {
    const { desk, renew } = await issueFirstLicense();
    const features = [{ code: "MESH", expires: null, floating: null, metadata: null }];
    const changes = { customer: null, consumption: null, features };
    const { terms } = await issueTestLicense(desk, null, { renewLicenseId: renew, terms: changes });
    expect(terms).toMatchObject({ customer: null, consumption: null });
    expect(terms.features[0]).toEqual(feature("MESH", { name: "Meshing" }));
  });

  test("is refused for another product", async () => {
    const { desk, renew } = await issueFirstLicense();
    const reason = await refusal(
      issueTestLicense(desk, null, { renewLicenseId: renew, terms: { product: "ray" } }),
    );
    expect(reason).toContain("is for sim, not for ray");
  });
});

describe.each(["report_every_days", "restore_grace_hours"] as const)("%s", (name) => {
  test("is left out of a license unless it is set", async () => {
    const { first } = await issueFirstLicense();
    expect(first.terms).not.toHaveProperty(name);
  });

  test("stays in a renewal, and null removes it", async () => {
    const { desk, renew } = await issueFirstLicense();
    const issue = (terms: object) => issueTestLicense(desk, null, { renewLicenseId: renew, terms });
    expect((await issue({ [name]: 30 })).terms[name]).toBe(30);
    expect((await issue({ slots: 6 })).terms[name]).toBe(30);
    expect((await issue({ [name]: null })).terms).not.toHaveProperty(name);
  });
});

describe("a renewal that answers a request", () => {
  test("keeps the earlier terms, as a renewal from the ledger does", async () => {
    const { desk, site, first } = await issueFirstLicense();
    const features = [{ code: "MESH", floating: { slots: 4 } }];
    const terms = { consumption: { max: 9 }, features, without: ["PRO"] };
    const request = await makeRequestFrom(site);
    const second = await issueTestLicense(desk, request, { terms });
    const mesh = { ...MESH, floating: { slots: 4, timeout_minutes: 30 } };
    const consumption = { ...CONSUMPTION, max: 9 };
    expect(second.terms).toEqual({ ...first.terms, consumption, features: [mesh, EXPORT] });
    // The same request again: PRO is already removed, and the answer is the same document.
    expect((await issueTestLicense(desk, request, { terms })).document).toBe(second.document);
  });

  test("is the same document again if a feature is both set and removed", async () => {
    const { desk, site } = await openDeskAndSite();
    const request = await makeRequestFrom(site);
    const terms = { features: [{ code: "MESH" }, { code: "PRO" }], without: ["PRO"] };
    const first = await issueTestLicense(desk, request, { terms });
    expect(first.terms.features.map(({ code }) => code)).toEqual(["MESH"]);
    expect((await issueTestLicense(desk, request, { terms })).document).toBe(first.document);
  });

  test("is the same document again after a later renewal with other terms", async () => {
    const { desk, site, renew } = await issueFirstLicense();
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
  test("is refused if it is larger than a site accepts, and installs at that size", async () => {
    const { desk, site } = await openDeskAndSite();
    const metadata = "m".repeat(4_000);
    const features = (count: number) =>
      Array.from({ length: count }, (_, index) => ({ code: `F${index}`, metadata }));
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
  ] as const)("is refused for %s without a maximum or slots", async (_, terms, name) => {
    const { desk, site } = await openDeskAndSite();
    const reason = await refusal(issueTestLicense(desk, await makeRequestFrom(site), { terms }));
    expect(reason).toContain(name);
    expect(desk.ledger.issuedEntries()).toEqual([]);
  });
});

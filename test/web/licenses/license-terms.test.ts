import { describe, expect, test } from "bun:test";
import type { License } from "../../../src/web/licenses/license.ts";
import { changesOf } from "../../../src/web/licenses/changes.ts";
import {
  documentKindOf,
  normalizeDocument,
  parsePolicy,
} from "../../../src/web/licenses/documents.ts";
import { featureTextOf, termsOf } from "../../../src/web/licenses/terms.ts";
import { quoteForShell } from "../../../src/web/shell-quote.ts";
import { expectOk, openAppliance } from "../../support/appliance.ts";
import { makeTrustDocument } from "../../support/vendor.ts";
import { openAirgapSite } from "../../support/airgap-site.ts";

/** A license as the server returns it, so that no field is missing. */
async function license(changes: Partial<License> = {}): Promise<License> {
  const site = await openAppliance();
  const [first] = expectOk(await site.get<License[]>("/api/admin/v1/licenses"));
  if (first === undefined) throw new Error("no license");
  return { ...withoutOptionalTerms(first), ...changes };
}

/** The same license without any optional term. */
const withoutOptionalTerms = (original: License): License => ({
  ...original,
  product_details: { product_name: "CAD", short_code: "CAD" },
  license_type: "perpetual",
  license_key: null,
  customer: null,
  metadata: null,
  report_every_days: null,
  policy_id: null,
  is_trial: false,
  start_date: null,
  validity_period: null,
  maintenance_period: null,
  grace_period: null,
  floating_users: 3,
  floating_timeout: 15,
  can_borrow: false,
  max_borrow_time: null,
  max_consumptions: null,
  allow_unlimited_consumptions: false,
  allow_negative_consumptions: false,
  max_overages: 0,
  consumption_period: null,
  product_features: [],
});

const termsWith = async (changes: Partial<License>) => new Map(termsOf(await license(changes)));

describe("termsOf", () => {
  test("lists the terms of a license without optional terms", async () => {
    expect(termsOf(await license())).toEqual([
      ["Product", "CAD"],
      ["Type", "perpetual"],
      ["Valid", "no expiry"],
      ["Grace", "none: the license has no expiry"],
      ["Slots", "3 concurrent users"],
      ["Timeout", "a slot is released after 15 minutes without a heartbeat"],
      ["Borrowing", "not allowed"],
      ["Consumption", "not counted"],
    ]);
  });

  test("shows names unchanged, and the product code beside a different name", async () => {
    const product_details = { product_name: "<b>Mesh</b>", short_code: "M" };
    const rows = await termsWith({ product_details, customer: "<i>", license_key: "K" });
    expect(rows.get("Product")).toBe("<b>Mesh</b> (M)");
    expect(rows.get("Customer")).toBe("<i>");
    expect(rows.get("License key")).toBe("K");
  });

  test.each([
    [1, "up to 1 hour"],
    [24, "up to 24 hours"],
    [48, "up to 2 days"],
    [49, "up to 49 hours"],
    [720, "up to 30 days"],
  ])("shows a borrow limit of %i hours as %s", async (hours, text) => {
    const rows = await termsWith({ can_borrow: true, max_borrow_time: hours });
    expect(rows.get("Borrowing")).toBe(text);
  });

  test.each([
    [{ max_consumptions: 1000 }, "up to 1,000"],
    [{ max_consumptions: 5, consumption_period: "monthly" }, "up to 5 a month"],
    [
      { max_consumptions: 5, max_overages: 2, consumption_period: "daily" },
      "up to 5 a day, plus 2 overage",
    ],
    [{ allow_unlimited_consumptions: true }, "counted, no limit"],
    [
      { max_consumptions: 0, allow_negative_consumptions: true },
      "up to 0, negative consumption allowed",
    ],
  ])("shows the consumption terms %j as %s", async (counting, text) => {
    expect((await termsWith(counting)).get("Consumption")).toBe(text);
  });

  test("shows the grace period of a license that expires", async () => {
    const validity_period = "2027-03-01T12:00:00.000Z";
    expect((await termsWith({ validity_period })).get("Grace")).toBe("none");
    const withGrace = await termsWith({ validity_period, grace_period: 72 });
    expect(withGrace.get("Grace")).toBe("3 days after expiry");
  });
});

test("changesOf lists what a renewal changed, and nothing else", async () => {
  const before = await license();
  const [feature] = (await fetchLicenseWithFeatures()).product_features;
  if (feature === undefined) throw new Error("no feature");
  expect(changesOf(before, before)).toEqual([]);
  expect(changesOf(before, { ...before, floating_users: 10, total_consumptions: 7 })).toEqual([
    "Slots: 3 → 10",
  ]);
  const featureWithCode = (code: string) => ({ ...feature, code });
  const [oldLicense, newLicense] = [
    { ...before, product_features: [featureWithCode("a"), featureWithCode("b")] },
    {
      ...before,
      product_features: [featureWithCode("b"), featureWithCode("c")],
      can_borrow: true,
      max_borrow_time: 8,
    },
  ];
  expect(changesOf(oldLicense, newLicense)).toEqual([
    "Borrowing: not allowed → up to 8 hours",
    "Feature c: added",
    "Feature a: removed",
  ]);
});

const fetchLicenseWithFeatures = async (): Promise<License> => {
  const site = await openAppliance();
  const all = expectOk(await site.get<License[]>("/api/admin/v1/licenses"));
  const license = all.find(({ product_features }) => product_features.length > 0);
  if (license === undefined) throw new Error("no license has features");
  return license;
};

test("featureTextOf describes the terms of a feature", async () => {
  const [feature] = (await fetchLicenseWithFeatures()).product_features;
  if (feature === undefined) throw new Error("no feature");
  const noFloating = { floating_users: null, floating_timeout: null, expiry_date: null } as const;
  const activationFeature = { ...feature, ...noFloating, feature_type: "activation" as const };
  expect(featureTextOf(activationFeature)).toBe("included");
  expect(featureTextOf({ ...activationFeature, floating_users: 1, floating_timeout: 5 })).toBe(
    "1 concurrent user; a slot is released after 5 minutes without a heartbeat",
  );
});

describe("documents", () => {
  test("documentKindOf returns the claimed kind of a document, else null", async () => {
    expect(documentKindOf(`  ${await makeTrustDocument()}\n`)).toBe("trust");
    expect(documentKindOf(await (await openAirgapSite()).makePolicy())).toBe("policy");
    for (const text of ["", "..", "a.b.c", "eyJ0eXAiOjF9.a.b", "bnVsbA.a.b", "[].a.b"]) {
      expect(documentKindOf(text)).toBeNull();
    }
  });

  test("parsePolicy reads id and product of a policy, also wrapped or in base64", async () => {
    const policy = await (await openAirgapSite()).makePolicy("P-ü");
    expect(parsePolicy(policy)).toEqual({ id: "P-ü", product: "mesh" });
    const wrapped = Buffer.from(policy).toString("base64").replaceAll(/.{60}/g, "$&\n");
    expect(normalizeDocument(wrapped)).toBe(policy);
    expect(normalizeDocument(` ${policy.slice(0, 50)}\n${policy.slice(50)}`)).toBe(policy);
    expect(normalizeDocument("no policy")).toBe("nopolicy");
    expect(parsePolicy(await makeTrustDocument())).toBeNull();
    expect(parsePolicy("a.b.c")).toBeNull();
  });
});

test("quoteForShell makes any value one word for a shell", () => {
  for (const text of ["CAD", "a b", "it's", "$(reboot)", "`x`", "", "a\nb", "\\", '"', "é"]) {
    const { stdout } = Bun.spawnSync(["sh", "-c", `printf %s ${quoteForShell(text)}`]);
    expect(stdout.toString()).toBe(text);
  }
  expect(quoteForShell("CAD-2026")).toBe("CAD-2026");
});

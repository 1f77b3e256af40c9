import { describe, expect, test } from "bun:test";
import type { License } from "../../src/web/licenses/license.ts";
import { changesOf } from "../../src/web/licenses/changes.ts";
import {
  documentKindOf,
  normalizeDocument,
  parsePolicy,
} from "../../src/web/licenses/documents.ts";
import { featureTextOf, termsOf } from "../../src/web/licenses/terms.ts";
import { quoteForShell } from "../../src/web/shell-quote.ts";
import { expectOk, openAppliance } from "../support/appliance.ts";
import { makeTrustDocument } from "../support/vendor.ts";
import { openAirgapSite } from "../support/airgap-site.ts";

/** As the server says it, so that no field is missing. */
async function license(differing: Partial<License> = {}): Promise<License> {
  const site = await openAppliance();
  const [first] = expectOk(await site.get<License[]>("/api/admin/v1/licenses"));
  if (first === undefined) throw new Error("no license");
  return { ...PLAIN(first), ...differing };
}

/** With everything left out that terms can leave out. */
const PLAIN = (one: License): License => ({
  ...one,
  product_details: { product_name: "CAD", short_code: "CAD" },
  license_type: "perpetual",
  license_key: null,
  customer: null,
  metadata: null,
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

const said = async (differing: Partial<License>) => new Map(termsOf(await license(differing)));

describe("terms in words", () => {
  test("of the plainest license", async () => {
    expect(termsOf(await license())).toEqual([
      ["Product", "CAD"],
      ["Type", "perpetual"],
      ["Valid", "no end date"],
      ["Grace", "not needed: it does not end"],
      ["Slots", "3 users at a time"],
      ["Timeout", "a slot comes free 15 minutes after the last sign of life"],
      ["Borrowing", "not allowed"],
      ["Consumption", "not counted"],
    ]);
  });

  test("names are told once where they are the same, and as they are", async () => {
    const product_details = { product_name: "<b>Mesh</b>", short_code: "M" };
    const words = await said({ product_details, customer: "<i>", license_key: "K" });
    expect(words.get("Product")).toBe("<b>Mesh</b> (M)");
    expect(words.get("Customer")).toBe("<i>");
    expect(words.get("License key")).toBe("K");
  });

  test.each([
    [1, "up to 1 hour"],
    [24, "up to 24 hours"],
    [48, "up to 2 days"],
    [49, "up to 49 hours"],
    [720, "up to 30 days"],
  ])("borrowing for %i hours is %s", async (hours, text) => {
    const words = await said({ can_borrow: true, max_borrow_time: hours });
    expect(words.get("Borrowing")).toBe(text);
  });

  test.each([
    [{ max_consumptions: 1000 }, "up to 1,000"],
    [{ max_consumptions: 5, consumption_period: "monthly" }, "up to 5 a month"],
    [
      { max_consumptions: 5, max_overages: 2, consumption_period: "daily" },
      "up to 5 a day, and 2 over that",
    ],
    [{ allow_unlimited_consumptions: true }, "counted, without limit"],
    [{ max_consumptions: 0, allow_negative_consumptions: true }, "up to 0, counting down allowed"],
  ])("consumption %j", async (counting, text) => {
    expect((await said(counting)).get("Consumption")).toBe(text);
  });

  test("an end says whether there is grace", async () => {
    const validity_period = "2027-03-01T12:00:00.000Z";
    expect((await said({ validity_period })).get("Grace")).toBe("none: it stops when it ends");
    const graceful = await said({ validity_period, grace_period: 72 });
    expect(graceful.get("Grace")).toBe("3 days past its end");
  });
});

test("a renewal tells what it changed, and nothing else", async () => {
  const before = await license();
  const [feature] = (await featured()).product_features;
  if (feature === undefined) throw new Error("no feature");
  expect(changesOf(before, before)).toEqual([]);
  expect(changesOf(before, { ...before, floating_users: 10, total_consumptions: 7 })).toEqual([
    "Slots: 3 → 10",
  ]);
  const named = (code: string) => ({ ...feature, code });
  const [old, now] = [
    { ...before, product_features: [named("a"), named("b")] },
    { ...before, product_features: [named("b"), named("c")], can_borrow: true, max_borrow_time: 8 },
  ];
  expect(changesOf(old, now)).toEqual([
    "Borrowing: not allowed → up to 8 hours",
    "Feature c is new",
    "Feature a is gone",
  ]);
});

const featured = async (): Promise<License> => {
  const site = await openAppliance();
  const all = expectOk(await site.get<License[]>("/api/admin/v1/licenses"));
  const found = all.find(({ product_features }) => product_features.length > 0);
  if (found === undefined) throw new Error("no license has features");
  return found;
};

test("a feature says what it may do", async () => {
  const [feature] = (await featured()).product_features;
  if (feature === undefined) throw new Error("no feature");
  const bare = { floating_users: null, floating_timeout: null, expiry_date: null } as const;
  const plain = { ...feature, ...bare, feature_type: "activation" as const };
  expect(featureTextOf(plain)).toBe("included");
  expect(featureTextOf({ ...plain, floating_users: 1, floating_timeout: 5 })).toBe(
    "1 user at a time; a slot comes free 5 minutes after the last sign of life",
  );
});

describe("a text from outside", () => {
  test("is told by what it says it is, and nothing else is", async () => {
    expect(documentKindOf(`  ${await makeTrustDocument()}\n`)).toBe("trust");
    expect(documentKindOf(await (await openAirgapSite()).makePolicy())).toBe("policy");
    for (const text of ["", "..", "a.b.c", "eyJ0eXAiOjF9.a.b", "bnVsbA.a.b", "[].a.b"]) {
      expect(documentKindOf(text)).toBeNull();
    }
  });

  test("a policy shows what it is for, in any spelling of it", async () => {
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

test("a value is one word of a shell's line, whatever is in it", () => {
  for (const text of ["CAD", "a b", "it's", "$(reboot)", "`x`", "", "a\nb", "\\", '"', "é"]) {
    const { stdout } = Bun.spawnSync(["sh", "-c", `printf %s ${quoteForShell(text)}`]);
    expect(stdout.toString()).toBe(text);
  }
  expect(quoteForShell("CAD-2026")).toBe("CAD-2026");
});

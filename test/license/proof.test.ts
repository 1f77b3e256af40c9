import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createSignatureCheck } from "../../src/cli/folder-checks.ts";
import type { License, State } from "../../src/domain/state.ts";
import { DAY, instant } from "../../src/domain/time.ts";
import { generateKey, publicPart } from "../../src/license/keys.ts";
import { findProofFault } from "../../src/license/proof.ts";
import { signTrustDocument, type Vendor } from "../../src/license/trust.ts";
import { realDisk } from "../../src/platform/disk.ts";
import { replay } from "../../src/store/replay.ts";
import { openAirgapSite } from "../support/airgap-site.ts";
import { expectOk, type Appliance } from "../support/appliance.ts";
import { issueTestLicense, openDeskAndSite, makeRequestFrom } from "../support/desk-and-site.ts";
import { unwrap } from "../support/licensed-store.ts";
import { copyFixtureFolder } from "../support/old-formats.ts";
import { MONDAY } from "../support/scenario.ts";

/** What a start would find in a folder. */
async function stateIn(folder: string): Promise<State> {
  const replayed = await replay(realDisk, folder);
  if (replayed === null) throw new Error(`${folder} is empty`);
  return replayed.state;
}

async function stateOf(site: Appliance): Promise<State> {
  await site.stop();
  return stateIn(site.folder);
}

const proven = (state: State, license: License): Promise<string | null> =>
  findProofFault(license, state.appliance, [...state.vendors.values()] as Vendor[]);

const onlyOne = ({ licenses }: State): License => {
  const [license, ...more] = licenses.values();
  if (license === undefined || more.length > 0) throw new Error("there is not one license");
  return license;
};

const view = (slots: number) => ({
  code: "view",
  name: "view",
  metadata: null,
  expires: null,
  floating: { slots, timeout_minutes: 10 },
  consumption: null,
});

/** A license by file, with a feature. */
async function byFile() {
  const { desk, site, folder } = await openDeskAndSite();
  const features = [view(2)];
  const first = await issueTestLicense(desk, await makeRequestFrom(site), {
    terms: { slots: 1, features },
  });
  unwrap(await site.licensing.installLicense(first.document, "test"));
  return { desk, site, folder, first };
}

/** A license by code, for one slot until a day of its own. */
async function byCode() {
  const air = await openAirgapSite();
  const validUntil = instant(Math.floor(MONDAY / DAY) * DAY + 10 * DAY);
  const policy = await air.makePolicy("P-1", { slots: 1, features: [view(2)] });
  expectOk(await air.addLicense(await air.makeLicenseBody({ policy, validUntil })));
  return stateOf(air.site);
}

type Change = (license: License) => License;
const withTerms =
  (differing: Partial<License["terms"]>): Change =>
  (license) => ({
    ...license,
    terms: { ...license.terms, ...differing },
  });
const withGrant =
  (differing: Partial<License["grant"]>): Change =>
  (license) => ({
    ...license,
    grant: { ...license.grant, ...differing },
  });
const withFeature =
  (code: string, slots: number): Change =>
  (license) => {
    const [feature] = license.features.values();
    if (feature === undefined) throw new Error("it has no feature");
    const floating = { slots, timeoutMinutes: 10 };
    const features = new Map(license.features);
    return {
      ...license,
      features: features.set(code, { ...feature, terms: { ...feature.terms, code, floating } }),
    };
  };

const CHANGES: readonly [what: string, change: Change, named: string][] = [
  ["another id", (license) => ({ ...license, id: license.id + 1 }), "id"],
  ["more slots", withTerms({ slots: 5_000 }), "slots"],
  ["another end", withTerms({ validUntil: instant(9e15) }), "validUntil"],
  ["another product", withTerms({ product: "ray" }), "product"],
  ["an early return", withTerms({ earlyReturn: false }), "earlyReturn"],
  ["another serial", withGrant({ serial: 9 }), "serial"],
  ["another vendor", withGrant({ vendor: "0123456789ABCDEF" }), "vendor"],
  ["another digest", withGrant({ lic: "0".repeat(64) }), "lic"],
  ["another policy", withGrant({ policyId: "other" }), "policyId"],
  ["other hardware", withGrant({ hardwareId: "0".repeat(64) }), "hardwareId"],
  ["more slots of a feature", withFeature("view", 900), "feature view"],
  ["a feature nobody signed", withFeature("plot", 3), "feature plot"],
  ["no feature", (license) => ({ ...license, features: new Map() }), "feature view"],
];

describe.each<[string, () => Promise<State>]>([
  ["file", async () => stateOf((await byFile()).site)],
  ["code", byCode],
])("a license that came by %s", (_way, made) => {
  test("is proven by its document", async () => {
    const state = await made();
    expect(await proven(state, onlyOne(state))).toBeNull();
    expect(await createSignatureCheck(null)(state)).toBeNull();
  });

  test.each(CHANGES)(
    "with %s is not proven, and it is said where",
    async (_what, change, named) => {
      const state = await made();
      const reason = await proven(state, change(onlyOne(state)));
      expect(reason).toBe(`differs from what its vendor signed: ${named}`);
    },
  );

  test("is not proven for another appliance, nor by a vendor that is not trusted", async () => {
    const state = await made();
    const license = onlyOne(state);
    const vendors = [...state.vendors.values()] as Vendor[];
    expect(await findProofFault(license, "0123456789ABCDEF", vendors)).toContain(
      "signed: appliance",
    );
    expect(await findProofFault(license, state.appliance, [])).toContain(
      "not signed by a trusted vendor",
    );
  });

  test("whose document was edited or is none is not proven", async () => {
    const state = await made();
    const license = onlyOne(state);
    const { document } = license.grant;
    for (const text of [document.slice(0, -3), `${document.slice(0, -3)}AAA`, "", "{}", "{"]) {
      expect(await proven(state, withGrant({ document: text })(license))).toMatch(/^has a /);
    }
  });
});

describe("a license by code", () => {
  const edited = (license: License, differing: object): License => {
    const bundle = JSON.parse(license.grant.document) as object;
    return withGrant({ document: JSON.stringify({ ...bundle, ...differing }) })(license);
  };

  test("is not proven when its bundle says another kind, nonce or key", async () => {
    const state = await byCode();
    const appliance_jwk = publicPart(await generateKey());
    const others = [{ kind: 2 }, { nonce: "0000000000" }, { license_key: "X" }, { appliance_jwk }];
    for (const differing of others) {
      expect(await proven(state, edited(onlyOne(state), differing))).toContain("did not sign");
    }
    for (const differing of [{ kind: undefined }, { version: undefined }, { version: 3 }]) {
      expect(await proven(state, edited(onlyOne(state), differing))).toContain("cannot be read");
    }
  });

  test("for a strongly bound appliance does not serve one that is bound weakly", async () => {
    const state = await byCode();
    const license = onlyOne(state);
    const hardware = license.grant.hardware.slice(0, 1);
    const reason = await proven(state, withGrant({ hardware })(license));
    expect(reason).toBe("differs from what its vendor signed: hardware");
  });

  test("of version 1, from an older folder, is proven by its document", async () => {
    const state = await stateIn(copyFixtureFolder(4));
    expect(await createSignatureCheck(null)(state)).toBeNull();
    const license = [...state.licenses.values()].find(({ terms }) => terms.licenseKey === "K-1");
    if (license === undefined) throw new Error("the folder has no such license");
    expect(license.grant.document).not.toContain('"version"');
    expect(await proven(state, withTerms({ slots: 5_000 })(license))).toContain("signed: slots");
    expect(await proven(state, edited(license, { version: 2, kind: 2 }))).toContain("did not sign");
  });
});

test("a feature that a renewal left out stays, and grants nothing", async () => {
  const { desk, site, first } = await byFile();
  const renewal = { renew: first.license_id, terms: { features: [] } };
  unwrap(
    await site.licensing.installLicense(
      (await issueTestLicense(desk, null, renewal)).document,
      "test",
    ),
  );
  const state = await stateOf(site);
  const license = onlyOne(state);
  expect(license.features.size).toBe(1);
  expect(await proven(state, license)).toBeNull();
  const reason = await proven(state, withFeature("view", 1)(license));
  expect(reason).toBe("differs from what its vendor signed: feature view");
});

test("a license signed with a vendor's earlier key is proven after a successor took over", async () => {
  const { desk, site, folder } = await byFile();
  const successor = await desk.rotateKey(realDisk, folder, null);
  const document = readFileSync(join(folder, "successor-2.jwt"), "utf8");
  unwrap(await site.licensing.trustVendor(document, "test"));
  const state = await stateOf(site);
  expect(state.vendors.get(desk.vendor.vendor)).toEqual(successor.vendor);
  expect(await proven(state, onlyOne(state))).toBeNull();
});

describe("in a vendor's own build", () => {
  test("a folder that trusts that vendor alone is believed", async () => {
    const { desk, site } = await byFile();
    const check = createSignatureCheck(await signTrustDocument(desk.vendor, desk.key));
    const state = await stateOf(site);
    state.vendors.set(desk.vendor.vendor, { ...desk.vendor, version: 7 });
    for (const id of state.vendors.keys()) if (id !== desk.vendor.vendor) state.vendors.delete(id);
    expect(await check(state)).toBeNull();
  });

  test("a folder in which another vendor, or another key, is trusted is not", async () => {
    const { desk, site } = await byFile();
    const check = createSignatureCheck(await signTrustDocument(desk.vendor, desk.key));
    const state = await stateOf(site);
    const own = desk.vendor;
    const stranger = publicPart(await generateKey());
    for (const vendor of [
      { ...own, version: 9, keys: [...own.keys, stranger] },
      { ...own, vendor: "0123456789ABCDEF", products: ["other"], keys: [stranger] },
    ]) {
      state.vendors.clear();
      state.vendors.set(own.vendor, own).set(vendor.vendor, vendor);
      expect(await check(state)).toMatchObject({
        license: null,
        what: `${vendor.name} (${vendor.vendor}) is trusted with a key that is not in this build of berth`,
      });
    }
  });
});

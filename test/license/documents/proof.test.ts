import { describe, expect, test } from "bun:test";
import { createSignatureCheck } from "../../../src/operations/folder/folder-checks.ts";
import type { License, State } from "../../../src/domain/model/state.ts";
import { DAY, instant } from "../../../src/domain/time.ts";
import { usualRootFolder } from "../../../src/desk/desk.ts";
import { Root } from "../../../src/desk/root.ts";
import { generateKey, keyIdOf, publicPart } from "../../../src/license/documents/keys.ts";
import { describeProofFault, findProofFault } from "../../../src/license/documents/proof.ts";
import type { VendorRoot } from "../../../src/license/documents/trust.ts";
import { realDisk } from "../../../src/platform/files/disk.ts";
import { replay } from "../../../src/store/journal/replay.ts";
import { openAirgapSite } from "../../support/airgap-site.ts";
import { expectOk, type Appliance } from "../../support/appliance.ts";
import { issueTestLicense, openDeskAndSite, makeRequestFrom } from "../../support/desk-and-site.ts";
import { unwrap } from "../../support/licensed-store.ts";
import { MONDAY } from "../../support/scenario.ts";
import type { MutableState } from "../../../src/domain/evolve/mutable-state.ts";

/** The state that a server would read from a folder. */
async function readState(folder: string): Promise<State> {
  const replayed = await replay(realDisk, folder);
  if (replayed === null) throw new Error(`${folder} is empty`);
  return replayed.state;
}

async function stopAndReadState(site: Appliance): Promise<State> {
  await site.stop();
  return readState(site.folder);
}

const describeFault = async (
  license: License,
  appliance: string,
  vendors: readonly VendorRoot[],
): Promise<string | null> => {
  const fault = await findProofFault(license, appliance, vendors);
  return fault && describeProofFault(fault);
};

const findFault = (state: State, license: License): Promise<string | null> =>
  describeFault(license, state.appliance, [...state.vendors.values()]);

const onlyLicense = ({ licenses }: State): License => {
  const [license, ...more] = licenses.values();
  if (license === undefined || more.length > 0) throw new Error("expected exactly one license");
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

/** Installs a license with a feature by file. */
async function installByFile() {
  const { desk, site, folder } = await openDeskAndSite();
  const features = [view(2)];
  const first = await issueTestLicense(desk, await makeRequestFrom(site), {
    terms: { slots: 1, features },
  });
  unwrap(await site.licensing.installLicense(first.document, "test"));
  return { desk, site, folder, first };
}

/** Installs a license by code, with one slot and its own last day. */
async function installByCode() {
  const air = await openAirgapSite();
  const validUntil = instant(Math.floor(MONDAY / DAY) * DAY + 10 * DAY);
  const policy = await air.makePolicy("P-1", { slots: 1, features: [view(2)] });
  expectOk(await air.addLicense(await air.makeLicenseBody({ policy, validUntil })));
  return stopAndReadState(air.site);
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
    if (feature === undefined) throw new Error("the license has no feature");
    const floating = { slots, timeoutMinutes: 10 };
    const features = new Map(license.features);
    return {
      ...license,
      features: features.set(code, { ...feature, terms: { ...feature.terms, code, floating } }),
    };
  };

const CHANGES: readonly [description: string, change: Change, field: string][] = [
  ["another id", (license) => ({ ...license, id: license.id + 1 }), "id"],
  ["more slots", withTerms({ slots: 5_000 }), "slots"],
  ["another end", withTerms({ validUntil: instant(9e15) }), "validUntil"],
  ["another product", withTerms({ product: "ray" }), "product"],
  ["no early return", withTerms({ earlyReturn: false }), "earlyReturn"],
  ["another serial", withGrant({ serial: 9 }), "serial"],
  ["another key", withGrant({ key: "0123456789ABCDEF" }), "key"],
  ["another end of the key", withGrant({ keyUntil: 253_402_300_799 }), "keyUntil"],
  ["another vendor", withGrant({ vendor: "0123456789ABCDEF" }), "vendor"],
  ["another digest", withGrant({ lic: "0".repeat(64) }), "lic"],
  ["another policy", withGrant({ policyId: "other" }), "policyId"],
  ["other hardware", withGrant({ hardwareId: "0".repeat(64) }), "hardwareId"],
  ["more slots of a feature", withFeature("view", 900), "feature view"],
  ["an unsigned feature", withFeature("plot", 3), "feature plot"],
  ["a missing feature", (license) => ({ ...license, features: new Map() }), "feature view"],
];

describe.each<[string, () => Promise<State>]>([
  ["file", async () => stopAndReadState((await installByFile()).site)],
  ["code", installByCode],
])("findProofFault for a license by %s", (_kind, install) => {
  test("finds no fault in an unchanged license", async () => {
    const state = await install();
    expect(await findFault(state, onlyLicense(state))).toBeNull();
    expect(await createSignatureCheck(null)(state)).toBeNull();
  });

  test.each(CHANGES)(
    "reports the field of a license with %s",
    async (_description, change, field) => {
      const state = await install();
      const reason = await findFault(state, change(onlyLicense(state)));
      expect(reason).toBe(`differs from what its vendor signed: ${field}`);
    },
  );

  test("reports another appliance, and a vendor that is not trusted", async () => {
    const state = await install();
    const license = onlyLicense(state);
    const vendors = [...state.vendors.values()];
    expect(await describeFault(license, "0123456789ABCDEF", vendors)).toContain(
      "signed: appliance",
    );
    expect(await describeFault(license, state.appliance, [])).toContain(
      "not signed by a trusted vendor",
    );
  });

  test("reports an edited or unreadable document", async () => {
    const state = await install();
    const license = onlyLicense(state);
    const { document } = license.grant;
    for (const text of [document.slice(0, -3), `${document.slice(0, -3)}AAA`, "", "{}", "{"]) {
      expect(await findFault(state, withGrant({ document: text })(license))).toMatch(/^has a /);
    }
  });
});

describe("findProofFault for a license by code", () => {
  const editBundle = (license: License, differing: object): License => {
    const bundle = JSON.parse(license.grant.document) as object;
    return withGrant({ document: JSON.stringify({ ...bundle, ...differing }) })(license);
  };

  test("reports another kind, nonce, license key or appliance key in the bundle", async () => {
    const state = await installByCode();
    const appliance_jwk = publicPart(await generateKey());
    const others = [{ kind: 2 }, { nonce: "0000000000" }, { license_key: "X" }, { appliance_jwk }];
    for (const differing of others) {
      expect(await findFault(state, editBundle(onlyLicense(state), differing))).toContain(
        "did not sign",
      );
    }
    for (const differing of [{ kind: undefined }, { version: undefined }, { version: 3 }]) {
      expect(await findFault(state, editBundle(onlyLicense(state), differing))).toContain(
        "cannot be read",
      );
    }
  });

  test("reports a weak binding if the code was signed for a strong one", async () => {
    const state = await installByCode();
    const license = onlyLicense(state);
    const hardware = license.grant.hardware.slice(0, 1);
    const reason = await findFault(state, withGrant({ hardware })(license));
    expect(reason).toBe("differs from what its vendor signed: hardware");
  });
});

test("a feature that a renewal removed stays in the state and cannot get slots again", async () => {
  const { desk, site, first } = await installByFile();
  const renewal = { renewLicenseId: first.license_id, terms: { features: [] } };
  unwrap(
    await site.licensing.installLicense(
      (await issueTestLicense(desk, null, renewal)).document,
      "test",
    ),
  );
  const state = await stopAndReadState(site);
  const license = onlyLicense(state);
  expect(license.features.size).toBe(1);
  expect(await findFault(state, license)).toBeNull();
  const reason = await findFault(state, withFeature("view", 1)(license));
  expect(reason).toBe("differs from what its vendor signed: feature view");
});

test("a license that an earlier or a retired key signed stays valid where it is installed", async () => {
  const { desk, site, folder } = await installByFile();
  const root = await Root.open(realDisk, usualRootFolder(folder), null);
  const { trust } = await root.signNext({ retired: [keyIdOf(desk.issuing.key)] });
  unwrap(await site.vendorTrust.trustVendor(trust.document, "test"));
  const state = await stopAndReadState(site);
  expect(state.vendors.get(desk.vendor.vendor)?.version).toBe(2);
  expect(await findFault(state, onlyLicense(state))).toBeNull();
  expect(await createSignatureCheck(null)(state)).toBeNull();
});

test.each([
  ["a product that its root did not sign", { products: ["cad", "more"] }, "products"],
  ["another name", { name: "Thief" }, "name"],
  ["another version", { version: 9 }, "version"],
  ["a missing retirement", { retired: ["0".repeat(16)] }, "retired"],
  ["another id", { vendor: "0123456789ABCDEF" }, "vendor"],
  ["another digest", { sum: "0".repeat(64) }, "sum"],
  ["another root", { jwk: publicPart(await generateKey()) }, "jwk"],
])("createSignatureCheck refuses a stored vendor with %s", async (_what, change, field) => {
  const { desk, site } = await installByFile();
  const state = (await stopAndReadState(site)) as MutableState;
  const vendor = state.vendors.get(desk.vendor.vendor);
  if (vendor === undefined) throw new Error("the vendor is not trusted");
  state.vendors.set(vendor.vendor, { ...vendor, ...change });
  expect(await createSignatureCheck(null)(state)).toMatchObject({
    license: null,
    description: expect.stringContaining(`differs from what it signed: ${field}`),
  });
});

test("createSignatureCheck refuses a state in which a retirement of the trust document is missing", async () => {
  const { desk, site, folder } = await installByFile();
  const root = await Root.open(realDisk, usualRootFolder(folder), null);
  const { trust } = await root.signNext({ retired: [keyIdOf(desk.issuing.key)] });
  unwrap(await site.vendorTrust.trustVendor(trust.document, "test"));
  const state = (await stopAndReadState(site)) as MutableState;
  const { vendor } = desk.vendor;
  const kept = state.retiredKeys.get(vendor);
  if (kept === undefined) throw new Error("nothing is retired");
  const check = createSignatureCheck(null);
  // Of an earlier document.
  state.retiredKeys.set(vendor, { ...kept, keys: ["0".repeat(16), ...kept.keys] });
  expect(await check(state)).toBeNull();
  const description = expect.stringContaining("differs from what it signed: retiredKeys");
  const jwk = publicPart(await generateKey());
  for (const differing of [{ keys: [] }, { version: 1 }, { sum: "" }, { jwk }]) {
    state.retiredKeys.set(vendor, { ...kept, ...differing });
    expect(await check(state)).toMatchObject({ license: null, description });
  }
  state.retiredKeys.delete(vendor);
  expect(await check(state)).toMatchObject({ license: null, description });
});

describe("createSignatureCheck in a vendor's own build", () => {
  test("accepts a folder that trusts that vendor alone", async () => {
    const { desk, site } = await installByFile();
    const check = createSignatureCheck(desk.trust.document);
    const state = (await stopAndReadState(site)) as MutableState;
    for (const id of state.vendors.keys()) if (id !== desk.vendor.vendor) state.vendors.delete(id);
    expect(await check(state)).toBeNull();
  });

  test("refuses a folder that trusts another vendor, or another root under the same id", async () => {
    const { desk, site } = await installByFile();
    const check = createSignatureCheck(desk.trust.document);
    const state = (await stopAndReadState(site)) as MutableState;
    const own = state.vendors.get(desk.vendor.vendor);
    if (own === undefined) throw new Error("the vendor is not trusted");
    const jwk = publicPart(await generateKey());
    for (const vendor of [
      { ...own, jwk },
      { ...own, vendor: "0123456789ABCDEF", jwk },
    ]) {
      state.vendors.clear();
      state.vendors.set(own.vendor, own).set(vendor.vendor, vendor);
      expect(await check(state)).toMatchObject({
        license: null,
        description: `${vendor.name} (${vendor.vendor}) is trusted, and this build of berth trusts another vendor alone`,
      });
    }
  });
});

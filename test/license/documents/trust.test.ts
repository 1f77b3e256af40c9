import { describe, expect, test } from "bun:test";
import { err } from "../../../src/domain/result.ts";
import { parsePublicKey, publicPart } from "../../../src/license/documents/keys.ts";
import {
  signTrustDocument,
  verifyTrustDocument,
  type Vendor,
} from "../../../src/license/documents/trust.ts";
import {
  APPLIANCE_KEY as SUCCESSOR,
  base64url,
  signUnchecked,
  buildHeader,
  keyIdOf,
  UNTRUSTED_KEY,
  VENDOR_KEY,
  type TestKey,
} from "../../vectors/generate.ts";

const vendor: Vendor = {
  vendor: keyIdOf(VENDOR_KEY),
  name: "Präzision",
  version: 2,
  products: ["modeler2", "viewer"],
  keys: [publicPart(VENDOR_KEY)],
};

const trustsNone = (): null => null;
const trusts =
  (...vendors: Vendor[]) =>
  (id: string): Vendor | null =>
    vendors.find((entry) => entry.vendor === id) ?? null;

/** Signs any payload as a trust document, without Berth's checks. */
const signAs = (key: TestKey, payload: unknown): string =>
  signUnchecked(buildHeader("trust", key), payload, key);

const WRONG_KEY = err({ wrong: "signature" as const });
const NOT_A_TRUST_DOCUMENT = err({ wrong: "content" as const, expected: "trust" as const });

describe("a vendor that is not trusted yet", () => {
  test("is accepted with a document that it signed itself", async () => {
    expect(
      await verifyTrustDocument(await signTrustDocument(vendor, VENDOR_KEY), trustsNone),
    ).toEqual({
      ok: true,
      value: vendor,
    });
  });

  test("is refused with a product code that has an invisible character", async () => {
    for (const code of ["CA\nD", "CAD\u0000", "CA\u200bD"]) {
      const text = signAs(VENDOR_KEY, { ...vendor, version: 1, products: ["viewer", code] });
      expect(await verifyTrustDocument(text, trustsNone)).toEqual(NOT_A_TRUST_DOCUMENT);
    }
  });

  test("must sign with its first key, whose fingerprint a person compares", async () => {
    const keys = [publicPart(VENDOR_KEY), publicPart(UNTRUSTED_KEY)];
    const text = await signTrustDocument({ ...vendor, keys }, VENDOR_KEY);
    expect(await verifyTrustDocument(text, trustsNone)).toEqual({
      ok: true,
      value: { ...vendor, keys },
    });
  });

  test("cannot list another vendor's key first and sign with its own second key", async () => {
    const keys = [publicPart(VENDOR_KEY), publicPart(UNTRUSTED_KEY)];
    const text = signAs(UNTRUSTED_KEY, { ...vendor, keys });
    expect(await verifyTrustDocument(text, trustsNone)).toEqual(WRONG_KEY);
  });

  test("cannot sign with a key that is not in the document", async () => {
    expect(await verifyTrustDocument(signAs(UNTRUSTED_KEY, vendor), trustsNone)).toEqual(WRONG_KEY);
  });

  test("cannot sign with another key and the kid of a listed key", async () => {
    const text = signUnchecked(buildHeader("trust", VENDOR_KEY), vendor, UNTRUSTED_KEY);
    expect(await verifyTrustDocument(text, trustsNone)).toEqual(WRONG_KEY);
  });

  test("is looked up by the id that it claims", async () => {
    const ids: string[] = [];
    await verifyTrustDocument(await signTrustDocument(vendor, VENDOR_KEY), (id) => {
      ids.push(id);
      return null;
    });
    expect(ids).toEqual([vendor.vendor]);
  });
});

describe("a successor key", () => {
  const next: Vendor = { ...vendor, version: 3, keys: [publicPart(SUCCESSOR)] };

  test("is accepted if the old key signed its document", async () => {
    const text = await signTrustDocument(next, VENDOR_KEY);
    expect(await verifyTrustDocument(text, trusts(vendor))).toEqual({ ok: true, value: next });
  });

  test("is refused if it signed its own document", async () => {
    expect(
      await verifyTrustDocument(await signTrustDocument(next, SUCCESSOR), trusts(vendor)),
    ).toEqual(WRONG_KEY);
    const both = { ...next, keys: [publicPart(VENDOR_KEY), publicPart(SUCCESSOR)] };
    expect(
      await verifyTrustDocument(await signTrustDocument(both, SUCCESSOR), trusts(vendor)),
    ).toEqual(WRONG_KEY);
  });

  test("is refused before the vendor is trusted", async () => {
    const both = { ...next, keys: [publicPart(SUCCESSOR), publicPart(VENDOR_KEY)] };
    for (const document of [next, both]) {
      expect(
        await verifyTrustDocument(await signTrustDocument(document, VENDOR_KEY), trustsNone),
      ).toEqual(err({ wrong: "unknown_vendor" }));
    }
  });

  test("can sign like the old key while both are listed", async () => {
    const both = { ...next, keys: [publicPart(VENDOR_KEY), publicPart(SUCCESSOR)] };
    for (const key of [VENDOR_KEY, SUCCESSOR]) {
      const text = await signTrustDocument({ ...both, version: 4 }, key);
      expect((await verifyTrustDocument(text, trusts(both))).ok).toBe(true);
    }
  });

  test("can sign the next document, which a removed old key cannot", async () => {
    const after = { ...next, version: 4 };
    const text = await signTrustDocument(after, SUCCESSOR);
    expect(await verifyTrustDocument(text, trusts(next))).toEqual({ ok: true, value: after });
    expect(
      await verifyTrustDocument(await signTrustDocument(after, VENDOR_KEY), trusts(next)),
    ).toEqual(WRONG_KEY);
  });
});

describe("a retired key", () => {
  const both: Vendor = {
    ...vendor,
    version: 3,
    keys: [publicPart(SUCCESSOR), publicPart(VENDOR_KEY)],
  };
  const retiring = (retired: unknown) => ({ ...both, retired }) as Vendor;

  test("may be retired by a document that it signed itself", async () => {
    for (const retired of [
      [{ key: keyIdOf(VENDOR_KEY) }],
      [{ key: keyIdOf(VENDOR_KEY), from: 1_800_000_000 }],
    ]) {
      const text = await signTrustDocument(retiring(retired), VENDOR_KEY);
      expect(await verifyTrustDocument(text, trusts(vendor))).toEqual({
        ok: true,
        value: retiring(retired),
      });
    }
  });

  test.each<[description: string, retired: unknown]>([
    ["the newest key", [{ key: keyIdOf(SUCCESSOR) }]],
    ["no key", []],
    ["an invalid key id", [{ key: "x" }]],
    ["a key from a time that is not a whole second", [{ key: keyIdOf(VENDOR_KEY), from: 1.5 }]],
    ["a key from a time as text", [{ key: keyIdOf(VENDOR_KEY), from: "2027-01-01" }]],
    ["a key with an unknown field", [{ key: keyIdOf(VENDOR_KEY), until: 5 }]],
  ])("is refused in a document that retires %s", async (_, retired) => {
    const text = await signTrustDocument(retiring(retired), VENDOR_KEY);
    expect(await verifyTrustDocument(text, trusts(vendor))).toEqual(NOT_A_TRUST_DOCUMENT);
  });

  test("cannot sign a further document, which the newest key can", async () => {
    const current = retiring([{ key: keyIdOf(VENDOR_KEY) }]);
    const next = { ...current, version: 4 };
    const fault = err({ wrong: "retired_key" as const });
    expect(
      await verifyTrustDocument(await signTrustDocument(next, VENDOR_KEY), trusts(current)),
    ).toEqual(fault);
    const text = await signTrustDocument(next, SUCCESSOR);
    expect(await verifyTrustDocument(text, trusts(current))).toEqual({ ok: true, value: next });
  });
});

describe("the version of a trust document", () => {
  test("may not be lower than the installed one", async () => {
    const text = await signTrustDocument({ ...vendor, version: 1 }, VENDOR_KEY);
    expect(await verifyTrustDocument(text, trusts(vendor))).toEqual(err({ wrong: "outdated" }));
  });

  test("may be the same for the same document", async () => {
    const text = await signTrustDocument(vendor, VENDOR_KEY);
    expect(await verifyTrustDocument(text, trusts(vendor))).toEqual({ ok: true, value: vendor });
  });

  test("may not be the same for other contents", async () => {
    for (const change of [
      { products: ["cad"] },
      { keys: [publicPart(UNTRUSTED_KEY)] },
      { name: "X" },
    ]) {
      const text = await signTrustDocument({ ...vendor, ...change }, VENDOR_KEY);
      expect((await verifyTrustDocument(text, trusts(vendor))).ok).toBe(false);
    }
  });

  test("is independent of other vendors", async () => {
    const other = {
      ...vendor,
      vendor: keyIdOf(UNTRUSTED_KEY),
      version: 9,
      keys: [publicPart(UNTRUSTED_KEY)],
    };
    expect(
      (await verifyTrustDocument(await signTrustDocument(vendor, VENDOR_KEY), trusts(other))).ok,
    ).toBe(true);
  });
});

describe("an attacker", () => {
  test("cannot claim a trusted vendor's id", async () => {
    const claim = { ...vendor, version: 9, name: "Other", keys: [publicPart(UNTRUSTED_KEY)] };
    expect(await verifyTrustDocument(signAs(UNTRUSTED_KEY, claim), trusts(vendor))).toEqual(
      err({ wrong: "skipped_version", next: 3 }),
    );
    const hidden = { ...claim, keys: [publicPart(VENDOR_KEY), publicPart(UNTRUSTED_KEY)] };
    expect(await verifyTrustDocument(signAs(UNTRUSTED_KEY, hidden), trusts(vendor))).toEqual(
      err({ wrong: "skipped_version", next: 3 }),
    );
  });

  test("cannot change a document that a vendor signed", async () => {
    const [header = "", , signature = ""] = (await signTrustDocument(vendor, VENDOR_KEY)).split(
      ".",
    );
    for (const change of [
      { products: [...vendor.products, "cad"] },
      { version: 3 },
      { name: "Other" },
      { keys: [...vendor.keys, publicPart(UNTRUSTED_KEY)] },
    ]) {
      const payload = base64url(JSON.stringify({ ...vendor, ...change }));
      const text = `${header}.${payload}.${signature}`;
      expect(await verifyTrustDocument(text, trustsNone)).toEqual(WRONG_KEY);
      expect(await verifyTrustDocument(text, trusts(vendor))).toEqual(WRONG_KEY);
    }
  });
});

describe("verifyTrustDocument refuses a document with", () => {
  const weak = { ...publicPart(VENDOR_KEY), x: base64url(new Uint8Array(32).with(0, 1)) };

  test.each<[string, object]>([
    ["a weak key", { keys: [weak] }],
    ["a weak key after a good one", { keys: [publicPart(VENDOR_KEY), weak] }],
    ["another curve's key", { keys: [publicPart(VENDOR_KEY), { ...weak, crv: "X25519" }] }],
    [
      "a key in another spelling",
      { keys: [{ ...publicPart(VENDOR_KEY), x: `${VENDOR_KEY.x.slice(0, -1)}p` }] },
    ],
    ["no key", { keys: [] }],
    ["65 keys", { keys: Array.from({ length: 65 }, () => publicPart(VENDOR_KEY)) }],
    ["no name", { name: "" }],
    ["a name of 257 characters", { name: "a".repeat(257) }],
    ["version 0", { version: 0 }],
    ["a fractional version", { version: 2.5 }],
    ["version 1,000,001", { version: 1_000_001 }],
    ["an id of 15 characters", { vendor: vendor.vendor.slice(1) }],
    ["an id in lower case", { vendor: vendor.vendor.toLowerCase() }],
    ["an id with O for 0", { vendor: `O${vendor.vendor.slice(1)}` }],
    ["an empty product", { products: [""] }],
    ["a product of 257 characters", { products: ["a".repeat(257)] }],
    ["1,001 products", { products: Array.from({ length: 1_001 }, (_, i) => `p${i}`) }],
    ["an unknown field", { more: 1 }],
    ["null as products", { products: null }],
  ])("%s", async (_, change) => {
    const text = signAs(VENDOR_KEY, { ...vendor, ...change });
    expect(await verifyTrustDocument(text, trustsNone)).toEqual(NOT_A_TRUST_DOCUMENT);
    expect(await verifyTrustDocument(text, trusts(vendor))).toEqual(NOT_A_TRUST_DOCUMENT);
  });

  test("a weak key that signed it", async () => {
    expect(parsePublicKey(weak)).toBeNull();
    const header = base64url(
      JSON.stringify({ ...buildHeader("trust", VENDOR_KEY), kid: keyIdOf(weak) }),
    );
    const signature = base64url(new Uint8Array(64).with(0, 1));
    const text = `${header}.${base64url(JSON.stringify({ ...vendor, keys: [weak] }))}.${signature}`;
    expect(await verifyTrustDocument(text, trustsNone)).toEqual(NOT_A_TRUST_DOCUMENT);
  });

  test("the header of another kind", async () => {
    const text = signUnchecked(buildHeader("license", VENDOR_KEY), vendor, VENDOR_KEY);
    expect(await verifyTrustDocument(text, trustsNone)).toEqual(
      err({ wrong: "kind", kind: "license" }),
    );
  });

  test.each([
    ["null", null],
    ["a list", [vendor]],
    ["a number", 5],
  ])("%s as its payload", async (_, payload) => {
    expect(await verifyTrustDocument(signAs(VENDOR_KEY, payload), trustsNone)).toEqual(
      NOT_A_TRUST_DOCUMENT,
    );
  });

  test.each(["", "..", "a.b.c", "{}"])("a text that is no document: %p", async (text) => {
    expect(await verifyTrustDocument(text, trustsNone)).toEqual(err({ wrong: "form" }));
  });
});

describe("verifyTrustDocument accepts a document with", () => {
  test.each<[string, object]>([
    ["no product", { products: [] }],
    ["1,000 products", { products: Array.from({ length: 1_000 }, (_, i) => `p${i}`) }],
    ["16 keys", { keys: Array.from({ length: 16 }, () => publicPart(VENDOR_KEY)) }],
    ["version 1,000,000", { version: 1_000_000 }],
    [
      "a name and a product of 256 characters",
      { name: "a".repeat(256), products: ["b".repeat(256)] },
    ],
  ])("%s", async (_, change) => {
    expect(
      (await verifyTrustDocument(signAs(VENDOR_KEY, { ...vendor, ...change }), trustsNone)).ok,
    ).toBe(true);
  });
});

describe("the private part of a key", () => {
  test("is not written into a document", async () => {
    const text = await signTrustDocument({ ...vendor, keys: [VENDOR_KEY] }, VENDOR_KEY);
    expect(text).toBe(await signTrustDocument(vendor, VENDOR_KEY));
  });

  test("is not returned from a document that contains it", async () => {
    const text = signAs(VENDOR_KEY, { ...vendor, version: 3, keys: [VENDOR_KEY] });
    for (const findVendor of [trustsNone, trusts(vendor)]) {
      expect(JSON.stringify(await verifyTrustDocument(text, findVendor))).not.toContain(
        VENDOR_KEY.d,
      );
    }
  });
});

import { describe, expect, test } from "bun:test";
import { err } from "../../src/domain/result.ts";
import { parsePublicKey, publicPart } from "../../src/license/keys.ts";
import { signTrustDocument, verifyTrustDocument, type Vendor } from "../../src/license/trust.ts";
import {
  APPLIANCE_KEY as SUCCESSOR,
  base64url,
  signUnchecked,
  buildHeader,
  keyIdOf,
  UNTRUSTED_KEY,
  VENDOR_KEY,
  type TestKey,
} from "../vectors/generate.ts";

const one: Vendor = {
  vendor: keyIdOf(VENDOR_KEY),
  name: "Präzision",
  version: 2,
  products: ["modeler2", "viewer"],
  keys: [publicPart(VENDOR_KEY)],
};

const nobody = (): null => null;
const knowing =
  (...vendors: Vendor[]) =>
  (id: string): Vendor | null =>
    vendors.find(({ vendor }) => vendor === id) ?? null;

/** As somebody makes it who does not care for our rules. */
const signedBy = (key: TestKey, payload: unknown): string =>
  signUnchecked(buildHeader("trust", key), payload, key);

const WRONG_KEY = err("has an invalid signature" as const);
const NO_TRUST = err("is not a vendor's trust document" as const);

describe("a vendor nobody knows", () => {
  test("signs for itself", async () => {
    expect(await verifyTrustDocument(await signTrustDocument(one, VENDOR_KEY), nobody)).toEqual({
      ok: true,
      value: one,
    });
  });

  test("signs with its first key, whose fingerprint a person compares", async () => {
    const keys = [publicPart(VENDOR_KEY), publicPart(UNTRUSTED_KEY)];
    const text = await signTrustDocument({ ...one, keys }, VENDOR_KEY);
    expect(await verifyTrustDocument(text, nobody)).toEqual({ ok: true, value: { ...one, keys } });
  });

  test("cannot show another vendor's fingerprint and sign with a key behind it", async () => {
    const keys = [publicPart(VENDOR_KEY), publicPart(UNTRUSTED_KEY)];
    const text = signedBy(UNTRUSTED_KEY, { ...one, keys });
    expect(await verifyTrustDocument(text, nobody)).toEqual(WRONG_KEY);
  });

  test("cannot sign with a key it does not name", async () => {
    expect(await verifyTrustDocument(signedBy(UNTRUSTED_KEY, one), nobody)).toEqual(WRONG_KEY);
  });

  test("cannot sign with another key under a named key's name", async () => {
    const text = signUnchecked(buildHeader("trust", VENDOR_KEY), one, UNTRUSTED_KEY);
    expect(await verifyTrustDocument(text, nobody)).toEqual(WRONG_KEY);
  });

  test("is asked for by the id it claims", async () => {
    const asked: string[] = [];
    await verifyTrustDocument(await signTrustDocument(one, VENDOR_KEY), (id) => {
      asked.push(id);
      return null;
    });
    expect(asked).toEqual([one.vendor]);
  });
});

describe("a successor key", () => {
  const next: Vendor = { ...one, version: 3, keys: [publicPart(SUCCESSOR)] };

  test("comes in when the old one signs for it", async () => {
    const text = await signTrustDocument(next, VENDOR_KEY);
    expect(await verifyTrustDocument(text, knowing(one))).toEqual({ ok: true, value: next });
  });

  test("cannot sign itself in", async () => {
    expect(
      await verifyTrustDocument(await signTrustDocument(next, SUCCESSOR), knowing(one)),
    ).toEqual(WRONG_KEY);
    const both = { ...next, keys: [publicPart(VENDOR_KEY), publicPart(SUCCESSOR)] };
    expect(
      await verifyTrustDocument(await signTrustDocument(both, SUCCESSOR), knowing(one)),
    ).toEqual(WRONG_KEY);
  });

  test("cannot come in before the vendor is known", async () => {
    const both = { ...next, keys: [publicPart(SUCCESSOR), publicPart(VENDOR_KEY)] };
    for (const document of [next, both]) {
      expect(
        await verifyTrustDocument(await signTrustDocument(document, VENDOR_KEY), nobody),
      ).toEqual(
        err(
          "is a successor document of a vendor that is not trusted here: add its trust.jwt first",
        ),
      );
    }
  });

  test("beside the old one is as good as it", async () => {
    const both = { ...next, keys: [publicPart(VENDOR_KEY), publicPart(SUCCESSOR)] };
    for (const key of [VENDOR_KEY, SUCCESSOR]) {
      const text = await signTrustDocument({ ...both, version: 4 }, key);
      expect((await verifyTrustDocument(text, knowing(both))).ok).toBe(true);
    }
  });

  test("once it is in, signs in its turn, and the old one no longer does", async () => {
    const after = { ...next, version: 4 };
    const text = await signTrustDocument(after, SUCCESSOR);
    expect(await verifyTrustDocument(text, knowing(next))).toEqual({ ok: true, value: after });
    expect(
      await verifyTrustDocument(await signTrustDocument(after, VENDOR_KEY), knowing(next)),
    ).toEqual(WRONG_KEY);
  });
});

describe("a retired key", () => {
  const both: Vendor = {
    ...one,
    version: 3,
    keys: [publicPart(SUCCESSOR), publicPart(VENDOR_KEY)],
  };
  const retiring = (retired: unknown) => ({ ...both, retired }) as Vendor;

  test("is named by a document that it signs itself", async () => {
    for (const retired of [
      [{ key: keyIdOf(VENDOR_KEY) }],
      [{ key: keyIdOf(VENDOR_KEY), from: 1_800_000_000 }],
    ]) {
      const text = await signTrustDocument(retiring(retired), VENDOR_KEY);
      expect(await verifyTrustDocument(text, knowing(one))).toEqual({
        ok: true,
        value: retiring(retired),
      });
    }
  });

  test.each<[what: string, retired: unknown]>([
    ["the newest key", [{ key: keyIdOf(SUCCESSOR) }]],
    ["no key", []],
    ["a key that is no id", [{ key: "x" }]],
    ["a time that is no whole second", [{ key: keyIdOf(VENDOR_KEY), from: 1.5 }]],
    ["a time as text", [{ key: keyIdOf(VENDOR_KEY), from: "2027-01-01" }]],
    ["something more", [{ key: keyIdOf(VENDOR_KEY), until: 5 }]],
  ])("is not named by a document that retires %s", async (_what, retired) => {
    const text = await signTrustDocument(retiring(retired), VENDOR_KEY);
    expect(await verifyTrustDocument(text, knowing(one))).toEqual(
      err("is not a vendor's trust document"),
    );
  });

  test("signs no further document, and the newest key does", async () => {
    const known = retiring([{ key: keyIdOf(VENDOR_KEY) }]);
    const next = { ...known, version: 4 };
    const fault = err("is signed with a key that its vendor retired" as const);
    expect(
      await verifyTrustDocument(await signTrustDocument(next, VENDOR_KEY), knowing(known)),
    ).toEqual(fault);
    const text = await signTrustDocument(next, SUCCESSOR);
    expect(await verifyTrustDocument(text, knowing(known))).toEqual({ ok: true, value: next });
  });
});

describe("the version", () => {
  test("may not go back, although the right key signed", async () => {
    const text = await signTrustDocument({ ...one, version: 1 }, VENDOR_KEY);
    expect(await verifyTrustDocument(text, knowing(one))).toEqual(
      err("is older than the installed one"),
    );
  });

  test("may stay, for the document that is known", async () => {
    const text = await signTrustDocument(one, VENDOR_KEY);
    expect(await verifyTrustDocument(text, knowing(one))).toEqual({ ok: true, value: one });
  });

  test("may not stay when anything else changes", async () => {
    for (const change of [
      { products: ["cad"] },
      { keys: [publicPart(UNTRUSTED_KEY)] },
      { name: "X" },
    ]) {
      const text = await signTrustDocument({ ...one, ...change }, VENDOR_KEY);
      expect((await verifyTrustDocument(text, knowing(one))).ok).toBe(false);
    }
  });

  test("of another vendor does not matter", async () => {
    const other = {
      ...one,
      vendor: keyIdOf(UNTRUSTED_KEY),
      version: 9,
      keys: [publicPart(UNTRUSTED_KEY)],
    };
    expect(
      (await verifyTrustDocument(await signTrustDocument(one, VENDOR_KEY), knowing(other))).ok,
    ).toBe(true);
  });
});

describe("somebody else", () => {
  test("cannot claim a known vendor's id", async () => {
    const claim = { ...one, version: 9, name: "Other", keys: [publicPart(UNTRUSTED_KEY)] };
    expect(await verifyTrustDocument(signedBy(UNTRUSTED_KEY, claim), knowing(one))).toEqual(
      WRONG_KEY,
    );
    const hidden = { ...claim, keys: [publicPart(VENDOR_KEY), publicPart(UNTRUSTED_KEY)] };
    expect(await verifyTrustDocument(signedBy(UNTRUSTED_KEY, hidden), knowing(one))).toEqual(
      WRONG_KEY,
    );
  });

  test("cannot edit what a vendor signed", async () => {
    const [header = "", , signature = ""] = (await signTrustDocument(one, VENDOR_KEY)).split(".");
    for (const change of [
      { products: [...one.products, "cad"] },
      { version: 3 },
      { name: "Other" },
      { keys: [...one.keys, publicPart(UNTRUSTED_KEY)] },
    ]) {
      const payload = base64url(JSON.stringify({ ...one, ...change }));
      const text = `${header}.${payload}.${signature}`;
      expect(await verifyTrustDocument(text, nobody)).toEqual(WRONG_KEY);
      expect(await verifyTrustDocument(text, knowing(one))).toEqual(WRONG_KEY);
    }
  });
});

describe("a trust document is refused with", () => {
  const weak = { ...publicPart(VENDOR_KEY), x: base64url(new Uint8Array(32).with(0, 1)) };

  test.each<[string, object]>([
    ["a weak key", { keys: [weak] }],
    ["a weak key behind a good one", { keys: [publicPart(VENDOR_KEY), weak] }],
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
    ["half a version", { version: 2.5 }],
    ["version 1,000,001", { version: 1_000_001 }],
    ["an id of 15 characters", { vendor: one.vendor.slice(1) }],
    ["an id in small letters", { vendor: one.vendor.toLowerCase() }],
    ["an id with a letter read as a digit", { vendor: `O${one.vendor.slice(1)}` }],
    ["an empty product", { products: [""] }],
    ["a product of 257 characters", { products: ["a".repeat(257)] }],
    ["1,001 products", { products: Array.from({ length: 1_001 }, (_, i) => `p${i}`) }],
    ["another member", { more: 1 }],
    ["no products at all", { products: null }],
  ])("%s", async (_, change) => {
    const text = signedBy(VENDOR_KEY, { ...one, ...change });
    expect(await verifyTrustDocument(text, nobody)).toEqual(NO_TRUST);
    expect(await verifyTrustDocument(text, knowing(one))).toEqual(NO_TRUST);
  });

  test("a weak key as the signer's own", async () => {
    expect(parsePublicKey(weak)).toBeNull();
    const header = base64url(
      JSON.stringify({ ...buildHeader("trust", VENDOR_KEY), kid: keyIdOf(weak) }),
    );
    const signature = base64url(new Uint8Array(64).with(0, 1));
    const text = `${header}.${base64url(JSON.stringify({ ...one, keys: [weak] }))}.${signature}`;
    expect(await verifyTrustDocument(text, nobody)).toEqual(NO_TRUST);
  });

  test("another kind's name on it", async () => {
    const text = signUnchecked(buildHeader("license", VENDOR_KEY), one, VENDOR_KEY);
    expect(await verifyTrustDocument(text, nobody)).toEqual(err("is another kind of document"));
  });

  test.each([
    ["null", null],
    ["a list", [one]],
    ["a number", 5],
  ])("%s in it", async (_, payload) => {
    expect(await verifyTrustDocument(signedBy(VENDOR_KEY, payload), nobody)).toEqual(NO_TRUST);
  });

  test.each(["", "..", "a.b.c", "{}"])("nothing like it: %p", async (text) => {
    expect(await verifyTrustDocument(text, nobody)).toEqual(err("is not a signed document"));
  });
});

describe("bounds that still hold", () => {
  test.each<[string, object]>([
    ["no product", { products: [] }],
    ["1,000 products", { products: Array.from({ length: 1_000 }, (_, i) => `p${i}`) }],
    ["16 keys", { keys: Array.from({ length: 16 }, () => publicPart(VENDOR_KEY)) }],
    ["version 1,000,000", { version: 1_000_000 }],
    ["256 characters", { name: "a".repeat(256), products: ["b".repeat(256)] }],
  ])("%s", async (_, change) => {
    expect(
      (await verifyTrustDocument(signedBy(VENDOR_KEY, { ...one, ...change }), nobody)).ok,
    ).toBe(true);
  });
});

describe("a private part", () => {
  test("does not go into a document", async () => {
    const text = await signTrustDocument({ ...one, keys: [VENDOR_KEY] }, VENDOR_KEY);
    expect(text).toBe(await signTrustDocument(one, VENDOR_KEY));
  });

  test("does not come out of one", async () => {
    const careless = signedBy(VENDOR_KEY, { ...one, version: 3, keys: [VENDOR_KEY] });
    for (const known of [nobody, knowing(one)]) {
      expect(JSON.stringify(await verifyTrustDocument(careless, known))).not.toContain(
        VENDOR_KEY.d,
      );
    }
  });
});

import { describe, expect, test } from "bun:test";
import { err } from "../../src/domain/result.ts";
import { parsePublicKey, publicPart } from "../../src/license/keys.ts";
import { signTrust, verifyTrust, type Vendor } from "../../src/license/trust.ts";
import {
  APPLIANCE as SUCCESSOR,
  base64url,
  forge,
  headerOf,
  idOf,
  STRANGER,
  VENDOR,
  type TestKey,
} from "../vectors/make.ts";

const one: Vendor = {
  vendor: idOf(VENDOR),
  name: "Präzision",
  version: 2,
  products: ["modeler2", "viewer"],
  keys: [publicPart(VENDOR)],
};

const nobody = (): null => null;
const knowing =
  (...vendors: Vendor[]) =>
  (id: string): Vendor | null =>
    vendors.find(({ vendor }) => vendor === id) ?? null;

/** As somebody makes it who does not care for our rules. */
const signedBy = (key: TestKey, payload: unknown): string =>
  forge(headerOf("trust", key), payload, key);

const WRONG_KEY = err("has an invalid signature" as const);
const NO_TRUST = err("is not a vendor's trust document" as const);

describe("a vendor nobody knows", () => {
  test("signs for itself", async () => {
    expect(await verifyTrust(await signTrust(one, VENDOR), nobody)).toEqual({
      ok: true,
      value: one,
    });
  });

  test("signs with its first key, whose fingerprint a person compares", async () => {
    const keys = [publicPart(VENDOR), publicPart(STRANGER)];
    const text = await signTrust({ ...one, keys }, VENDOR);
    expect(await verifyTrust(text, nobody)).toEqual({ ok: true, value: { ...one, keys } });
  });

  test("cannot show another vendor's fingerprint and sign with a key behind it", async () => {
    const keys = [publicPart(VENDOR), publicPart(STRANGER)];
    const text = signedBy(STRANGER, { ...one, keys });
    expect(await verifyTrust(text, nobody)).toEqual(WRONG_KEY);
  });

  test("cannot sign with a key it does not name", async () => {
    expect(await verifyTrust(signedBy(STRANGER, one), nobody)).toEqual(WRONG_KEY);
  });

  test("cannot sign with another key under a named key's name", async () => {
    const text = forge(headerOf("trust", VENDOR), one, STRANGER);
    expect(await verifyTrust(text, nobody)).toEqual(WRONG_KEY);
  });

  test("is asked for by the id it claims", async () => {
    const asked: string[] = [];
    await verifyTrust(await signTrust(one, VENDOR), (id) => {
      asked.push(id);
      return null;
    });
    expect(asked).toEqual([one.vendor]);
  });
});

describe("a successor key", () => {
  const next: Vendor = { ...one, version: 3, keys: [publicPart(SUCCESSOR)] };

  test("comes in when the old one signs for it", async () => {
    const text = await signTrust(next, VENDOR);
    expect(await verifyTrust(text, knowing(one))).toEqual({ ok: true, value: next });
  });

  test("cannot sign itself in", async () => {
    expect(await verifyTrust(await signTrust(next, SUCCESSOR), knowing(one))).toEqual(WRONG_KEY);
    const both = { ...next, keys: [publicPart(VENDOR), publicPart(SUCCESSOR)] };
    expect(await verifyTrust(await signTrust(both, SUCCESSOR), knowing(one))).toEqual(WRONG_KEY);
  });

  test("cannot come in before the vendor is known", async () => {
    const both = { ...next, keys: [publicPart(SUCCESSOR), publicPart(VENDOR)] };
    for (const document of [next, both]) {
      expect(await verifyTrust(await signTrust(document, VENDOR), nobody)).toEqual(
        err(
          "is a successor document of a vendor that is not trusted here: add its trust.jwt first",
        ),
      );
    }
  });

  test("beside the old one is as good as it", async () => {
    const both = { ...next, keys: [publicPart(VENDOR), publicPart(SUCCESSOR)] };
    for (const key of [VENDOR, SUCCESSOR]) {
      const text = await signTrust({ ...both, version: 4 }, key);
      expect((await verifyTrust(text, knowing(both))).ok).toBe(true);
    }
  });

  test("once it is in, signs in its turn, and the old one no longer does", async () => {
    const after = { ...next, version: 4 };
    const text = await signTrust(after, SUCCESSOR);
    expect(await verifyTrust(text, knowing(next))).toEqual({ ok: true, value: after });
    expect(await verifyTrust(await signTrust(after, VENDOR), knowing(next))).toEqual(WRONG_KEY);
  });
});

describe("a retired key", () => {
  const both: Vendor = { ...one, version: 3, keys: [publicPart(SUCCESSOR), publicPart(VENDOR)] };
  const retiring = (retired: unknown) => ({ ...both, retired }) as Vendor;

  test("is named by a document that it signs itself", async () => {
    for (const retired of [[{ key: idOf(VENDOR) }], [{ key: idOf(VENDOR), from: 1_800_000_000 }]]) {
      const text = await signTrust(retiring(retired), VENDOR);
      expect(await verifyTrust(text, knowing(one))).toEqual({ ok: true, value: retiring(retired) });
    }
  });

  test.each<[what: string, retired: unknown]>([
    ["the newest key", [{ key: idOf(SUCCESSOR) }]],
    ["no key", []],
    ["a key that is no id", [{ key: "x" }]],
    ["a time that is no whole second", [{ key: idOf(VENDOR), from: 1.5 }]],
    ["a time as text", [{ key: idOf(VENDOR), from: "2027-01-01" }]],
    ["something more", [{ key: idOf(VENDOR), until: 5 }]],
  ])("is not named by a document that retires %s", async (_what, retired) => {
    const text = await signTrust(retiring(retired), VENDOR);
    expect(await verifyTrust(text, knowing(one))).toEqual(err("is not a vendor's trust document"));
  });

  test("signs no further document, and the newest key does", async () => {
    const known = retiring([{ key: idOf(VENDOR) }]);
    const next = { ...known, version: 4 };
    const fault = err("is signed with a key that its vendor retired" as const);
    expect(await verifyTrust(await signTrust(next, VENDOR), knowing(known))).toEqual(fault);
    const text = await signTrust(next, SUCCESSOR);
    expect(await verifyTrust(text, knowing(known))).toEqual({ ok: true, value: next });
  });
});

describe("the version", () => {
  test("may not go back, although the right key signed", async () => {
    const text = await signTrust({ ...one, version: 1 }, VENDOR);
    expect(await verifyTrust(text, knowing(one))).toEqual(err("is older than the installed one"));
  });

  test("may stay, for the document that is known", async () => {
    const text = await signTrust(one, VENDOR);
    expect(await verifyTrust(text, knowing(one))).toEqual({ ok: true, value: one });
  });

  test("may not stay when anything else changes", async () => {
    for (const change of [{ products: ["cad"] }, { keys: [publicPart(STRANGER)] }, { name: "X" }]) {
      const text = await signTrust({ ...one, ...change }, VENDOR);
      expect((await verifyTrust(text, knowing(one))).ok).toBe(false);
    }
  });

  test("of another vendor does not matter", async () => {
    const other = { ...one, vendor: idOf(STRANGER), version: 9, keys: [publicPart(STRANGER)] };
    expect((await verifyTrust(await signTrust(one, VENDOR), knowing(other))).ok).toBe(true);
  });
});

describe("somebody else", () => {
  test("cannot claim a known vendor's id", async () => {
    const claim = { ...one, version: 9, name: "Other", keys: [publicPart(STRANGER)] };
    expect(await verifyTrust(signedBy(STRANGER, claim), knowing(one))).toEqual(WRONG_KEY);
    const hidden = { ...claim, keys: [publicPart(VENDOR), publicPart(STRANGER)] };
    expect(await verifyTrust(signedBy(STRANGER, hidden), knowing(one))).toEqual(WRONG_KEY);
  });

  test("cannot edit what a vendor signed", async () => {
    const [header = "", , signature = ""] = (await signTrust(one, VENDOR)).split(".");
    for (const change of [
      { products: [...one.products, "cad"] },
      { version: 3 },
      { name: "Other" },
      { keys: [...one.keys, publicPart(STRANGER)] },
    ]) {
      const payload = base64url(JSON.stringify({ ...one, ...change }));
      const text = `${header}.${payload}.${signature}`;
      expect(await verifyTrust(text, nobody)).toEqual(WRONG_KEY);
      expect(await verifyTrust(text, knowing(one))).toEqual(WRONG_KEY);
    }
  });
});

describe("a trust document is refused with", () => {
  const weak = { ...publicPart(VENDOR), x: base64url(new Uint8Array(32).with(0, 1)) };

  test.each<[string, object]>([
    ["a weak key", { keys: [weak] }],
    ["a weak key behind a good one", { keys: [publicPart(VENDOR), weak] }],
    ["another curve's key", { keys: [publicPart(VENDOR), { ...weak, crv: "X25519" }] }],
    [
      "a key in another spelling",
      { keys: [{ ...publicPart(VENDOR), x: `${VENDOR.x.slice(0, -1)}p` }] },
    ],
    ["no key", { keys: [] }],
    ["65 keys", { keys: Array.from({ length: 65 }, () => publicPart(VENDOR)) }],
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
    const text = signedBy(VENDOR, { ...one, ...change });
    expect(await verifyTrust(text, nobody)).toEqual(NO_TRUST);
    expect(await verifyTrust(text, knowing(one))).toEqual(NO_TRUST);
  });

  test("a weak key as the signer's own", async () => {
    expect(parsePublicKey(weak)).toBeNull();
    const header = base64url(JSON.stringify({ ...headerOf("trust", VENDOR), kid: idOf(weak) }));
    const signature = base64url(new Uint8Array(64).with(0, 1));
    const text = `${header}.${base64url(JSON.stringify({ ...one, keys: [weak] }))}.${signature}`;
    expect(await verifyTrust(text, nobody)).toEqual(NO_TRUST);
  });

  test("another kind's name on it", async () => {
    const text = forge(headerOf("license", VENDOR), one, VENDOR);
    expect(await verifyTrust(text, nobody)).toEqual(err("is another kind of document"));
  });

  test.each([
    ["null", null],
    ["a list", [one]],
    ["a number", 5],
  ])("%s in it", async (_, payload) => {
    expect(await verifyTrust(signedBy(VENDOR, payload), nobody)).toEqual(NO_TRUST);
  });

  test.each(["", "..", "a.b.c", "{}"])("nothing like it: %p", async (text) => {
    expect(await verifyTrust(text, nobody)).toEqual(err("is not a signed document"));
  });
});

describe("bounds that still hold", () => {
  test.each<[string, object]>([
    ["no product", { products: [] }],
    ["1,000 products", { products: Array.from({ length: 1_000 }, (_, i) => `p${i}`) }],
    ["16 keys", { keys: Array.from({ length: 16 }, () => publicPart(VENDOR)) }],
    ["version 1,000,000", { version: 1_000_000 }],
    ["256 characters", { name: "a".repeat(256), products: ["b".repeat(256)] }],
  ])("%s", async (_, change) => {
    expect((await verifyTrust(signedBy(VENDOR, { ...one, ...change }), nobody)).ok).toBe(true);
  });
});

describe("a private part", () => {
  test("does not go into a document", async () => {
    const text = await signTrust({ ...one, keys: [VENDOR] }, VENDOR);
    expect(text).toBe(await signTrust(one, VENDOR));
  });

  test("does not come out of one", async () => {
    const careless = signedBy(VENDOR, { ...one, version: 3, keys: [VENDOR] });
    for (const known of [nobody, knowing(one)]) {
      expect(JSON.stringify(await verifyTrust(careless, known))).not.toContain(VENDOR.d);
    }
  });
});

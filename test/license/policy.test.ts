import { describe, expect, test } from "bun:test";
import { signDocument } from "../../src/license/document.ts";
import { keyIdOf, generateKey, publicPart } from "../../src/license/keys.ts";
import { signPolicy, verifyPolicy, type Policy } from "../../src/license/policy.ts";
import { terms } from "../support/scenario.ts";
import { VENDOR_KEY, toTermsDocument, makeVendor } from "../support/vendor.ts";

const OTHER_KEY = await generateKey();
const VENDOR = makeVendor();
const OTHER = makeVendor({ name: "Hooli" }, OTHER_KEY);

const policyWith = (differing: Partial<Policy> = {}): Policy => ({
  iss: keyIdOf(VENDOR_KEY),
  iat: 1_772_442_000,
  policy_id: "P-1",
  terms: toTermsDocument(terms()),
  ...differing,
});

const nobody = { ok: false, fault: "is not signed by a trusted vendor" } as const;
const notPolicy = { ok: false, fault: "is not a policy" } as const;
const edited = { ok: false, fault: "has an invalid signature" } as const;

/** Signed by the vendor, whatever it says. */
const signed = (payload: object): Promise<string> => signDocument("policy", payload, VENDOR_KEY);

describe("a policy", () => {
  test("is verified by the vendor that signed it, wherever it stands in the list", async () => {
    const policy = policyWith();
    const document = await signPolicy(policy, VENDOR_KEY);
    const verified = {
      ok: true,
      value: { policy, vendor: VENDOR, key: publicPart(VENDOR_KEY) },
    } as const;
    expect(await verifyPolicy(document, [VENDOR])).toEqual(verified);
    expect(await verifyPolicy(document, [OTHER, VENDOR])).toEqual(verified);
  });

  test("names the key that signed it, of a vendor with several", async () => {
    const successor = await generateKey();
    const vendor = makeVendor({ keys: [publicPart(VENDOR_KEY), publicPart(successor)] });
    const document = await signPolicy(policyWith(), successor);
    expect(await verifyPolicy(document, [vendor])).toMatchObject({
      ok: true,
      value: { key: publicPart(successor), vendor },
    });
  });

  test("of a vendor that is not trusted is told apart from a broken one", async () => {
    const document = await signPolicy(policyWith(), VENDOR_KEY);
    expect(await verifyPolicy(document, [])).toEqual(nobody);
    expect(await verifyPolicy(document, [OTHER])).toEqual(nobody);
  });

  test("under a trusted vendor's name but another's key is refused", async () => {
    const document = await signPolicy(policyWith(), OTHER_KEY);
    expect(await verifyPolicy(document, [VENDOR])).toEqual(nobody);
    expect(await verifyPolicy(document, [VENDOR, OTHER])).toEqual(notPolicy);
    const [, payload, signature] = document.split(".");
    const [header] = (await signPolicy(policyWith(), VENDOR_KEY)).split(".");
    const spliced = [header, payload, signature].join(".");
    expect(await verifyPolicy(spliced, [VENDOR])).toEqual(edited);
  });

  test("with any one character changed is refused", async () => {
    const document = await signPolicy(policyWith(), VENDOR_KEY);
    for (let at = 0; at < document.length; at += 1) {
      const other = document.charAt(at) === "A" ? "B" : "A";
      const changed = document.slice(0, at) + other + document.slice(at + 1);
      expect([at, (await verifyPolicy(changed, [VENDOR])).ok]).toEqual([at, false]);
    }
  });

  test.each(["license", "trust", "request", "lease", "receipt", "time"] as const)(
    "is not taken from a %s document",
    async (kind) => {
      const document = await signDocument(kind, policyWith(), VENDOR_KEY);
      const verified = await verifyPolicy(document, [VENDOR]);
      expect(verified).toEqual({ ok: false, fault: "is another kind of document" });
    },
  );

  test("is not any text that comes in", async () => {
    const texts = ["", "policy", "a.b", "a.b.c", "..", "e30.e30.e30", "x".repeat(49 * 1_024)];
    for (const text of texts) expect((await verifyPolicy(text, [VENDOR])).ok).toBe(false);
  });
});

describe("what a vendor signed and is no policy all the same", () => {
  const { policy_id: _id, ...nameless } = policyWith();
  const { terms: _terms, ...termless } = policyWith();

  test.each<[string, object]>([
    ["no id", nameless],
    ["an empty id", policyWith({ policy_id: "" })],
    ["an id that is too long", policyWith({ policy_id: "p".repeat(257) })],
    ["no terms", termless],
    ["another issuer", policyWith({ iss: keyIdOf(OTHER_KEY) })],
    ["a member nobody knows", { ...policyWith(), slots: 5 }],
    ["a term nobody knows", { ...policyWith(), terms: { ...policyWith().terms, seats: 5 } }],
    [
      "a day that does not exist",
      policyWith({ terms: { ...policyWith().terms, start: "2027-02-30T00:00:00.000Z" } }),
    ],
    ["a time before 1970", policyWith({ iat: -1 })],
    ["a list", [policyWith()]],
  ])("%s", async (_, payload) => {
    expect(await verifyPolicy(await signed(payload), [VENDOR])).toEqual(notPolicy);
  });
});

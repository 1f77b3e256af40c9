import { describe, expect, test } from "bun:test";
import { signDocument } from "../../../src/license/documents/document.ts";
import { keyIdOf, generateKey, publicPart } from "../../../src/license/documents/keys.ts";
import { signPolicy, verifyPolicy, type Policy } from "../../../src/license/terms/policy.ts";
import { terms } from "../../support/scenario.ts";
import { VENDOR_KEY, toTermsDocument, makeVendor } from "../../support/vendor.ts";

const OTHER_KEY = await generateKey();
const VENDOR = makeVendor();
const OTHER_VENDOR = makeVendor({ name: "Hooli" }, OTHER_KEY);

const policyWith = (differing: Partial<Policy> = {}): Policy => ({
  iss: keyIdOf(VENDOR_KEY),
  iat: 1_772_442_000,
  policy_id: "P-1",
  terms: toTermsDocument(terms()),
  ...differing,
});

const UNTRUSTED = { ok: false, fault: { wrong: "signer" } } as const;
const NOT_A_POLICY = { ok: false, fault: { wrong: "content", expected: "policy" } } as const;
const INVALID_SIGNATURE = { ok: false, fault: { wrong: "signature" } } as const;

/** Signs any payload as a policy of the vendor. */
const signPayload = (payload: object): Promise<string> =>
  signDocument("policy", payload, VENDOR_KEY);

describe("verifyPolicy", () => {
  test("accepts a policy of a trusted vendor, at any position in the list", async () => {
    const policy = policyWith();
    const document = await signPolicy(policy, VENDOR_KEY);
    const verified = {
      ok: true,
      value: { policy, vendor: VENDOR, key: publicPart(VENDOR_KEY) },
    } as const;
    expect(await verifyPolicy(document, [VENDOR])).toEqual(verified);
    expect(await verifyPolicy(document, [OTHER_VENDOR, VENDOR])).toEqual(verified);
  });

  test("returns the key that signed a policy of a vendor with several keys", async () => {
    const successor = await generateKey();
    const vendor = makeVendor({ keys: [publicPart(VENDOR_KEY), publicPart(successor)] });
    const document = await signPolicy(policyWith(), successor);
    expect(await verifyPolicy(document, [vendor])).toMatchObject({
      ok: true,
      value: { key: publicPart(successor), vendor },
    });
  });

  test("reports a policy of a vendor that is not trusted as such", async () => {
    const document = await signPolicy(policyWith(), VENDOR_KEY);
    expect(await verifyPolicy(document, [])).toEqual(UNTRUSTED);
    expect(await verifyPolicy(document, [OTHER_VENDOR])).toEqual(UNTRUSTED);
  });

  test("refuses a policy in a trusted vendor's name that another key signed", async () => {
    const document = await signPolicy(policyWith(), OTHER_KEY);
    expect(await verifyPolicy(document, [VENDOR])).toEqual(UNTRUSTED);
    expect(await verifyPolicy(document, [VENDOR, OTHER_VENDOR])).toEqual(NOT_A_POLICY);
    const [, payload, signature] = document.split(".");
    const [header] = (await signPolicy(policyWith(), VENDOR_KEY)).split(".");
    const spliced = [header, payload, signature].join(".");
    expect(await verifyPolicy(spliced, [VENDOR])).toEqual(INVALID_SIGNATURE);
  });

  test("refuses a policy with any one character changed", async () => {
    const document = await signPolicy(policyWith(), VENDOR_KEY);
    for (let index = 0; index < document.length; index += 1) {
      const other = document.charAt(index) === "A" ? "B" : "A";
      const changed = document.slice(0, index) + other + document.slice(index + 1);
      expect([index, (await verifyPolicy(changed, [VENDOR])).ok]).toEqual([index, false]);
    }
  });

  test.each(["license", "trust", "request", "lease", "receipt", "time"] as const)(
    "refuses a %s document",
    async (kind) => {
      const document = await signDocument(kind, policyWith(), VENDOR_KEY);
      const verified = await verifyPolicy(document, [VENDOR]);
      expect(verified).toEqual({ ok: false, fault: { wrong: "kind", kind } });
    },
  );

  test("refuses texts that are no documents", async () => {
    const texts = ["", "policy", "a.b", "a.b.c", "..", "e30.e30.e30", "x".repeat(49 * 1_024)];
    for (const text of texts) expect((await verifyPolicy(text, [VENDOR])).ok).toBe(false);
  });
});

describe("verifyPolicy refuses a correctly signed payload", () => {
  const { policy_id: _id, ...withoutId } = policyWith();
  const { terms: _terms, ...withoutTerms } = policyWith();

  test.each<[string, object]>([
    ["without an id", withoutId],
    ["with an empty id", policyWith({ policy_id: "" })],
    ["with an id of 257 characters", policyWith({ policy_id: "p".repeat(257) })],
    ["without terms", withoutTerms],
    ["with another issuer", policyWith({ iss: keyIdOf(OTHER_KEY) })],
    ["with an unknown field", { ...policyWith(), slots: 5 }],
    ["with an unknown term", { ...policyWith(), terms: { ...policyWith().terms, seats: 5 } }],
    [
      "with a day that does not exist",
      policyWith({ terms: { ...policyWith().terms, start: "2027-02-30T00:00:00.000Z" } }),
    ],
    ["with a time before 1970", policyWith({ iat: -1 })],
    ["that is a list", [policyWith()]],
  ])("%s", async (_, payload) => {
    expect(await verifyPolicy(await signPayload(payload), [VENDOR])).toEqual(NOT_A_POLICY);
  });
});

import { describe, expect, test } from "bun:test";
import { signCertified, signDocument } from "../../../src/license/documents/document.ts";
import { publicPart } from "../../../src/license/documents/keys.ts";
import { signPolicy, verifyPolicy, type Policy } from "../../../src/license/terms/policy.ts";
import { terms } from "../../support/scenario.ts";
import {
  certifyKey,
  createVendor,
  makeVendor,
  toTermsDocument,
  VENDOR,
} from "../../support/vendor.ts";

const OTHER = await createVendor();
const TRUSTED = makeVendor();
const OTHER_TRUSTED = makeVendor({ name: "Hooli" }, OTHER.root);
const { issuing } = VENDOR;

const policyWith = (differing: Partial<Policy> = {}): Policy => ({
  iss: VENDOR.id,
  iat: 1_772_442_000,
  policy_id: "P-1",
  terms: toTermsDocument(terms()),
  ...differing,
});

const UNTRUSTED = { ok: false, fault: { wrong: "signer" } } as const;
const NOT_A_POLICY = { ok: false, fault: { wrong: "content", expected: "policy" } } as const;
const INVALID_SIGNATURE = { ok: false, fault: { wrong: "signature" } } as const;
const NOT_CERTIFIED = { ok: false, fault: { wrong: "certificate" } } as const;

/** Signs any payload as a policy of the vendor. */
const signPayload = (payload: object): Promise<string> => signCertified("policy", payload, issuing);

describe("verifyPolicy", () => {
  test("accepts a policy of a trusted vendor, at any position in the list", async () => {
    const policy = policyWith();
    const document = await signPolicy(policy, issuing);
    const verified = {
      ok: true,
      value: { policy, signer: { vendor: TRUSTED, key: publicPart(issuing.key) } },
    } as const;
    expect(await verifyPolicy(document, [TRUSTED])).toMatchObject(verified);
    expect(await verifyPolicy(document, [OTHER_TRUSTED, TRUSTED])).toMatchObject(verified);
  });

  test("returns the key that signed a policy of a vendor with several issuing keys", async () => {
    const next = await certifyKey(VENDOR.root, { trust: 7, until: 5 });
    const document = await signPolicy(policyWith(), next);
    expect(await verifyPolicy(document, [TRUSTED])).toMatchObject({
      ok: true,
      value: {
        signer: {
          vendor: TRUSTED,
          key: publicPart(next.key),
          certificate: { trust: 7, until: 5 },
        },
      },
    });
  });

  test("reports a policy of a vendor that is not trusted as such", async () => {
    const document = await signPolicy(policyWith(), issuing);
    expect(await verifyPolicy(document, [])).toEqual(UNTRUSTED);
    expect(await verifyPolicy(document, [OTHER_TRUSTED])).toEqual(UNTRUSTED);
  });

  test("refuses a policy in a trusted vendor's name that another vendor signed", async () => {
    const document = await signPolicy(policyWith(), OTHER.issuing);
    expect(await verifyPolicy(document, [TRUSTED])).toEqual(UNTRUSTED);
    expect(await verifyPolicy(document, [TRUSTED, OTHER_TRUSTED])).toEqual(NOT_A_POLICY);
    const [, payload, signature] = document.split(".");
    const [header] = (await signPolicy(policyWith(), issuing)).split(".");
    const spliced = [header, payload, signature].join(".");
    expect(await verifyPolicy(spliced, [TRUSTED])).toEqual(INVALID_SIGNATURE);
  });

  test("refuses a policy that the root signed with its own certificate for itself", async () => {
    const ofRoot = await certifyKey(VENDOR.root, {}, VENDOR.root);
    const document = await signPolicy(policyWith(), ofRoot);
    expect(await verifyPolicy(document, [TRUSTED])).toEqual(NOT_CERTIFIED);
  });

  test("refuses a policy whose issuing key is the root of another trusted vendor", async () => {
    const ofOther = await certifyKey(VENDOR.root, {}, OTHER.root);
    const document = await signPolicy(policyWith(), ofOther);
    expect((await verifyPolicy(document, [TRUSTED])).ok).toBe(true);
    expect(await verifyPolicy(document, [TRUSTED, OTHER_TRUSTED])).toEqual(NOT_CERTIFIED);
  });

  test("refuses a policy with any one character changed", async () => {
    const document = await signPolicy(policyWith(), issuing);
    for (let index = 0; index < document.length; index += 1) {
      const other = document.charAt(index) === "A" ? "B" : "A";
      const changed = document.slice(0, index) + other + document.slice(index + 1);
      expect([index, (await verifyPolicy(changed, [TRUSTED])).ok]).toEqual([index, false]);
    }
  });

  test.each(["license", "trust", "request", "lease", "receipt", "time", "key"] as const)(
    "refuses a %s document",
    async (kind) => {
      const document =
        kind === "license" || kind === "time"
          ? await signCertified(kind, policyWith(), issuing)
          : await signDocument(kind, policyWith(), issuing.key);
      const verified = await verifyPolicy(document, [TRUSTED]);
      expect(verified).toEqual({ ok: false, fault: { wrong: "kind", kind } });
    },
  );

  test("refuses texts that are no documents", async () => {
    const texts = ["", "policy", "a.b", "a.b.c", "..", "e30.e30.e30", "x".repeat(49 * 1_024)];
    for (const text of texts) expect((await verifyPolicy(text, [TRUSTED])).ok).toBe(false);
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
    ["with another issuer", policyWith({ iss: OTHER.id })],
    ["with an unknown field", { ...policyWith(), slots: 5 }],
    ["with an unknown term", { ...policyWith(), terms: { ...policyWith().terms, seats: 5 } }],
    [
      "with a day that does not exist",
      policyWith({ terms: { ...policyWith().terms, start: "2027-02-30T00:00:00.000Z" } }),
    ],
    ["with a time before 1970", policyWith({ iat: -1 })],
    ["that is a list", [policyWith()]],
  ])("%s", async (_, payload) => {
    expect(await verifyPolicy(await signPayload(payload), [TRUSTED])).toEqual(NOT_A_POLICY);
  });
});

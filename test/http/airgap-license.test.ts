import { describe, expect, test } from "bun:test";
import { decodeJwt } from "jose";
import { DAY, instant } from "../../src/domain/time.ts";
import { canonicalizeCode } from "../../src/license/code.ts";
import { decodeActivationCode, decodeConfirmationCode } from "../../src/license/confirmation.ts";
import { publicPart } from "../../src/license/keys.ts";
import { realDisk } from "../../src/platform/disk.ts";
import { sha256 } from "../../src/platform/hash.ts";
import { createPolicy } from "../../src/desk/airgap.ts";
import { Ledger } from "../../src/desk/ledger.ts";
import {
  AirgapSite,
  LICENSE_KEY,
  makeDesk,
  openAirgapSite,
  PRODUCT,
} from "../support/airgap-site.ts";
import {
  expectOk,
  expectRefusal,
  expectRefusedUnchanged,
  openAppliance,
} from "../support/appliance.ts";
import { unwrap } from "../support/licensed-store.ts";
import { makeConfirmationCodeV1 } from "../support/confirmation-code-v1.ts";
import { MONDAY } from "../support/scenario.ts";
import { tempFolder } from "../support/temp-folder.ts";

const WRONG =
  "the code does not match any activation code of this appliance with this policy and license key";

const bytesOf = (code: string): Buffer => {
  const decoded = decodeConfirmationCode(code);
  if (!decoded.ok) throw new Error(JSON.stringify(decoded.fault));
  return Buffer.from(decoded.value.bytes, "hex");
};

/** Nothing is installed, nothing is written, and nobody learns why. */
async function expectWrong(
  air: AirgapSite,
  body: Parameters<AirgapSite["addLicense"]>[0],
): Promise<void> {
  const message = await expectRefusedUnchanged(air.site, 400, "invalid_confirmation_code", () =>
    air.addLicense(body),
  );
  expect(message).toBe(WRONG);
}

describe("the whole loop", () => {
  test("ends with a license that serves", async () => {
    const air = await openAirgapSite();
    const license = expectOk(await air.addLicense(await air.makeLicenseBody()));
    expect(license).toMatchObject({
      license_key: LICENSE_KEY,
      product_details: { short_code: PRODUCT },
      floating_users: 3,
      is_air_gapped: true,
      policy_id: "P-1",
      validity_period: null,
    });
    expect(Number.isSafeInteger(license.id)).toBe(true);
    expect(expectOk(await air.site.license())).toEqual(license);
    expect(expectOk(await air.site.register({ user: "ada" })).license_id).toBe(license.id);
  });

  test("gives back the bundle an application checks, and leases that point to the code", async () => {
    const air = await openAirgapSite();
    const body = await air.makeLicenseBody();
    const { id } = expectOk(await air.addLicense(body));
    const [response, text] = await air.site.get<string>("/api/v4/license", {
      accept: "application/jwt",
    });
    expect(response.status).toBe(200);
    const bundle = (typeof text === "string" ? JSON.parse(text) : text) as Record<string, unknown>;
    const { identity } = air.site.services;
    expect(bundle).toEqual({
      version: 2,
      kind: 1,
      policy: body.license_policy,
      confirmation_code: body.confirmation_code,
      license_key: LICENSE_KEY,
      appliance_id: identity.id,
      hardware_prefix: identity.hashHardware().hardwareId.slice(0, 10),
      nonce: expect.stringMatching(/^[\da-f]{10}$/) as string,
      initialization_code: "",
      appliance_jwk: publicPart(identity.key),
    });
    const nonce = { "x-nonce": "0123456789abcdef" };
    const { lease } = expectOk(await air.site.register({ user: "ada" }, nonce));
    const lic = new Bun.CryptoHasher("sha256").update(bytesOf(body.confirmation_code));
    expect(decodeJwt(lease ?? "")).toMatchObject({
      lic: lic.digest("hex"),
      license_id: id,
      serial: 1,
      aud: PRODUCT,
    });
  });

  test("outlives the process", async () => {
    const air = await openAirgapSite();
    const body = await air.makeLicenseBody();
    const license = expectOk(await air.addLicense(body));
    await air.site.stop();
    const site = await openAppliance({ licenses: {}, folder: air.site.folder });
    expect(expectOk(await site.license(`?product=${PRODUCT}`))).toEqual(license);
    expect(expectOk(await new AirgapSite(site, air.desk).addLicense(body))).toEqual(license);
  });
});

describe("what is needed", () => {
  test("is named all at once", async () => {
    const air = await openAirgapSite();
    const asked = async (fields: object) =>
      expectRefusal(await air.addLicense(fields), 400, "missing_parameters");
    const all = "license_policy, license_key and confirmation_code must be given";
    expect(await asked({})).toBe(all);
    expect(await asked({ license_policy: " ", license_key: "", confirmation_code: "\n" })).toBe(
      all,
    );
    expect(await asked({ license_key: "K", policy_id: "P-1" })).toBe(
      "license_policy and confirmation_code must be given",
    );
  });

  test("is not policy_id: absent, empty or null is the policy's own", async () => {
    for (const policy_id of [undefined, "", null]) {
      const air = await openAirgapSite();
      const { policy_id: _id, ...body } = await air.makeLicenseBody();
      const given = { ...body, ...(policy_id !== undefined && { policy_id }) };
      expectOk(await air.site.post("airgap/license", given));
    }
  });

  test("a policy_id that is not the policy's is told, before the code is looked at", async () => {
    const air = await openAirgapSite();
    const body = await air.makeLicenseBody();
    for (const policy_id of ["P-2", "p-1", "P-1 "]) {
      await expectRefusedUnchanged(air.site, 400, "policy_mismatch", () =>
        air.addLicense({ ...body, policy_id }),
      );
    }
    const unread = { ...body, policy_id: "P-2", confirmation_code: "x" };
    expectRefusal(await air.addLicense(unread), 400, "policy_mismatch");
    expectOk(await air.addLicense(body));
  });

  test("a policy_id may be a JSON number", async () => {
    const air = await openAirgapSite();
    const body = await air.makeLicenseBody({ policy: await air.makePolicy("2027") });
    expectOk(await air.addLicense({ ...body, policy_id: 2027 }));
  });

  test("is an administrator's, on the machine itself", async () => {
    const air = await openAirgapSite();
    const body = await air.makeLicenseBody();
    air.site.peer = "10.1.2.3";
    expectRefusal(await air.addLicense(body), 401, "unauthorized");
  });
});

describe("the policy", () => {
  const wrapped = (text: string): string => text.replaceAll(/.{60}/g, "$&\r\n  ");
  const base64 = (text: string): string => Buffer.from(text).toString("base64");

  test.each<[string, (policy: string) => string]>([
    ["as it is", (policy) => policy],
    ["with white space around and in it", (policy) => `\n\t${wrapped(policy)} \n`],
    ["as base64", base64],
    ["as base64 in lines", (policy) => wrapped(base64(policy))],
    ["as base64 of a file with its line feed", (policy) => base64(`${policy}\n`)],
    ["as base64url without padding", (policy) => Buffer.from(policy).toString("base64url")],
  ])("is taken %s", async (_, spell) => {
    const air = await openAirgapSite();
    const body = await air.makeLicenseBody();
    expectOk(await air.addLicense({ ...body, license_policy: spell(body.license_policy) }));
  });

  test("of a vendor nobody trusts here is refused, whatever the code", async () => {
    const air = await openAirgapSite();
    const stranger = new AirgapSite(air.site, await makeDesk());
    const body = await stranger.makeLicenseBody();
    await expectRefusedUnchanged(air.site, 400, "untrusted_vendor", () => air.addLicense(body));
  });

  test("for a product that is not the vendor's is refused", async () => {
    const air = await openAirgapSite();
    const greedy = await makeDesk([PRODUCT, "cad"]);
    const desk = Object.assign(Object.create(Object.getPrototypeOf(air.desk) as object), air.desk, {
      vendor: { ...air.desk.vendor, products: greedy.vendor.products },
    }) as typeof air.desk;
    const policy = await createPolicy(desk, "P-9", { product: "cad" }, MONDAY);
    const body = await air.makeLicenseBody({ policy });
    await expectRefusedUnchanged(air.site, 400, "untrusted_vendor", () => air.addLicense(body));
  });

  test("that was edited is refused, and so is any other document", async () => {
    const air = await openAirgapSite();
    const body = await air.makeLicenseBody();
    const [header = "", payload = "", signature = ""] = body.license_policy.split(".");
    const text = Buffer.from(payload, "base64url").toString().replace('"slots":3', '"slots":9');
    const forged = [header, Buffer.from(text).toString("base64url"), signature].join(".");
    for (const license_policy of [
      forged,
      await air.site.makeRequestDocument(),
      "nonsense",
      "a.b.c",
      "....",
    ]) {
      const message = await expectRefusedUnchanged(air.site, 400, "invalid_license_file", () =>
        air.addLicense({ ...body, license_policy }),
      );
      expect(message).toMatch(/^the file (?:is|has) /);
    }
  });

  test("that was confirmed is meant, not another of the same vendor", async () => {
    const air = await openAirgapSite();
    const body = await air.makeLicenseBody();
    const license_policy = await air.replacePolicy("P-1", { slots: 300 });
    await expectWrong(air, { ...body, license_policy });
    expectOk(await air.addLicense(body));
  });
});

describe("a wrong code", () => {
  test("with a wrong symbol is told the row", async () => {
    const air = await openAirgapSite();
    const body = await air.makeLicenseBody();
    const rows = body.confirmation_code.split("\n");
    expect(rows).toHaveLength(6);
    for (const [index, row] of rows.entries()) {
      const typo = row.replace(/^./, (first) => (first === "7" ? "8" : "7"));
      const confirmation_code = rows.with(index, typo).join("\n");
      const message = await expectRefusedUnchanged(air.site, 400, "invalid_confirmation_code", () =>
        air.addLicense({ ...body, confirmation_code }),
      );
      expect(message).toBe(`row ${index + 1} of the code was misread or mistyped`);
    }
    expectOk(await air.addLicense(body));
  });

  test("is taken in lower case, with I and O, in one line", async () => {
    const air = await openAirgapSite();
    const body = await air.makeLicenseBody();
    const typed = canonicalizeCode(body.confirmation_code).toLowerCase();
    const confirmation_code = typed.replaceAll("0", "o").replaceAll("1", "i");
    expectOk(await air.addLicense({ ...body, confirmation_code }));
  });

  test("gets one and the same answer, whatever is wrong with it", async () => {
    const air = await openAirgapSite();
    const other = new AirgapSite((await openAirgapSite()).site, air.desk);
    const body = await air.makeLicenseBody();
    const { confirmation_code: forOther } = await other.makeLicenseBody({ serial: 2 });
    const forged = new AirgapSite(air.site, await makeDesk());
    const stranger = await forged.makeLicenseBody();
    await expectWrong(air, { ...body, license_key: "MESH-0002" });
    await expectWrong(air, { ...body, confirmation_code: forOther });
    await expectWrong(air, { ...body, confirmation_code: stranger.confirmation_code });
    await expectWrong(air, { ...body, confirmation_code: "7K2MX" });
    const otherKey = await air.makeLicenseBody({ licenseKey: "MESH-0002" });
    await expectWrong(air, { ...body, confirmation_code: otherKey.confirmation_code });
    expectOk(await air.addLicense(body));
  });

  test("may come 60 times a minute, and then even the right one has to wait", async () => {
    const air = await openAirgapSite();
    const body = await air.makeLicenseBody();
    for (let wrong = 0; wrong < 60; wrong += 1) {
      const answer = await air.addLicense({ ...body, license_key: `MESH-${wrong}-X` });
      expectRefusal(answer, 400, "invalid_confirmation_code");
    }
    await expectRefusedUnchanged(air.site, 429, "too_many_requests", () => air.addLicense(body));
    expectOk(await air.generateActivation({ license_key: LICENSE_KEY }));
  });
});

describe("a code that an older version of the desk made", () => {
  /** What such a desk said to the newest activation code, and put on its ledger. */
  async function confirmedBefore(air: AirgapSite) {
    const policy = await air.makePolicy();
    const activationCode = await air.requestActivationCode();
    const activation = unwrap(decodeActivationCode(activationCode));
    const named = { licenseKey: LICENSE_KEY, policyHash: sha256(policy), initializationCode: "" };
    const code = makeConfirmationCodeV1({ activation, ...named }, 1, air.desk.key);
    await air.confirmAtDesk(policy, activationCode);
    const [issued] = air.desk.ledger.issuedEntries();
    if (issued === undefined) throw new Error("nothing is on the ledger");
    const folder = tempFolder();
    await Ledger.create(realDisk, folder);
    const ledger = await Ledger.open(realDisk, folder);
    await ledger.append({ ...issued, document: code });
    const desk = Object.assign(Object.create(Object.getPrototypeOf(air.desk) as object), air.desk, {
      ledger,
    }) as typeof air.desk;
    const body = { license_policy: policy, license_key: LICENSE_KEY, policy_id: "P-1" };
    return { desk, policy, activationCode, body: { ...body, confirmation_code: code } };
  }

  test("is refused as such, and the activation stays open", async () => {
    const air = await openAirgapSite();
    const { body } = await confirmedBefore(air);
    const message = await expectRefusedUnchanged(air.site, 400, "outdated_confirmation_code", () =>
      air.addLicense(body),
    );
    expect(message).toContain("older version of berth");
    expect(message).toContain("the vendor must update berth");
    for (let again = 0; again < 70; again += 1) await air.addLicense(body);
    expectRefusal(await air.addLicense(body), 400, "outdated_confirmation_code");
  });

  test("for another activation is just a wrong one", async () => {
    const air = await openAirgapSite();
    const other = new AirgapSite((await openAirgapSite()).site, air.desk);
    const { body } = await confirmedBefore(other);
    await air.requestActivationCode();
    await expectWrong(air, body);
  });

  test("is made anew by the updated desk, with the same serial, and then installs", async () => {
    const air = await openAirgapSite();
    const { desk, policy, activationCode, body } = await confirmedBefore(air);
    const updated = new AirgapSite(air.site, desk);
    const confirmation_code = await updated.confirmAtDesk(policy, activationCode);
    expect(confirmation_code).not.toBe(body.confirmation_code);
    expect(desk.ledger.issuedEntries().map(({ serial }) => serial)).toEqual([1, 1]);
    expect(await updated.confirmAtDesk(policy, activationCode)).toBe(confirmation_code);
    expectOk(await air.addLicense({ ...body, confirmation_code }));
  });
});

describe("its own end", () => {
  test("is the code's where it says one, else the policy's", async () => {
    const air = await openAirgapSite();
    const policy = await air.makePolicy("P-1", { valid_until: "2027-06-30T12:00:00.000Z" });
    const first = expectOk(await air.addLicense(await air.makeLicenseBody({ policy })));
    expect(first.validity_period).toBe("2027-06-30T12:00:00.000Z");
    const validUntil = instant(Math.floor(MONDAY / DAY) * DAY + 10 * DAY);
    const second = expectOk(
      await air.addLicense(await air.makeLicenseBody({ policy, validUntil })),
    );
    expect(second.validity_period).toBe("2026-03-12T00:00:00.000Z");
    air.site.clock.now = validUntil;
    expectRefusal(await air.site.register({ user: "ada" }), 400, "license_expired");
  });
});

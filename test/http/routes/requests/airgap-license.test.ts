import { describe, expect, test } from "bun:test";
import { decodeJwt } from "jose";
import { DAY, instant, later } from "../../../../src/domain/time.ts";
import { canonicalizeCode } from "../../../../src/license/codes/code.ts";
import { decodeConfirmationCode } from "../../../../src/license/codes/confirmation.ts";
import { keyIdOf, publicPart } from "../../../../src/license/documents/keys.ts";
import { signPolicy, type Policy } from "../../../../src/license/terms/policy.ts";
import {
  type ActivationReply,
  AirgapSite,
  LICENSE_KEY,
  makeDesk,
  openAirgapSite,
  PRODUCT,
} from "../../../support/airgap-site.ts";
import {
  expectOk,
  expectRefusal,
  expectRefusedUnchanged,
  openAppliance,
} from "../../../support/appliance.ts";
import { unwrap } from "../../../support/licensed-store.ts";
import { MONDAY } from "../../../support/scenario.ts";
import {
  certifyKey,
  makeAirgapLicenseBody,
  makeTrustDocument,
  VENDOR,
  VENDOR_KEY,
} from "../../../support/vendor.ts";

const WRONG_CODE =
  "the code does not fit this appliance, this policy and this license key; check all three";

const confirmationBytes = (code: string): Buffer => {
  const decoded = decodeConfirmationCode(code);
  if (!decoded.ok) throw new Error(JSON.stringify(decoded.fault));
  return Buffer.from(decoded.value.bytes, "hex");
};

/** Nothing is installed or written, and the message gives no reason that would help to guess. */
async function expectWrongCode(
  air: AirgapSite,
  body: Parameters<AirgapSite["addLicense"]>[0],
): Promise<void> {
  const message = await expectRefusedUnchanged(air.site, 400, "invalid_confirmation_code", () =>
    air.addLicense(body),
  );
  expect(message).toBe(WRONG_CODE);
}

describe("airgap/license", () => {
  test("installs a license that grants slots", async () => {
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

  test("takes a license key that a desk made in another spelling than the activation code", async () => {
    const air = await openAirgapSite();
    const body = await air.makeLicenseBody({ licenseKey: "q041b b2je3 y9wcw 088gg" });
    const license_key = "Q041B-B2JE3-Y9WCW-088GG";
    for (const typed of ["QO41BB2JE3Y9WCW088GG", "q041b-b2je3-y9wcw-088gg"]) {
      const license = expectOk(await air.addLicense({ ...body, license_key: typed }));
      expect(license).toMatchObject({ license_key, product_details: { short_code: PRODUCT } });
      expect(expectOk(await air.site.license())).toEqual(license);
    }
    await expectWrongCode(air, { ...body, license_key: "Q041B-B2JE3-Y9WCW-088GH" });
  });

  test("leads to the bundle an application checks, and to leases that refer to the code", async () => {
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
    const lic = new Bun.CryptoHasher("sha256").update(confirmationBytes(body.confirmation_code));
    expect(decodeJwt(lease ?? "")).toMatchObject({
      lic: lic.digest("hex"),
      license_id: id,
      serial: 1,
      aud: PRODUCT,
    });
  });

  test("installs a license that survives a restart, and then accepts the same code again", async () => {
    const air = await openAirgapSite();
    const body = await air.makeLicenseBody();
    const license = expectOk(await air.addLicense(body));
    await air.site.stop();
    const site = await openAppliance({ licenses: {}, folder: air.site.folder });
    expect(expectOk(await site.license(`?product=${PRODUCT}`))).toEqual(license);
    expect(expectOk(await new AirgapSite(site, air.desk).addLicense(body))).toEqual(license);
  });
});

describe("a request to airgap/license", () => {
  test("is refused with the names of all missing fields", async () => {
    const air = await openAirgapSite();
    const refusalFor = async (fields: object) =>
      expectRefusal(await air.addLicense(fields), 400, "missing_parameters");
    const allMissing = "license_policy, license_key and confirmation_code must be given";
    expect(await refusalFor({})).toBe(allMissing);
    expect(
      await refusalFor({ license_policy: " ", license_key: "", confirmation_code: "\n" }),
    ).toBe(allMissing);
    expect(await refusalFor({ license_key: "K", policy_id: "P-1" })).toBe(
      "license_policy and confirmation_code must be given",
    );
  });

  test("may leave out policy_id, or send it empty or null", async () => {
    for (const policy_id of [undefined, "", null]) {
      const air = await openAirgapSite();
      const { policy_id: _id, ...body } = await air.makeLicenseBody();
      const fields = { ...body, ...(policy_id !== undefined && { policy_id }) };
      expectOk(await air.site.post("airgap/license", fields));
    }
  });

  test("is refused with policy_mismatch before the code is checked", async () => {
    const air = await openAirgapSite();
    const body = await air.makeLicenseBody();
    for (const policy_id of ["P-2", "p-1", "P-1 "]) {
      await expectRefusedUnchanged(air.site, 400, "policy_mismatch", () =>
        air.addLicense({ ...body, policy_id }),
      );
    }
    const withBadCode = { ...body, policy_id: "P-2", confirmation_code: "x" };
    expectRefusal(await air.addLicense(withBadCode), 400, "policy_mismatch");
    expectOk(await air.addLicense(body));
  });

  test("may send policy_id as a JSON number", async () => {
    const air = await openAirgapSite();
    const body = await air.makeLicenseBody({ policy: await air.makePolicy("2027") });
    expectOk(await air.addLicense({ ...body, policy_id: 2027 }));
  });

  test("is refused with 401 from another machine without a credential", async () => {
    const air = await openAirgapSite();
    const body = await air.makeLicenseBody();
    air.site.peer = "10.1.2.3";
    expectRefusal(await air.addLicense(body), 401, "unauthorized");
  });
});

describe("the policy of airgap/license", () => {
  const wrapLines = (text: string): string => text.replaceAll(/.{60}/g, "$&\r\n  ");
  const base64 = (text: string): string => Buffer.from(text).toString("base64");

  test.each<[string, (policy: string) => string]>([
    ["as it is", (policy) => policy],
    ["with white space around and in it", (policy) => `\n\t${wrapLines(policy)} \n`],
    ["as base64", base64],
    ["as base64 in lines", (policy) => wrapLines(base64(policy))],
    ["as base64 of a file with its line feed", (policy) => base64(`${policy}\n`)],
    ["as base64url without padding", (policy) => Buffer.from(policy).toString("base64url")],
  ])("is accepted %s", async (_, encode) => {
    const air = await openAirgapSite();
    const body = await air.makeLicenseBody();
    expectOk(await air.addLicense({ ...body, license_policy: encode(body.license_policy) }));
  });

  test("is refused when its vendor is not trusted, whatever the code", async () => {
    const air = await openAirgapSite();
    const untrusted = new AirgapSite(air.site, await makeDesk());
    const body = await untrusted.makeLicenseBody();
    await expectRefusedUnchanged(air.site, 400, "untrusted_vendor", () => air.addLicense(body));
  });

  test("is refused for a product that its vendor may not license", async () => {
    const air = await openAirgapSite();
    const { iss, iat, policy_id, terms } = decodeJwt<Policy>(await air.makePolicy("P-9"));
    // Its desk would refuse that, too.
    const content = { iss, iat, policy_id, terms: { ...terms, product: "cad" } };
    const policy = await signPolicy(content, air.desk.issuing);
    const body = await air.makeLicenseBody({ policy });
    await expectRefusedUnchanged(air.site, 400, "untrusted_vendor", () => air.addLicense(body));
  });

  test("is refused with the problem of its key, whatever the code, until it is installed", async () => {
    const site = await openAppliance({ licenses: {} });
    const until = Math.floor(MONDAY / 1_000) + 1;
    const keys = {
      trust_outdated: await certifyKey(VENDOR_KEY, { trust: 3 }),
      retired_key: await certifyKey(VENDOR_KEY),
      key_ended: await certifyKey(VENDOR_KEY, { until: until - 1 }),
    };
    const requestCode = async (license_key: string) =>
      expectOk(await site.post<ActivationReply>("airgap/generate", { license_key }))
        .activation_code;
    const install = (body: object) => site.post("airgap/license", { ...body });
    const issuing = await certifyKey(VENDOR_KEY, { until });
    const signer = { id: VENDOR.id, issuing };
    const installed = await makeAirgapLicenseBody(await requestCode("K-1"), "K-1", signer);
    expectOk(await install(installed));
    const retired = [keyIdOf(keys.retired_key.key), keyIdOf(issuing.key)];
    const trust = await makeTrustDocument({ version: 2, retired });
    unwrap(await site.vendorTrust.trustVendor(trust, "test"));
    site.clock.now = later(MONDAY, DAY);
    expectOk(await install(installed));
    const wrong = { confirmation_code: installed.confirmation_code };
    for (const [code, key] of Object.entries(keys)) {
      const vendor = { id: VENDOR.id, issuing: key };
      const body = await makeAirgapLicenseBody(await requestCode("K-2"), "K-2", vendor);
      await expectRefusedUnchanged(site, 400, code, () => install(body));
      await expectRefusedUnchanged(site, 400, code, () => install({ ...body, ...wrong }));
    }
  });

  test("is refused when it was edited or is another kind of document", async () => {
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

  test("must be the one that was confirmed, not another of the same vendor", async () => {
    const air = await openAirgapSite();
    const body = await air.makeLicenseBody();
    const license_policy = await air.replacePolicy("P-1", { slots: 300 });
    await expectWrongCode(air, { ...body, license_policy });
    expectOk(await air.addLicense(body));
  });
});

describe("a confirmation code", () => {
  test("with a wrong symbol is refused with the number of the row", async () => {
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

  test("with a missing symbol or row is refused with the number of the row", async () => {
    const air = await openAirgapSite();
    const body = await air.makeLicenseBody();
    const rows = body.confirmation_code.split("\n");
    const refuse = (typed: readonly string[]): Promise<string> =>
      expectRefusedUnchanged(air.site, 400, "invalid_confirmation_code", () =>
        air.addLicense({ ...body, confirmation_code: typed.join("\n") }),
      );
    const shortRow = (rows[2] ?? "").slice(1);
    expect(await refuse(rows.with(2, shortRow))).toBe(
      "row 3 of the code has 19 symbols instead of 20",
    );
    expect(await refuse(rows.toSpliced(3, 1))).toBe("row 4 of the code is missing");
    expect(await refuse(["7K2MX"])).toStartWith("the code has 5 symbols instead of 115;");
    expectOk(await air.addLicense(body));
  });

  test("is accepted in lower case, with I and O, in one line", async () => {
    const air = await openAirgapSite();
    const body = await air.makeLicenseBody();
    const typed = canonicalizeCode(body.confirmation_code).toLowerCase();
    const confirmation_code = typed.replaceAll("0", "o").replaceAll("1", "i");
    expectOk(await air.addLicense({ ...body, confirmation_code }));
  });

  test("is refused with one and the same message, whatever is wrong with it", async () => {
    const air = await openAirgapSite();
    const other = new AirgapSite((await openAirgapSite()).site, air.desk);
    const body = await air.makeLicenseBody();
    const { confirmation_code: forOther } = await other.makeLicenseBody({ serial: 2 });
    const untrusted = new AirgapSite(air.site, await makeDesk());
    const untrustedBody = await untrusted.makeLicenseBody();
    await expectWrongCode(air, { ...body, license_key: "MESH-0002" });
    await expectWrongCode(air, { ...body, confirmation_code: forOther });
    await expectWrongCode(air, { ...body, confirmation_code: untrustedBody.confirmation_code });
    const otherKey = await air.makeLicenseBody({ licenseKey: "MESH-0002" });
    await expectWrongCode(air, { ...body, confirmation_code: otherKey.confirmation_code });
    expectOk(await air.addLicense(body));
  });

  test("may be wrong 60 times a minute; then even the right one is refused", async () => {
    const air = await openAirgapSite();
    const body = await air.makeLicenseBody();
    for (let attempt = 0; attempt < 60; attempt += 1) {
      const reply = await air.addLicense({ ...body, license_key: `MESH-${attempt}-X` });
      expectRefusal(reply, 400, "invalid_confirmation_code");
    }
    await expectRefusedUnchanged(air.site, 429, "too_many_requests", () => air.addLicense(body));
    expectOk(await air.generateActivation({ license_key: LICENSE_KEY }));
  });
});

describe("the end of an air-gapped license", () => {
  test("is the code's if it has one, else the policy's", async () => {
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

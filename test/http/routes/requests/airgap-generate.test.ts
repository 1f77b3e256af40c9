import { describe, expect, test } from "bun:test";
import { later } from "../../../../src/domain/time.ts";
import { limits } from "../../../../src/domain/model/limits.ts";
import { canonicalizeCode } from "../../../../src/license/codes/code.ts";
import { decodeActivationCode } from "../../../../src/license/codes/confirmation.ts";
import { generateInitializationCode } from "../../../../src/desk/issuing/airgap.ts";
import { LICENSE_KEY, openAirgapSite } from "../../../support/airgap-site.ts";
import { expectOk, expectRefusal, expectRefusedUnchanged } from "../../../support/appliance.ts";
import { MONDAY } from "../../../support/scenario.ts";

function decodeActivation(code: string) {
  const decoded = decodeActivationCode(code);
  if (!decoded.ok) throw new Error(JSON.stringify(decoded.fault));
  return decoded.value;
}

describe("an activation code of airgap/generate", () => {
  test("names this appliance and its hardware, and can be confirmed for 30 days", async () => {
    const air = await openAirgapSite();
    const activation = expectOk(await air.generateActivation({ license_key: LICENSE_KEY }));
    expect(Object.keys(activation)).toEqual(["activation_code", "hardware_id", "expires_at"]);
    const { hardwareId } = air.site.services.identity.hashHardware();
    expect(activation.hardware_id).toBe(hardwareId);
    expect(activation.hardware_id).toMatch(/^[\da-f]{64}$/);
    expect(activation.expires_at).toBe("2026-04-01T09:00:00.000Z");
    expect(decodeActivation(activation.activation_code)).toMatchObject({
      appliance: air.site.services.identity.id,
      hardwarePrefix: hardwareId.slice(0, 10),
      weak: false,
    });
    expect(canonicalizeCode(activation.activation_code)).toHaveLength(35);
  });

  test("is different each time, also for the same license key", async () => {
    const air = await openAirgapSite();
    const codes = await Promise.all(Array.from({ length: 20 }, () => air.requestActivationCode()));
    expect(new Set(codes).size).toBe(20);
    expect(new Set(codes.map((code) => decodeActivation(code).nonce)).size).toBe(20);
  });

  test("is in the journal before the reply is sent", async () => {
    const air = await openAirgapSite();
    const before = air.site.lastSeq();
    await air.requestActivationCode();
    expect(air.site.lastSeq()).toBe(before + 1);
  });

  test("says when the hardware binding is weak, and the desk then needs allowWeakBinding", async () => {
    const air = await openAirgapSite({ components: [{ kind: "mac", value: "52:54:00:12:34:56" }] });
    const code = await air.requestActivationCode();
    expect(decodeActivation(code).weak).toBe(true);
    const policy = await air.makePolicy();
    expect(air.confirmAtDesk(policy, code)).rejects.toThrow("weak hardware binding");
    const confirmation_code = await air.confirmAtDesk(policy, code, { allowWeakBinding: true });
    const body = { license_policy: policy, license_key: LICENSE_KEY, confirmation_code };
    expectOk(await air.addLicense(body));
  });
});

describe("a request to airgap/generate", () => {
  test.each([{}, { license_key: "" }, { license_key: null }, { signing_key: "7K2MX" }])(
    "is refused without a license key: %j",
    async (fields) => {
      const air = await openAirgapSite();
      const message = await expectRefusedUnchanged(air.site, 400, "missing_parameters", () =>
        air.generateActivation(fields),
      );
      expect(message).toBe("license_key must be given");
    },
  );

  test("may write field names in another case and carry unknown fields", async () => {
    const air = await openAirgapSite();
    expectOk(await air.generateActivation({ License_Key: LICENSE_KEY, product: "mesh" }));
  });

  test.each([
    [{ license_key: 5 }, "invalid_type"],
    [{ license_key: LICENSE_KEY, signing_key: ["x"] }, "invalid_type"],
    [{ license_key: "k".repeat(257) }, "too_long"],
    [{ license_key: "a\u0000b" }, "invalid_characters"],
    [{ license_key: LICENSE_KEY, signing_key: "a\u202eb" }, "invalid_characters"],
  ] as const)("is refused with an invalid field: %j", async (fields, code) => {
    const air = await openAirgapSite();
    await expectRefusedUnchanged(air.site, 400, code, () => air.generateActivation(fields));
  });

  test("is refused with 401 from another machine without a credential", async () => {
    const air = await openAirgapSite();
    air.site.peer = "10.1.2.3";
    expectRefusal(await air.generateActivation({ license_key: LICENSE_KEY }), 401, "unauthorized");
  });
});

describe("of more than 64 open activation codes", () => {
  test("only the oldest can no longer be confirmed", async () => {
    const air = await openAirgapSite();
    const policy = await air.makePolicy();
    const oldest = await air.requestActivationCode();
    const second = await air.requestActivationCode();
    for (let extra = 0; extra < limits.openActivations - 1; extra += 1)
      await air.requestActivationCode();
    const body = async (code: string) => ({
      license_policy: policy,
      license_key: LICENSE_KEY,
      confirmation_code: await air.confirmAtDesk(policy, code),
    });
    expectRefusal(await air.addLicense(await body(oldest)), 400, "invalid_confirmation_code");
    expectOk(await air.addLicense(await body(second)));
  });
});

describe("an activation code", () => {
  test("cannot be confirmed after exactly 30 days", async () => {
    const air = await openAirgapSite();
    const body = await air.makeLicenseBody();
    air.site.clock.now = later(MONDAY, limits.activationAge);
    expectRefusal(await air.addLicense(body), 400, "invalid_confirmation_code");
  });

  test("can be confirmed until the last millisecond of 30 days", async () => {
    const air = await openAirgapSite();
    const body = await air.makeLicenseBody();
    air.site.clock.now = later(MONDAY, limits.activationAge - 1);
    expectOk(await air.addLicense(body));
  });
});

describe("an initialization code", () => {
  test("must be the same at the site and at the desk, in any case and with any separators", async () => {
    const air = await openAirgapSite();
    const code = generateInitializationCode();
    const policy = await air.makePolicy();
    const activation = await air.requestActivationCode(LICENSE_KEY, code.toLowerCase());
    const bodyFields = { license_policy: policy, license_key: LICENSE_KEY };
    const bodyConfirmedWith = async (initialization: string) => ({
      ...bodyFields,
      confirmation_code: await air.confirmAtDesk(policy, activation, {
        initializationCode: initialization,
      }),
    });
    expectRefusal(
      await air.addLicense(await bodyConfirmedWith("")),
      400,
      "invalid_confirmation_code",
    );
    expectRefusal(
      await air.addLicense(await bodyConfirmedWith(generateInitializationCode())),
      400,
      "invalid_confirmation_code",
    );
    expectOk(await air.addLicense(await bodyConfirmedWith(code.replaceAll("-", " "))));
  });

  test("that only the desk used makes the confirmation code invalid", async () => {
    const air = await openAirgapSite();
    const policy = await air.makePolicy();
    const confirmation_code = await air.confirmAtDesk(policy, await air.requestActivationCode(), {
      initializationCode: generateInitializationCode(),
    });
    const body = { license_policy: policy, license_key: LICENSE_KEY, confirmation_code };
    expectRefusal(await air.addLicense(body), 400, "invalid_confirmation_code");
  });

  test("is not shown in the reply of airgap/generate", async () => {
    const air = await openAirgapSite();
    const code = generateInitializationCode();
    const reply = await air.generateActivation({ license_key: LICENSE_KEY, signing_key: code });
    expect(JSON.stringify(expectOk(reply))).not.toContain(code);
  });
});

import { describe, expect, test } from "bun:test";
import { later } from "../../src/domain/time.ts";
import { limits } from "../../src/domain/limits.ts";
import { canonicalizeCode } from "../../src/license/code.ts";
import { decodeActivationCode } from "../../src/license/confirmation.ts";
import { generateInitializationCode } from "../../src/desk/airgap.ts";
import { LICENSE_KEY, openAirgapSite } from "../support/airgap-site.ts";
import { expectOk, expectRefusal, expectRefusedUnchanged } from "../support/appliance.ts";
import { MONDAY } from "../support/scenario.ts";

function activationIn(code: string) {
  const decoded = decodeActivationCode(code);
  if (!decoded.ok) throw new Error(JSON.stringify(decoded.fault));
  return decoded.value;
}

describe("an activation code", () => {
  test("names this appliance and its hardware, and can be confirmed for 30 days", async () => {
    const air = await openAirgapSite();
    const made = expectOk(await air.generateActivation({ license_key: LICENSE_KEY }));
    expect(Object.keys(made)).toEqual(["activation_code", "hardware_id", "expires_at"]);
    const { hardwareId } = air.site.services.identity.hashHardware();
    expect(made.hardware_id).toBe(hardwareId);
    expect(made.hardware_id).toMatch(/^[\da-f]{64}$/);
    expect(made.expires_at).toBe("2026-04-01T09:00:00.000Z");
    expect(activationIn(made.activation_code)).toMatchObject({
      appliance: air.site.services.identity.id,
      hardwarePrefix: hardwareId.slice(0, 10),
      weak: false,
    });
    expect(canonicalizeCode(made.activation_code)).toHaveLength(35);
  });

  test("is another one each time, also for the same license key", async () => {
    const air = await openAirgapSite();
    const codes = await Promise.all(Array.from({ length: 20 }, () => air.requestActivationCode()));
    expect(new Set(codes).size).toBe(20);
    expect(new Set(codes.map((code) => activationIn(code).nonce)).size).toBe(20);
  });

  test("is durable before it is handed over", async () => {
    const air = await openAirgapSite();
    const before = air.site.lastSeq();
    await air.requestActivationCode();
    expect(air.site.lastSeq()).toBe(before + 1);
  });

  test("says when the appliance is bound weakly, and the desk then wants to be told", async () => {
    const air = await openAirgapSite({ components: [{ kind: "mac", value: "52:54:00:12:34:56" }] });
    const code = await air.requestActivationCode();
    expect(activationIn(code).weak).toBe(true);
    const policy = await air.makePolicy();
    expect(air.confirmAtDesk(policy, code)).rejects.toThrow("weak hardware binding");
    const confirmation_code = await air.confirmAtDesk(policy, code, { allowWeakBinding: true });
    const body = { license_policy: policy, license_key: LICENSE_KEY, confirmation_code };
    expectOk(await air.addLicense(body));
  });
});

describe("what is asked", () => {
  test.each([{}, { license_key: "" }, { license_key: null }, { signing_key: "7K2MX" }])(
    "needs a license key: %j",
    async (fields) => {
      const air = await openAirgapSite();
      const message = await expectRefusedUnchanged(air.site, 400, "missing_parameters", () =>
        air.generateActivation(fields),
      );
      expect(message).toBe("license_key must be given");
    },
  );

  test("may name its fields in another case, and others that mean nothing here", async () => {
    const air = await openAirgapSite();
    expectOk(await air.generateActivation({ License_Key: LICENSE_KEY, product: "mesh" }));
  });

  test.each([
    [{ license_key: 5 }, "invalid_type"],
    [{ license_key: LICENSE_KEY, signing_key: ["x"] }, "invalid_type"],
    [{ license_key: "k".repeat(257) }, "too_long"],
    [{ license_key: "a\u0000b" }, "invalid_characters"],
    [{ license_key: LICENSE_KEY, signing_key: "a\u202eb" }, "invalid_characters"],
  ] as const)("is refused where it is nonsense: %j", async (fields, code) => {
    const air = await openAirgapSite();
    await expectRefusedUnchanged(air.site, 400, code, () => air.generateActivation(fields));
  });

  test("is for an administrator on the machine itself", async () => {
    const air = await openAirgapSite();
    air.site.peer = "10.1.2.3";
    expectRefusal(await air.generateActivation({ license_key: LICENSE_KEY }), 401, "unauthorized");
  });
});

describe("at most 64 are open", () => {
  test("and the oldest is the one that can no longer be confirmed", async () => {
    const air = await openAirgapSite();
    const policy = await air.makePolicy();
    const oldest = await air.requestActivationCode();
    const second = await air.requestActivationCode();
    for (let more = 0; more < limits.openActivations - 1; more += 1)
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

describe("30 days", () => {
  test("is how long one can be confirmed, and not a millisecond longer", async () => {
    const air = await openAirgapSite();
    const body = await air.makeLicenseBody();
    air.site.clock.now = later(MONDAY, limits.activationAge);
    expectRefusal(await air.addLicense(body), 400, "invalid_confirmation_code");
  });

  test("includes their last millisecond", async () => {
    const air = await openAirgapSite();
    const body = await air.makeLicenseBody();
    air.site.clock.now = later(MONDAY, limits.activationAge - 1);
    expectOk(await air.addLicense(body));
  });
});

describe("with an initialization code", () => {
  test("the vendor must have been told the same, however it was typed", async () => {
    const air = await openAirgapSite();
    const code = generateInitializationCode();
    const policy = await air.makePolicy();
    const activation = await air.requestActivationCode(LICENSE_KEY, code.toLowerCase());
    const named = { license_policy: policy, license_key: LICENSE_KEY };
    const told = async (initialization: string) => ({
      ...named,
      confirmation_code: await air.confirmAtDesk(policy, activation, {
        initializationCode: initialization,
      }),
    });
    expectRefusal(await air.addLicense(await told("")), 400, "invalid_confirmation_code");
    expectRefusal(
      await air.addLicense(await told(generateInitializationCode())),
      400,
      "invalid_confirmation_code",
    );
    expectOk(await air.addLicense(await told(code.replaceAll("-", " "))));
  });

  test("a site that began without one is not confirmed with one", async () => {
    const air = await openAirgapSite();
    const policy = await air.makePolicy();
    const confirmation_code = await air.confirmAtDesk(policy, await air.requestActivationCode(), {
      initializationCode: generateInitializationCode(),
    });
    const body = { license_policy: policy, license_key: LICENSE_KEY, confirmation_code };
    expectRefusal(await air.addLicense(body), 400, "invalid_confirmation_code");
  });

  test("it is not in any reply", async () => {
    const air = await openAirgapSite();
    const code = generateInitializationCode();
    const reply = await air.generateActivation({ license_key: LICENSE_KEY, signing_key: code });
    expect(JSON.stringify(expectOk(reply))).not.toContain(code);
  });
});

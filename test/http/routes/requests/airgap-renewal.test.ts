import { describe, expect, test } from "bun:test";
import { LICENSE_KEY, openAirgapSite } from "../../../support/airgap-site.ts";
import { expectOk, expectRefusal, expectRefusedUnchanged } from "../../../support/appliance.ts";

describe("a confirmation code", () => {
  test("posted again gets the same reply and changes nothing", async () => {
    const air = await openAirgapSite();
    const body = await air.makeLicenseBody();
    const first = expectOk(await air.addLicense(body));
    const written = air.site.lastSeq();
    expect(expectOk(await air.addLicense(body))).toEqual(first);
    const { policy_id: _id, ...withoutPolicyId } = body;
    const retyped = body.confirmation_code.toLowerCase().replaceAll("-", " ");
    expect(
      expectOk(await air.addLicense({ ...withoutPolicyId, confirmation_code: retyped })),
    ).toEqual(first);
    expect(air.site.lastSeq()).toBe(written);
  });

  test("posted three times at once installs once", async () => {
    const air = await openAirgapSite();
    const body = await air.makeLicenseBody();
    const written = air.site.lastSeq();
    const replies = await Promise.all([
      air.addLicense(body),
      air.addLicense(body),
      air.addLicense(body),
    ]);
    for (const reply of replies) expectOk(reply);
    expect(air.site.lastSeq()).toBe(written + 1);
  });

  test("is unique for its activation: the desk issues the same again, and none with other terms", async () => {
    const air = await openAirgapSite();
    const policy = await air.makePolicy();
    const activation = await air.requestActivationCode();
    const first = await air.confirmAtDesk(policy, activation);
    expect(await air.confirmAtDesk(policy, activation)).toBe(first);
    const other = await air.makePolicy("P-2", { slots: 9 });
    expect(air.confirmAtDesk(other, activation)).rejects.toThrow("with other terms");
  });

  test("of a returned license cannot be installed again", async () => {
    const air = await openAirgapSite();
    const body = await air.makeLicenseBody();
    const { id } = expectOk(await air.addLicense(body));
    const license_id = String(id);
    expectOk(await air.site.post("/api/admin/v1/licenses/remove", { license_id }));
    expectRefusal(await air.addLicense(body), 400, "invalid_confirmation_code");
    const old = await air.makeLicenseBody({ serial: 1 });
    expectRefusal(await air.addLicense(old), 400, "stale_license");
    expectOk(await air.addLicense(await air.makeLicenseBody()));
  });
});

describe("the next code for a license key", () => {
  test("with another policy replaces the license and keeps its registrations", async () => {
    const air = await openAirgapSite();
    const first = expectOk(await air.addLicense(await air.makeLicenseBody()));
    expectOk(await air.site.register({ user: "ada" }));
    const policy = await air.makePolicy("P-2", { slots: 8 });
    const second = expectOk(await air.addLicense(await air.makeLicenseBody({ policy })));
    expect(second).toMatchObject({
      id: first.id,
      policy_id: "P-2",
      floating_users: 8,
      floating_in_use_devices: 1,
    });
    expect(expectOk(await air.site.licenses())).toHaveLength(1);
  });

  test("is refused as stale with an older serial or the same one", async () => {
    const air = await openAirgapSite();
    const old = await air.makeLicenseBody({ serial: 4 });
    const same = await air.makeLicenseBody({ serial: 5 });
    expectOk(await air.addLicense(await air.makeLicenseBody({ serial: 5 })));
    for (const body of [old, same]) {
      const message = await expectRefusedUnchanged(air.site, 400, "stale_license", () =>
        air.addLicense(body),
      );
      expect(message).toStartWith("serial 5 of this license was already installed here");
    }
  });

  test("leaves the licenses of other license keys unchanged", async () => {
    const air = await openAirgapSite();
    const first = expectOk(await air.addLicense(await air.makeLicenseBody()));
    const second = expectOk(
      await air.addLicense(await air.makeLicenseBody({ licenseKey: "MESH-0002" })),
    );
    expect(second.id).not.toBe(first.id);
    expect(expectOk(await air.site.licenses()).map(({ license_key }) => license_key)).toEqual([
      LICENSE_KEY,
      "MESH-0002",
    ]);
  });
});

describe("an installed air-gapped license", () => {
  // A code confirms one policy; being installed does not make it fit others.
  test("does not make its code valid with another policy", async () => {
    const air = await openAirgapSite();
    const body = await air.makeLicenseBody();
    expectOk(await air.addLicense(body));
    const license_policy = await air.replacePolicy("P-1", { slots: 300 });
    expectRefusal(
      await air.addLicense({ ...body, license_policy }),
      400,
      "invalid_confirmation_code",
    );
  });

  test("accepts its code in two spellings at once", async () => {
    const air = await openAirgapSite();
    const body = await air.makeLicenseBody();
    const retyped = { ...body, confirmation_code: body.confirmation_code.toLowerCase() };
    for (const reply of await Promise.all([air.addLicense(body), air.addLicense(retyped)]))
      expectOk(reply);
  });

  test("is served as JSON also when the caller accepts application/jwt", async () => {
    const air = await openAirgapSite();
    expectOk(await air.addLicense(await air.makeLicenseBody()));
    const [{ headers }] = await air.site.get("/api/v4/license", { accept: "application/jwt" });
    expect(headers.get("content-type")).toStartWith("application/json");
  });
});

import { describe, expect, test } from "bun:test";
import { LICENSE_KEY, openAirgapSite } from "../support/airgap-site.ts";
import { expectOk, expectRefusal, expectRefusedUnchanged } from "../support/appliance.ts";

describe("a code", () => {
  test("posted again answers the same and changes nothing", async () => {
    const air = await openAirgapSite();
    const body = await air.makeLicenseBody();
    const first = expectOk(await air.addLicense(body));
    const written = air.site.lastSeq();
    expect(expectOk(await air.addLicense(body))).toEqual(first);
    const { policy_id: _id, ...unnamed } = body;
    const retyped = body.confirmation_code.toLowerCase().replaceAll("-", " ");
    expect(expectOk(await air.addLicense({ ...unnamed, confirmation_code: retyped }))).toEqual(
      first,
    );
    expect(air.site.lastSeq()).toBe(written);
  });

  test("posted twice at once installs once", async () => {
    const air = await openAirgapSite();
    const body = await air.makeLicenseBody();
    const written = air.site.lastSeq();
    const answers = await Promise.all([
      air.addLicense(body),
      air.addLicense(body),
      air.addLicense(body),
    ]);
    for (const answer of answers) expectOk(answer);
    expect(air.site.lastSeq()).toBe(written + 1);
  });

  test("is one for one activation: the desk gives the same again, and no other", async () => {
    const air = await openAirgapSite();
    const policy = await air.makePolicy();
    const activation = await air.requestActivationCode();
    const first = await air.confirmAtDesk(policy, activation);
    expect(await air.confirmAtDesk(policy, activation)).toBe(first);
    const other = await air.makePolicy("P-2", { slots: 9 });
    expect(air.confirmAtDesk(other, activation)).rejects.toThrow("with other terms");
  });

  test("that was given back does not come back", async () => {
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

describe("a license key's next code", () => {
  test("with another policy replaces the license, and slots stay", async () => {
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

  test("with an older serial, or the same one, is stale", async () => {
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

  test("leaves other license keys alone", async () => {
    const air = await openAirgapSite();
    const one = expectOk(await air.addLicense(await air.makeLicenseBody()));
    const two = expectOk(
      await air.addLicense(await air.makeLicenseBody({ licenseKey: "MESH-0002" })),
    );
    expect(two.id).not.toBe(one.id);
    expect(expectOk(await air.site.licenses()).map(({ license_key }) => license_key)).toEqual([
      LICENSE_KEY,
      "MESH-0002",
    ]);
  });
});

describe("what is installed already", () => {
  // A code confirms one policy; being installed does not make it fit others.
  test("does not answer for its code with another policy", async () => {
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

  test("answers the same to its code typed in two ways at once", async () => {
    const air = await openAirgapSite();
    const body = await air.makeLicenseBody();
    const retyped = { ...body, confirmation_code: body.confirmation_code.toLowerCase() };
    for (const answer of await Promise.all([air.addLicense(body), air.addLicense(retyped)]))
      expectOk(answer);
  });

  test("is shown to an application as the JSON it is", async () => {
    const air = await openAirgapSite();
    expectOk(await air.addLicense(await air.makeLicenseBody()));
    const [{ headers }] = await air.site.get("/api/v4/license", { accept: "application/jwt" });
    expect(headers.get("content-type")).toStartWith("application/json");
  });
});

// The values a request may have: text, numbers, booleans and times, each field by its own rule.
import { describe, expect, test } from "bun:test";
import {
  expectOk,
  expectRefusedUnchanged,
  openAppliance,
  openSharedAppliance,
  type RequestFields,
} from "../../support/appliance.ts";

/** For refusals only. */
const sharedSite = openSharedAppliance();

const RELEASE = "/api/admin/v1/registrations/release";

/** Every field of every call that takes a body. */
const TEXT = ["product", "user"];
const CONTACT = ["os_hostname", "ip_local", "user_info"];
const COUNT = ["consumptions", "max_overages", "allow_overages", "user", "license_id"];
const CALLS: Readonly<Record<string, readonly string[]>> = {
  register: [...TEXT, ...CONTACT, "license_id"],
  borrow: [...TEXT, ...CONTACT, "borrowed_until", "license_id"],
  unregister: [...TEXT, "license_id"],
  "unregister/all": ["product"],
  add_consumption: ["product", ...COUNT],
  add_feature_consumption: ["product", "feature", ...COUNT],
  featureRegister: [...TEXT, "feature", ...CONTACT, "license_id"],
  check_license_feature: [...TEXT, "feature", ...CONTACT, "license_id"],
  featureRelease: [...TEXT, "feature", "license_id"],
  feature_release: [...TEXT, "feature", "license_id"],
  [RELEASE]: [...TEXT, "license_id"],
};
const EVERY_FIELD = Object.entries(CALLS).flatMap(([call, names]) =>
  names.map((name): [string, string] => [call, name]),
);

const INTEGERS = new Set(["license_id", "consumptions", "max_overages"]);

describe.each(EVERY_FIELD)("%s, field %s,", (call, field) => {
  test("refuses a value of another type with the field's name and without the value", async () => {
    const site = sharedSite();
    const values: unknown[] = [1.5, [], ["s3cret"], {}, { s3cret: 1 }];
    if (!INTEGERS.has(field)) values.push(7_777);
    if (field !== "allow_overages") values.push(true);
    for (const value of values) {
      const message = await expectRefusedUnchanged(site, 400, "invalid_type", () =>
        site.post(call, { [field]: value }),
      );
      expect(message).toContain(field);
      expect(message).not.toContain("s3cret");
      expect(message).not.toContain("7777");
    }
  });
});

describe.each(Object.entries(CALLS))("%s", (call, names) => {
  test("treats null like an absent field", async () => {
    const site = await openAppliance();
    const [absent, absentBody] = await site.post(call, {});
    for (const field of names) {
      const [response, body] = await site.post(call, { [field]: null });
      // An absent consumption counts 1, so the totals of the replies differ.
      expect([field, response.status]).toEqual([field, absent.status]);
      expect(Object.keys(Object(body))).toEqual(Object.keys(Object(absentBody)));
    }
  });
});

test("register names all fields of a wrong type in one refusal", async () => {
  const site = sharedSite();
  const message = await expectRefusedUnchanged(site, 400, "invalid_type", () =>
    site.register({ user: 1, product: [], ip_local: false }),
  );
  expect(message).toBe("product, user and ip_local must be a string");
});

test.each<[string, Record<string, unknown>, string]>([
  ["add_consumption", { consumptions: 5.5 }, "consumptions must be a whole number"],
  [
    "add_consumption",
    { consumptions: 5.5, max_overages: 0.5 },
    "consumptions and max_overages must be a whole number",
  ],
  ["add_consumption", { consumptions: true }, "consumptions must be a string"],
  ["add_consumption", { allow_overages: 2 }, "allow_overages must be true or false"],
  [
    "add_consumption",
    { product: 1, consumptions: 5.5, allow_overages: [] },
    "product must be a string; consumptions must be a whole number; " +
      "allow_overages must be true or false",
  ],
  ["register", { user: "ada", license_id: 1.5 }, "license_id must be a whole number"],
])("%s with %j is refused with the type that is needed", async (call, body, expected) => {
  const site = sharedSite();
  const send = () => site.post(call, body);
  expect(await expectRefusedUnchanged(site, 400, "invalid_type", send)).toBe(expected);
});

test.each(["register", "license/upload"])(
  "%s refuses an empty body and says what to send",
  async (call) => {
    const site = sharedSite();
    const headers = { "content-type": "application/json" };
    const send = () => site.send("POST", `/api/v4/${call}`, { headers, body: "" });
    const message = await expectRefusedUnchanged(site, 400, "invalid_json", send);
    expect(message).toBe("the body is empty: send a JSON object, at least {}");
  },
);

const NOT_NUMBERS = [
  "1e3",
  "0x10",
  "5.0",
  "+5",
  "007",
  " 5 ",
  "NaN",
  "\u0663",
  "-0",
  "9007199254740993",
  "5 ",
  "5\n",
  "--5",
  "- 5",
  "1_000",
  "1,000",
  "Infinity",
  "0b1",
  "1000000000001",
  "true",
  "ten",
];

describe("a count field:", () => {
  test.each([...NOT_NUMBERS, "", "-1000000000001"])(
    "consumptions refuses the text %j",
    async (text) => {
      const site = sharedSite();
      for (const call of ["add_consumption", "add_feature_consumption"]) {
        const message = await expectRefusedUnchanged(site, 400, "invalid_number", () =>
          site.post(call, { feature: "plot", consumptions: text }),
        );
        expect(message).toContain("consumptions");
      }
    },
  );

  test.each(NOT_NUMBERS)("max_overages refuses the text %j", async (text) => {
    const site = sharedSite();
    const message = await expectRefusedUnchanged(site, 400, "invalid_number", () =>
      site.addConsumption({ max_overages: text }),
    );
    expect(message).toContain("max_overages");
  });

  test.each([1e12 + 1, -1e12 - 1, 1e21, Number.MAX_SAFE_INTEGER])(
    "consumptions refuses the JSON integer %d, which is out of range",
    async (number) => {
      const site = sharedSite();
      await expectRefusedUnchanged(site, 400, "invalid_number", () =>
        site.addConsumption({ consumptions: number }),
      );
    },
  );

  test.each<[unknown, string]>([
    ["1000000000000", "license_not_enough_consumptions"],
    [1e12, "license_not_enough_consumptions"],
    ["-1000000000000", "negative_not_allowed"],
    [-1e12, "negative_not_allowed"],
  ])("consumptions reads %j as a number in range", async (consumptions, code) => {
    const site = sharedSite();
    await expectRefusedUnchanged(site, 400, code, () => site.addConsumption({ consumptions }));
  });
});

describe("license_id", () => {
  test.each([...NOT_NUMBERS.filter((text) => text !== "1000000000001"), "-1", "9007199254740992"])(
    "refuses the text %j",
    async (license_id) => {
      const site = await openAppliance();
      await expectRefusedUnchanged(site, 400, "invalid_number", () =>
        site.register({ user: "ada", license_id }),
      );
    },
  );

  test("finds the largest possible id", async () => {
    const id = Number.MAX_SAFE_INTEGER;
    const site = await openAppliance({ licenses: { [id]: {} } });
    for (const license_id of [id, String(id), "", null]) {
      expect(expectOk(await site.register({ user: "ada", license_id })).license_id).toBe(id);
    }
  });
});

test.each(["yes", "no", "2", "-1", "01", " true", "t", "null", "TRUE1"])(
  "allow_overages refuses the text %j",
  async (allow_overages) => {
    const site = sharedSite();
    const message = await expectRefusedUnchanged(site, 400, "invalid_boolean", () =>
      site.addConsumption({ allow_overages }),
    );
    expect(message).toContain("allow_overages");
  },
);

describe("borrowed_until", () => {
  test.each([
    ["2026-02-30T12:00:00Z"],
    ["2026-13-01T12:00:00Z"],
    ["2026-03-02T24:00:00Z"],
    ["2026-03-02T12:60:00Z"],
    ["2026-03-02T12:00:60Z"],
    ["2026-12-31T23:59:60Z"],
    ["2026-03-02T12:00:00"],
    ["2026-03-02"],
    ["2026-03-02T12:00Z"],
    ["20260302T120000Z"],
    ["2026-03-02T12:00:00+01"],
    ["2026-03-02T12:00:00+0100"],
    ["2026-03-02T12:00:00+24:00"],
    ["2026-03-02T12:00:00+01:00:00"],
    ["2026-03-02T12:00:00\u221201:00"],
    ["+002026-03-02T12:00:00Z"],
    ["2026-03-02T12:00:00Z[UTC]"],
    ["2026-03-02T12:00:00Z[u-ca=iso8601]"],
    ["2026-03-02T12:00:00.Z"],
    ["2026-03-02T12:00:00.0123456789Z"],
    ["2026-03-02T12:00:00,5Z"],
    ["2026-03-02  12:00:00Z"],
    [" 2026-03-02T12:00:00Z"],
    ["2026-03-02T12:00:00Z\n"],
    ["Mon, 02 Mar 2026 12:00:00 GMT"],
    ["1772452800"],
    ["tomorrow"],
    ["\u0662026-03-02T12:00:00Z"],
  ])("refuses the text %j", async (borrowed_until) => {
    const site = sharedSite();
    const message = await expectRefusedUnchanged(site, 400, "invalid_timestamp", () =>
      site.borrow({ user: "ada", borrowed_until }),
    );
    expect(message).toContain("borrowed_until");
  });

  test.each([
    ["2026-03-02T12:00:00Z", "12:00:00.000"],
    ["2026-03-02t12:00:00z", "12:00:00.000"],
    ["2026-03-02 12:00:00Z", "12:00:00.000"],
    ["2026-03-02T12:00:00.5Z", "12:00:00.500"],
    ["2026-03-02T12:00:00.123456789Z", "12:00:00.123"],
    ["2026-03-02T13:30:00+01:30", "12:00:00.000"],
    ["2026-03-01T23:00:00-13:00", "12:00:00.000"],
    ["2026-03-02T12:00:00-00:00", "12:00:00.000"],
    ["2026-03-03T00:00:00+12:00", "12:00:00.000"],
  ])("stores and shows %j in UTC", async (borrowed_until, time) => {
    const site = await openAppliance();
    const slot = expectOk(await site.borrow({ user: "ada", borrowed_until }));
    expect(slot.borrowed_until).toBe(`2026-03-02T${time}Z`);
    const [registration] = expectOk(await site.registrations());
    expect(registration?.borrowed_until).toBe(`2026-03-02T${time}Z`);
  });
});

/** A character of four bytes: 64 of them are 256 bytes. */
const SHIP = "\u{1f6a2}";
const NAME_FIELDS = new Set([...TEXT, "feature", "os_hostname", "ip_local"]);

describe.each(Object.entries(CALLS))("%s", (call, fields) => {
  test("refuses a name of 257 bytes and accepts one of 256 bytes, whatever its characters", async () => {
    const site = await openAppliance();
    for (const field of fields.filter((name) => NAME_FIELDS.has(name))) {
      for (const name of ["x".repeat(257), `${SHIP.repeat(64)}x`, "\u00e9".repeat(129)]) {
        const message = await expectRefusedUnchanged(site, 400, "too_long", () =>
          site.post(call, { [field]: name }),
        );
        expect(message).toContain(field);
        expect(message).toContain("256");
      }
      for (const name of ["x".repeat(256), SHIP.repeat(64), "\u00e9".repeat(128)]) {
        const [, body] = await site.post<RequestFields>(call, { [field]: name });
        expect([field, body["code"]]).not.toEqual([field, "too_long"]);
      }
    }
  });
});

test("register takes a slot for a user name of 256 bytes", async () => {
  const site = await openAppliance();
  const user = SHIP.repeat(64);
  expect(expectOk(await site.register({ user })).user).toBe(user);
  expect(await site.listHolders()).toEqual([user]);
});

test("the length of a name is measured in NFC, the form in which names are stored", async () => {
  const site = await openAppliance();
  expectOk(await site.register({ user: "e\u0301".repeat(128) }));
  expect(await site.listHolders()).toEqual(["\u00e9".repeat(128)]);
});

test("user_info may have 4096 bytes and no more", async () => {
  const site = await openAppliance();
  const info = SHIP.repeat(1_024);
  expect(expectOk(await site.register({ user: "ada", user_info: info })).user_info).toBe(info);
  const message = await expectRefusedUnchanged(site, 400, "too_long", () =>
    site.register({ user: "ada", user_info: `${info}x` }),
  );
  expect(message).toContain("4096");
});

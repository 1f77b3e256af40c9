import { describe, expect, test } from "bun:test";
import {
  expectOk,
  expectRefusedUnchanged,
  openAppliance,
  openSharedAppliance,
} from "../../support/appliance.ts";

/** For refusals only. */
const sharedSite = openSharedAppliance();

const codePointOf = (char: string): string =>
  `U+${(char.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}`;

const withCodePoints = (chars: string): [string, string][] =>
  Array.from(chars, (char) => [codePointOf(char), char]);

/** Controls, separators, zero-width and direction-changing characters, halves of a pair. */
const INVISIBLE = withCodePoints(
  "\u0000\u0001\u0007\b\v\f\u001b\u001f\u007f\u0080\u0085\u009f" +
    "\u200b\u200c\u200d\u200e\u200f\u2060\ufeff\u061c" +
    "\u2028\u2029\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069" +
    "\udc00\ud800",
);

const LINE_CHARACTERS = withCodePoints("\t\n\r");

describe.each([...INVISIBLE, ...LINE_CHARACTERS])("the character %s", (_code, char) => {
  test("is refused at the start, inside and at the end of a user name", async () => {
    const site = sharedSite();
    for (const user of [`${char}ada`, `a${char}da`, `ada${char}`]) {
      await expectRefusedUnchanged(site, 400, "invalid_characters", () => site.register({ user }));
    }
  });

  test("is refused in every field that holds a name", async () => {
    const site = sharedSite();
    const calls: Record<string, readonly string[]> = {
      borrow: ["product", "user", "os_hostname", "ip_local"],
      add_feature_consumption: ["product", "feature", "user"],
      unregister: ["product", "user"],
      featureRelease: ["product", "feature", "user"],
      "unregister/all": ["product"],
      "/api/admin/v1/registrations/release": ["product", "user"],
    };
    for (const [call, fields] of Object.entries(calls)) {
      for (const field of fields) {
        const message = await expectRefusedUnchanged(site, 400, "invalid_characters", () =>
          site.post(call, { user: "ada", feature: "plot", [field]: `a${char}` }),
        );
        expect(message).toContain(field);
      }
    }
  });
});

test.each(INVISIBLE)("the character %s is refused in user_info", async (_code, char) => {
  const site = sharedSite();
  const message = await expectRefusedUnchanged(site, 400, "invalid_characters", () =>
    site.register({ user: "ada", user_info: `two\n${char}lines` }),
  );
  expect(message).toContain("user_info");
});

test("user_info may contain line breaks and tabs", async () => {
  const site = await openAppliance();
  const user_info = "one\ttwo\r\nthree\n";
  expect(expectOk(await site.register({ user: "ada", user_info })).user_info).toBe(user_info);
});

describe("a composed and a decomposed spelling of one name", () => {
  const composed = "Zo\u00eb";
  const decomposed = "Zoe\u0308";

  test("share one slot", async () => {
    const site = await openAppliance();
    expect(expectOk(await site.register({ user: decomposed })).user).toBe(composed);
    expect(expectOk(await site.register({ user: composed })).floating_slots_in_use).toBe(1);
    expect(await site.listHolders()).toEqual([composed]);
    expectOk(await site.unregister({ user: decomposed }));
    expect(await site.listHolders()).toEqual([]);
  });

  test("name one product", async () => {
    const site = await openAppliance({ licenses: { 1: { product: composed } } });
    expectOk(await site.register({ user: "ada", product: decomposed }));
    expectOk(await site.license(`?product=${encodeURIComponent(decomposed)}`));
  });
});

test.each(["ada", "Ada", "ADA", " ada", "ada ", "ad a", "\u0430da"])(
  "the user name %j is different from similar names",
  async (user) => {
    const site = await openAppliance({ licenses: { 1: { slots: 9 } } });
    expectOk(await site.register({ user: "Ada\u00a0" }));
    expect(expectOk(await site.register({ user })).user).toBe(user);
    expect(await site.listHolders()).toEqual(["Ada\u00a0", user]);
  },
);

test.each([
  "__proto__",
  "constructor",
  "toString",
  "hasOwnProperty",
  "null",
  "0",
  "<b>",
  "'\"`$(x)",
])("%j is accepted as user, host name, address and user_info", async (name) => {
  const site = await openAppliance();
  const fields = { user: name, os_hostname: name, ip_local: name, user_info: name };
  expect(expectOk(await site.register(fields))).toMatchObject(fields);
  expect(expectOk(await site.registrations())).toMatchObject([fields]);
  expectOk(await site.unregister({ user: name }));
  expect(await site.listHolders()).toEqual([]);
});

test.each(["__proto__", "constructor", "toString"])(
  "%j is accepted as a product",
  async (product) => {
    const site = await openAppliance({ licenses: { 1: { product } } });
    expect(expectOk(await site.register({ user: "ada", product })).product).toBe(product);
    expectOk(await site.unregister({ user: "ada", product }));
  },
);

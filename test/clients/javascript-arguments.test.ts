// Arguments that only JavaScript allows, and that the types of berth.d.ts cannot refuse in a program
// without types.
import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { tempFolder } from "../support/temp-folder.ts";
import { mkdirSync, writeFileSync } from "node:fs";

interface AnyClient {
  readonly [name: string]: (...values: readonly unknown[]) => Promise<unknown>;
}

// The path is computed, so that the compiler does not refuse the wrong arguments.
const { Client } = (await import(
  join(import.meta.dir, "..", "..", "src", "clients", "berth.js")
)) as { readonly Client: new (...values: readonly unknown[]) => AnyClient };

/** Nothing listens there: an argument that is not refused gives another error. */
const ADDRESS = "http://127.0.0.1:1";
const KEY = "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo";

const makeClient = (options: unknown = { retryFor: 0 }) => new Client(ADDRESS, "CAD", options);

class OptionsClass {
  readonly wait = 1;
}

const NOT_PLAIN: readonly [string, unknown][] = [
  ["a Date", new Date()],
  ["a Map", new Map()],
  ["an array", []],
  ["a text", "wait"],
  ["a number", 5],
  ["null", null],
  ["an instance of a class", new OptionsClass()],
];

describe("the client for JavaScript", () => {
  test.each(NOT_PLAIN)("refuses %s in place of options", async (_name, options) => {
    const invalid = { name: "InvalidArgumentError", code: "invalid_argument", status: null };
    expect(() => makeClient(options)).toThrow(expect.objectContaining(invalid));
    for (const call of ["acquire", "borrow"]) {
      const called = makeClient()[call]?.("ada", options);
      expect(await called?.catch((error: unknown) => error)).toMatchObject(invalid);
    }
    const counted = makeClient()["consume"]?.(1, options);
    expect(await counted?.catch((error: unknown) => error)).toMatchObject(invalid);
  });

  test("accepts options without a prototype", () => {
    const plain = Object.assign(Object.create(null) as object, { timeout: 5 });
    expect(makeClient(plain)).toBeInstanceOf(Client);
  });

  test.each([new Date(0), "2026-11-23T18:00:00Z"])(
    "says that the end of a borrow is an option: %p",
    async (end) => {
      const called = makeClient()["borrow"]?.("ada", end);
      const error = (await called?.catch((reason: unknown) => reason)) as Error;
      expect(error.message).toContain("use { until }");
    },
  );

  test.each([
    ["missing", {}],
    ["null", { until: null }],
    ["undefined", { until: undefined }],
    ["empty", { until: "" }],
  ])("asks for the end of a borrow if it is %s", async (_name, options) => {
    const called = makeClient()["borrow"]?.("ada", options);
    const error = (await called?.catch((reason: unknown) => reason)) as Error;
    expect(error).toMatchObject({ name: "InvalidArgumentError", code: "invalid_argument" });
    expect(error.message).toStartWith("until: give the end of the borrow");
  });

  test.each(["untill", "borrowed_until", "constructor", "toString"])(
    "refuses the unknown option %s",
    async (name) => {
      const options = { until: new Date(), [name]: "2026-11-23T18:00:00Z" };
      for (const call of ["borrow", "acquire"]) {
        const called = makeClient()[call]?.("ada", call === "borrow" ? options : { [name]: 1 });
        const error = (await called?.catch((reason: unknown) => reason)) as Error;
        expect(error).toMatchObject({ name: "InvalidArgumentError" });
        expect(error.message).toBe(`unknown option: ${name}`);
      }
    },
  );

  test("refuses a Date that is no time, before any call", async () => {
    const until = new Date("nonsense");
    const called = makeClient()["borrow"]?.("ada", { until });
    const error = await called?.catch((reason: unknown) => reason);
    expect(error).toMatchObject({ name: "InvalidArgumentError" });
  });

  test("accepts one root key as a text", async () => {
    const verified = makeClient({ rootKeys: KEY, nonce: "device-0123456789" })["verify"]?.("", "");
    // With no key, the error would be another one.
    const error = await verified?.catch((reason: unknown) => reason);
    expect(error).toMatchObject({ name: "LeaseRefusedError", code: "license_malformed" });
    expect(() => makeClient({ rootKeys: `${KEY}x` })).toThrow("rootKeys");
    expect(() => makeClient({ retired: `${KEY}x` })).toThrow("retired");
  });

  test("refuses a file of ca with a certificate that cannot be read, and names it", () => {
    const folder = tempFolder();
    mkdirSync(folder, { recursive: true });
    const file = join(folder, "ca.pem");
    writeFileSync(file, "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n");
    expect(() => makeClient({ ca: file })).toThrow(file);
  });

  test("gives the nonce of the option", async () => {
    const nonce = "device-0123456789";
    expect(await makeClient({ nonce })["nonce"]?.()).toBe(nonce);
  });
});

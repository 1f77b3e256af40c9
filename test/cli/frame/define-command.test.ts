import { describe, expect, expectTypeOf, test } from "bun:test";
import { err, ok, type Result } from "../../../src/domain/result.ts";
import {
  defaultValues,
  defineCommand,
  type CommandContext,
  type OptionTable,
  type Values,
} from "../../../src/cli/frame/define-command.ts";
import { oneOf } from "../../../src/cli/frame/option-parsers.ts";
import { option } from "../../../src/cli/frame/flags.ts";
import type { ServeSettings } from "../../../src/cli/serve/settings.ts";
import {
  Misuse,
  resolveOptions,
  type InvalidValue,
  type OptionValue,
} from "../../../src/cli/frame/options.ts";

function parseEven(text: string): Result<number, InvalidValue> {
  return Number(text) % 2 === 0 ? ok(Number(text)) : err({ problem: "must be even", hint: "" });
}

const help = "help";
const table = {
  text: { name: "text", type: "string", help },
  count: { name: "count", type: "string", help, parse: parseEven },
  counts: { name: "counts", type: "list", help, parse: parseEven },
  words: { name: "words", type: "list", help },
  fast: { name: "fast", type: "boolean", help },
  size: {
    name: "size",
    type: "string",
    help,
    parse: oneOf("small", "large"),
    defaultValue: () => "small",
  },
  user: { name: "user", type: "string", help, missingHint: "name a user" },
} as const satisfies OptionTable;

/** The values and the context that a command gets for these flags. */
async function runWith(
  flags: Readonly<Record<string, OptionValue>>,
  ...positionals: readonly string[]
): Promise<[Values<typeof table>, CommandContext<typeof table, readonly ["FILE"]>]> {
  let received: [Values<typeof table>, CommandContext<typeof table, readonly ["FILE"]>] | null =
    null;
  const command = defineCommand({
    name: "sample",
    summary: "a sample",
    options: table,
    arguments: ["FILE"],
    run(values, context) {
      received = [values, context];
      return { text: [], exitCode: 7 };
    },
  });
  const values = resolveOptions(command.options, flags, {}, null);
  const settingsError = null;
  const platform = process.platform;
  const code = await command.run({
    values,
    positionals,
    environment: {},
    platform,
    settingsFile: null,
    settingsError,
  });
  expect(code).toBe(7);
  return received ?? expect.unreachable();
}

describe("the values that a command gets", () => {
  test("have the types that their options define", () => {
    expectTypeOf<Values<typeof table>>().toEqualTypeOf<{
      readonly text: string | null;
      readonly count: number | null;
      readonly counts: readonly number[];
      readonly words: readonly string[];
      readonly fast: boolean;
      readonly size: "small" | "large";
      readonly user: string;
    }>();
    expectTypeOf<Values<typeof table>>().not.toHaveProperty("usr");
    expectTypeOf<ServeSettings["listenTls"]>().toEqualTypeOf<{
      readonly host: string;
      readonly port: number;
    } | null>();
    expectTypeOf<ServeSettings["clientAuth"]>().toEqualTypeOf<"open" | "login" | "mtls">();
  });

  test("are parsed, each text of a list too", async () => {
    const flags = { text: "a", count: "4", counts: ["2", "6"], words: ["b"], fast: true };
    const [values] = await runWith({ ...flags, size: "large", user: "ada" });
    const parsed = { count: 4, counts: [2, 6], size: "large" as const };
    expect(values).toEqual({ text: "a", words: ["b"], fast: true, user: "ada", ...parsed });
  });

  test("are null, empty, false or the default if nothing is set", async () => {
    const [values] = await runWith({ user: "ada" });
    const unset = { text: null, count: null, counts: [], words: [], fast: false };
    expect(values).toEqual({ ...unset, size: "small", user: "ada" });
    expect(defaultValues({ size: table.size, fast: table.fast })).toEqual({
      size: "small",
      fast: false,
    });
  });

  test("come with their sources and the arguments", async () => {
    const [, { args, sources, setOptions }] = await runWith({ user: "ada", count: "04" }, "a.txt");
    expect(args).toEqual(["a.txt"]);
    expect(sources).toMatchObject({ user: "--user", size: "default", text: null });
    expect(setOptions).toEqual([
      { name: "count", value: "04", from: "--count" },
      { name: "size", value: "small", from: "default" },
      { name: "user", value: "ada", from: "--user" },
    ]);
  });
});

describe("a command is refused", () => {
  test.each([
    [{}, "--user is required"],
    [{ user: "ada", counts: ["2", "3"] }, "--counts must be even"],
    [{ user: "ada", size: "huge" }, "--size must be one of small, large"],
  ])("for the flags %j with %s", async (flags, message) => {
    const refused = await runWith(flags).catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(Misuse);
    expect(refused).toHaveProperty("message", message);
  });
});

test("a command with the flag --json must say what it prints as JSON", () => {
  const run = () => ({ text: "no JSON" });
  // @ts-expect-error: the result has no member `json`.
  defineCommand({ name: "sample", summary: "a sample", options: { json: option.json }, run });
});

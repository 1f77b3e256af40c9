import { describe, expect, test } from "bun:test";
import { join, resolve } from "node:path";
import {
  defaultDataFolder,
  Misuse,
  resolveOptions,
  envName,
  type ConfigFile,
  type Option,
} from "../../src/platform/options.ts";

const listen: Option = {
  name: "listen",
  type: "string",
  help: "where",
  isSetting: true,
  defaultValue: () => "default",
};
const networks: Option = { name: "client-networks", type: "list", help: "who", isSetting: true };
const json: Option = { name: "json", type: "boolean", help: "print JSON" };
const OPTIONS = [listen, networks, json];

const file = (values: Record<string, string | string[]>): ConfigFile => ({
  path: "/etc/berth.toml",
  values: new Map(Object.entries(values)),
});

function misuse(act: () => unknown): Misuse {
  try {
    act();
  } catch (error) {
    if (error instanceof Misuse) return error;
    throw error;
  }
  throw new Error("it was taken for good use");
}

test("a flag's twin is in capitals, with underscores", () => {
  expect(OPTIONS.map(envName)).toEqual(["BERTH_LISTEN", "BERTH_CLIENT_NETWORKS", "BERTH_JSON"]);
});

describe("precedence", () => {
  const all = {
    flags: { listen: "flag" },
    environment: { BERTH_LISTEN: "variable" },
    kept: file({ listen: "file" }),
  };

  test.each([
    ["a flag", all, { value: "flag", from: "--listen" }],
    ["the environment", { ...all, flags: {} }, { value: "variable", from: "BERTH_LISTEN" }],
    [
      "the file",
      { ...all, flags: {}, environment: {} },
      { value: "file", from: "/etc/berth.toml" },
    ],
    [
      "the file, where the variable is empty",
      { ...all, flags: {}, environment: { BERTH_LISTEN: "" } },
      { value: "file", from: "/etc/berth.toml" },
    ],
    [
      "the default",
      { flags: {}, environment: {}, kept: file({}) },
      { value: "default", from: "default" },
    ],
    [
      "the default, without a file",
      { flags: {}, environment: {}, kept: null },
      { value: "default", from: "default" },
    ],
  ])("%s decides", (_what, { flags, environment, kept }, expected) => {
    expect(resolveOptions([listen], flags, environment, kept).get("listen")).toEqual(expected);
  });

  test("what nobody set and has no default is not there", () => {
    expect(resolveOptions([networks, json], {}, {}, null).size).toBe(0);
  });
});

describe("the environment's text", () => {
  test("is a list by its commas", () => {
    const environment = { BERTH_CLIENT_NETWORKS: "10.0.0.0/8, ::1" };
    expect(resolveOptions(OPTIONS, {}, environment, null).get("client-networks")?.value).toEqual([
      "10.0.0.0/8",
      "::1",
    ]);
  });

  test.each([
    ["1", true],
    ["true", true],
    ["YES", true],
    ["0", false],
    ["False", false],
    ["no", false],
  ])("%s is a boolean", (text, value) => {
    expect(resolveOptions([json], {}, { BERTH_JSON: text }, null).get("json")?.value).toBe(value);
  });

  test.each(["2", "on", "truely", " true"])("%j is none, and is misuse", (text) => {
    const error = misuse(() => resolveOptions([json], {}, { BERTH_JSON: text }, null));
    expect(error.message).toContain("BERTH_JSON");
  });
});

describe("the data folder, when nobody names one", () => {
  const beside = join(resolve(import.meta.dir, "..", ".."), "data");

  test("is systemd's, else the sources' own", () => {
    expect(defaultDataFolder({ STATE_DIRECTORY: "/var/lib/berth" })).toBe("/var/lib/berth");
    expect(defaultDataFolder({})).toBe(beside);
  });

  test.each(["", "berth", "./berth"])("is never relative to the working folder: %j", (text) => {
    expect(defaultDataFolder({ STATE_DIRECTORY: text })).toBe(beside);
  });
});

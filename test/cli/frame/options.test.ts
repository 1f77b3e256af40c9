import { describe, expect, test } from "bun:test";
import { join, resolve } from "node:path";
import { defaultDataFolder } from "../../../src/platform/environment.ts";
import {
  Misuse,
  resolveOptions,
  envName,
  type ConfigFile,
  type Option,
} from "../../../src/cli/frame/options.ts";

const listen: Option = {
  name: "listen",
  type: "string",
  help: "address to listen on",
  isEditable: true,
  defaultValue: () => "default",
};
const networks: Option = {
  name: "client-networks",
  type: "list",
  help: "networks of clients",
  isEditable: true,
};
const json: Option = { name: "json", type: "boolean", help: "print JSON" };
const OPTIONS = [listen, networks, json];

const file = (values: Record<string, string | string[]>): ConfigFile => ({
  path: "/etc/berth.toml",
  values: new Map(Object.entries(values)),
});

function catchMisuse(resolve: () => unknown): Misuse {
  try {
    resolve();
  } catch (error) {
    if (error instanceof Misuse) return error;
    throw error;
  }
  throw new Error("expected a Misuse error");
}

test("envName returns the name of a flag's variable in capitals with underscores", () => {
  expect(OPTIONS.map(envName)).toEqual(["BERTH_LISTEN", "BERTH_CLIENT_NETWORKS", "BERTH_JSON"]);
});

describe("resolveOptions takes", () => {
  const all = {
    flags: { listen: "flag" },
    environment: { BERTH_LISTEN: "variable" },
    configFile: file({ listen: "file" }),
  };

  test.each([
    ["a flag before all other sources", all, { value: "flag", from: "--listen" }],
    [
      "the environment before the file",
      { ...all, flags: {} },
      { value: "variable", from: "BERTH_LISTEN" },
    ],
    [
      "the file before the default",
      { ...all, flags: {}, environment: {} },
      { value: "file", from: "/etc/berth.toml" },
    ],
    [
      "the file if the variable is empty",
      { ...all, flags: {}, environment: { BERTH_LISTEN: "" } },
      { value: "file", from: "/etc/berth.toml" },
    ],
    [
      "the default if nothing is set",
      { flags: {}, environment: {}, configFile: file({}) },
      { value: "default", from: "default" },
    ],
    [
      "the default without a file",
      { flags: {}, environment: {}, configFile: null },
      { value: "default", from: "default" },
    ],
  ])("%s", (_description, { flags, environment, configFile }, expected) => {
    expect(resolveOptions([listen], flags, environment, configFile).get("listen")).toEqual({
      ...expected,
      parsed: expected.value,
    });
  });

  test("no value for an option that is not set and has no default", () => {
    expect(resolveOptions([networks, json], {}, {}, null).size).toBe(0);
  });
});

describe("a variable's text", () => {
  test("is split into a list at its commas", () => {
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
  ])("%s is the boolean %p", (text, value) => {
    expect(resolveOptions([json], {}, { BERTH_JSON: text }, null).get("json")?.value).toBe(value);
  });

  test.each(["2", "on", "truely", " true"])("%j is refused as a boolean", (text) => {
    const error = catchMisuse(() => resolveOptions([json], {}, { BERTH_JSON: text }, null));
    expect(error.message).toContain("BERTH_JSON");
  });
});

describe("defaultDataFolder", () => {
  const besideSources = join(resolve(import.meta.dir, "..", "..", ".."), "data");

  test("returns systemd's state directory, or data beside the sources", () => {
    expect(defaultDataFolder({ STATE_DIRECTORY: "/var/lib/berth" })).toBe("/var/lib/berth");
    expect(defaultDataFolder({})).toBe(besideSources);
  });

  test.each(["", "berth", "./berth"])("ignores a relative state directory: %j", (text) => {
    expect(defaultDataFolder({ STATE_DIRECTORY: text })).toBe(besideSources);
  });
});

import { describe, expect, test } from "bun:test";
import {
  differencesOf,
  toSettingValue,
  type Setting,
} from "../../../src/web/settings/setting-values.ts";

const makeSetting = (change: Partial<Setting>): Setting => ({
  name: "site_name",
  type: "string",
  value: "vm",
  source: "default",
  default: "vm",
  help: "",
  editable: true,
  why_not: null,
  ...change,
});

const NETWORKS = makeSetting({ name: "client_networks", type: "list", value: [], default: [] });

describe("a text in a field of a setting", () => {
  test("means the default if it is empty", () => {
    expect(toSettingValue(makeSetting({}), "  ")).toBeNull();
    expect(toSettingValue(NETWORKS, "")).toBeNull();
  });

  test("is split into networks at commas, spaces and line breaks", () => {
    expect(toSettingValue(NETWORKS, "::1, 10.1.0.0/16\n10.2.0.0/16,")).toEqual([
      "::1",
      "10.1.0.0/16",
      "10.2.0.0/16",
    ]);
  });
});

describe("the differences", () => {
  test("list only settings whose draft means another value", () => {
    const settings = [
      makeSetting({}),
      makeSetting({ name: "audit_budget", value: "64" }),
      NETWORKS,
    ];
    const drafts = { site_name: " vm ", audit_budget: "8", client_networks: "" };
    expect(differencesOf(settings, drafts)).toMatchObject([{ from: "64", to: "8" }]);
    expect(differencesOf(settings, {})).toEqual([]);
  });

  test("name the default that an empty field sets again", () => {
    const edited = makeSetting({ value: "Plant 4", source: "page" });
    expect(differencesOf([edited], { site_name: "" })).toMatchObject([
      { from: "Plant 4", to: "vm (default)" },
    ]);
    const networks = { ...NETWORKS, value: ["::1"] };
    expect(differencesOf([networks], { client_networks: "" })).toMatchObject([
      { from: "::1", to: "private networks and this machine’s subnets (default)" },
    ]);
  });
});

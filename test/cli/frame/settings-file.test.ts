import { describe, expect, test } from "bun:test";
import { err, ok } from "../../../src/domain/result.ts";
import { parseConfig } from "../../../src/cli/frame/settings-file.ts";
import { settings } from "../../../src/cli/serve/settings.ts";
import { Misuse, type ConfigFile, type Option } from "../../../src/cli/frame/options.ts";

const listen: Option = {
  name: "listen",
  type: "string",
  help: "where",
  placeholder: "HOST:PORT",
  isEditable: true,
  parse: (text) =>
    text === "wrong" ? err({ problem: "must be right", hint: "for example a" }) : ok(text),
};
const networks: Option = {
  name: "client-networks",
  type: "list",
  help: "who",
  placeholder: "CIDR",
  isEditable: true,
};
const json: Option = { name: "json", type: "boolean", help: "print JSON" };

const config = (text: string): ConfigFile =>
  parseConfig("/etc/berth.toml", text, [listen, networks, json]);

function catchMisuse(act: () => unknown): Misuse {
  try {
    act();
  } catch (error) {
    if (error instanceof Misuse) return error;
    throw error;
  }
  throw new Error("no Misuse was thrown");
}

describe("a settings file", () => {
  test("contains settings named with underscores", () => {
    const { path, values } = config('listen = "[::]:80"\nclient_networks = ["10.0.0.0/8", "::1"]');
    expect(path).toBe("/etc/berth.toml");
    expect(Object.fromEntries(values)).toEqual({
      listen: "[::]:80",
      client_networks: ["10.0.0.0/8", "::1"],
    });
  });

  test("accepts keys with underscores or with hyphens", () => {
    for (const key of ["client_networks", "client-networks"]) {
      const { values } = config(`${key} = ["::1"]`);
      expect(values.get("client_networks")).toEqual(["::1"]);
    }
  });

  test("may be empty", () => {
    expect(config("# nothing yet\n").values.size).toBe(0);
  });

  test.each([
    ['listn = "x"', "listn"],
    ['client.networks = ["::1"]', "client"],
    ['[listen]\nhost = "x"', "listen"],
    ['[server]\nlisten = "x"', "server"],
    ["json = true", "json"],
    ['__proto__ = "x"', "__proto__"],
    ["listen = true", "listen"],
    ["listen = true", "listen"],
    ['client_networks = "10.0.0.0/8"', "client_networks"],
    ["client_networks = [10]", "client_networks"],
  ])("is refused with the file and the key named: %j", (text, key) => {
    const { message } = catchMisuse(() => config(text));
    expect(message).toContain("/etc/berth.toml");
    expect(message).toContain(key);
  });

  test.each(["client_networks", "admin_networks"])(
    "is refused if %s is an empty list, which admits many",
    (key) => {
      const { message, hint } = catchMisuse(() =>
        parseConfig("/etc/berth.toml", `${key} = []`, Object.values(settings)),
      );
      expect(message).toBe(`/etc/berth.toml:1: ${key} must not be an empty list`);
      expect(hint).toBe("leave it out for the default, or name at least one");
    },
  );

  test.each([
    ["listn", "did you mean listen? berth help serve lists the settings"],
    ["client_network", "did you mean client_networks? berth help serve lists the settings"],
    ["client-netwroks", "did you mean client_networks? berth help serve lists the settings"],
    ["colour", "berth help serve lists the settings"],
  ])("is refused with a hint for the unknown key %s", (key, hint) => {
    expect(catchMisuse(() => config(`${key} = "x"`)).hint).toBe(hint);
  });

  test("is refused with a hint when it contains a table", () => {
    const { message, hint } = catchMisuse(() => config('[server]\nlisten = "x:1"'));
    expect([message, hint]).toEqual([
      "/etc/berth.toml:1: unknown key server",
      "settings must not be in a TOML table",
    ]);
  });

  test.each([
    ["an unknown key", '# settings\n\nlisten = "a"\n  "listn" = "x"\n', 4, "unknown key listn"],
    [
      "a wrong type",
      'listen = "a"\nclient_networks = "::1"\n',
      2,
      "client_networks must be a list",
    ],
    ["a wrong value", '\nlisten = "wrong"\n', 2, "listen must be right"],
    ["a missing equals sign", 'listen = "a"\nclient_networks ["::1"]\n', 2, "Expected '='"],
    ["a duplicate key", 'listen = "a"\n# again\nlisten = "b"\n', 3, "Cannot redefine key"],
    [
      "an open list after a list of several lines",
      'client_networks = [\n "::1"\n]\nlisten = [\n',
      4,
      "Unterminated",
    ],
    ["an open string in the first line", 'listen = "a\n', 1, ""],
  ])("is refused with the line number of %s", (_what, text, line, problem) => {
    const { message, hint } = catchMisuse(() => config(text));
    expect(message).toStartWith(`/etc/berth.toml:${line}: ${problem}`);
    expect(hint).not.toBe("");
  });
});

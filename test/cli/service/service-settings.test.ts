// Commands on the folder of an installed service use the service's settings file.
import { describe, expect, test } from "bun:test";
import { chmodSync, existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import type { DoctorReply } from "../../../src/http/running-server.ts";
import { buildBinary } from "../../support/binary.ts";
import { canMount, makeInstalledMachine } from "../../support/installed-machine.ts";
import { makeLicensedSite } from "../../support/site-folder.ts";
import { tempFolder } from "../../support/temp-folder.ts";

const FILE = "/etc/berth/berth.toml";

const SETTINGS = `data = "/var/lib/berth"
listen = "127.0.0.1:18080"
listen_tls = "127.0.0.1:18443"
client_auth = "login"
`;

type Settings = Record<string, { readonly value: unknown; readonly source: string }>;

describe.skipIf(!canMount)("with an installed service", () => {
  test("berth config shows the service's settings with its file as their source", async () => {
    const { run } = makeInstalledMachine(SETTINGS);
    const { code, stdout } = await run("config", "--json");
    expect(code).toBe(0);
    const settings = JSON.parse(stdout) as Settings;
    expect(settings).toMatchObject({
      data: { value: "/var/lib/berth", source: FILE },
      listen: { value: "127.0.0.1:18080", source: FILE },
      listen_tls: { value: "127.0.0.1:18443", source: FILE },
      client_auth: { value: "login", source: FILE },
      log: { value: "default", source: "default" },
      config: { value: FILE, source: "default" },
    });
  });

  test("berth config ignores the service's file when --data or --config names another path", async () => {
    const { run } = makeInstalledMachine(SETTINGS);
    const elsewhere = await run("config", "--json", "--data", "/srv/other");
    const settings = JSON.parse(elsewhere.stdout) as Settings;
    expect(settings["listen"]).toEqual({ value: "0.0.0.0:8080", source: "default" });
    expect(settings["config"]).toBeUndefined();
    const named = await run("config", "--json", "--config", "/dev/null");
    expect((JSON.parse(named.stdout) as Settings)["client_auth"]?.source).toBe("default");
  });

  test("berth config shows the defaults when the service has no settings file", async () => {
    const { code, stdout } = await makeInstalledMachine(null).run("config", "--json");
    expect([code, (JSON.parse(stdout) as Settings)["listen"]?.source]).toEqual([0, "default"]);
  });

  test("berth status uses the data folder that the service's file names", async () => {
    const moved = join(tempFolder(), "data");
    await makeLicensedSite(moved, { product: "cad" });
    const { run } = makeInstalledMachine(`data = ${JSON.stringify(moved)}\n`);
    const { code, stdout, stderr } = await run("status");
    expect([code, stderr]).toEqual([0, ""]);
    expect(stdout).toContain(`${moved} (site)`);
  });

  test("berth config uses the service's file when /var/lib/berth does not exist", async () => {
    const moved = join(tempFolder(), "data");
    const { runProgram } = makeInstalledMachine(`data = ${JSON.stringify(moved)}\n`);
    const script = 'umount /var/lib/berth; rmdir /var/lib/berth; exec "$@"';
    const words = [buildBinary(), "config", "--json"];
    const { code, stdout } = await runProgram("sh", "-euc", script, "sh", ...words);
    expect([code, JSON.parse(stdout)]).toEqual([
      0,
      expect.objectContaining({ data: { value: moved, source: FILE } }),
    ]);
  });

  test.skipIf(Bun.which("setpriv") === null)(
    "berth config fails when the service's file is unreadable, instead of using defaults",
    async () => {
      const { runProgram, etc } = makeInstalledMachine(SETTINGS);
      chmodSync(etc, 0o000);
      // File modes apply to root without capabilities as to any other user.
      const drop = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"];
      const { code, stdout, stderr } = await runProgram(...drop, buildBinary(), "config");
      chmodSync(etc, 0o755);
      expect([code, stdout]).toEqual([1, ""]);
      expect(stderr).toStartWith(`berth: error: permission denied: ${FILE} (EACCES)`);
    },
  );

  test("config, status and doctor name the path of a settings file that is a folder", async () => {
    const { run, etc, data } = makeInstalledMachine(null);
    await makeLicensedSite(data, { product: "cad" });
    mkdirSync(join(etc, "berth.toml"));
    const problem = `the settings file ${FILE} is a folder (EISDIR)`;
    for (const words of [["config"], ["status"]]) {
      const { code, stdout, stderr } = await run(...words);
      expect([code, stdout]).toEqual([2, ""]);
      expect(stderr).toStartWith(`berth: error: ${problem}\nberth: hint: `);
    }
    const doctor = await run("doctor", "--json");
    expect([doctor.code, (JSON.parse(doctor.stdout) as DoctorReply).findings]).toEqual([
      78,
      expect.arrayContaining([
        expect.objectContaining({
          code: "settings_invalid",
          summary: problem.replace(/^t/, "T"),
        }),
      ]),
    ]);
  });

  test("berth help config names the service's file", async () => {
    const { stdout } = await makeInstalledMachine(null).run("help", "config");
    expect(stdout).toContain(FILE);
    expect(stdout).not.toContain("/etc/berth.toml");
  });

  test("berth doctor checks the ports that the service's file names", async () => {
    const { run, data } = makeInstalledMachine(SETTINGS);
    await makeLicensedSite(data, { product: "cad" });
    expect((await run("tls", "init")).code).toBe(0);
    const { passed_checks } = JSON.parse((await run("doctor", "--json")).stdout) as DoctorReply;
    const summary = `The settings in ${FILE} are valid`;
    expect(passed_checks).toContainEqual({ check: "settings", summary });
    const ports = passed_checks.filter(({ check }) => check === "port");
    expect(ports.map((port) => port.summary)).toEqual(["Port 18080 is free", "Port 18443 is free"]);
  });

  test.each([
    ["a wrong value", 'listen = "8080"\n', `${FILE}:1: listen must be HOST:PORT`],
    ["a wrong value that it does not use", 'log = "x"\n', `${FILE}:1: log must be one`],
    ["an unknown key", 'listn = "x"\n', `${FILE}:1: unknown key listn`],
    ["a syntax error", "\nlisten = [\n", `${FILE}:2: Unterminated array`],
  ])("doctor reports a settings file with %s and checks no defaults", async (_, text, problem) => {
    const { run, data } = makeInstalledMachine(text);
    await makeLicensedSite(data, { product: "cad" });
    const { code, stdout, stderr } = await run("doctor", "--json");
    expect([code, stderr]).toEqual([78, ""]);
    const { findings, passed_checks } = JSON.parse(stdout) as DoctorReply;
    expect(findings.filter(({ code }) => code === "settings_invalid")).toEqual([
      expect.objectContaining({ severity: "error", summary: expect.stringContaining(problem) }),
    ]);
    expect(passed_checks.filter(({ check }) => check === "port")).toEqual([]);
    expect(findings.filter(({ code }) => /^(?:port|plain|clients|admin)_/.test(code))).toEqual([]);
    const asText = await run("doctor");
    expect(asText.stdout).toMatch(/^error +\/etc\/berth\/berth\.toml:/m);
  });

  test("a broken settings file stops serve and config, but causes only a warning in status", async () => {
    const { run, data } = makeInstalledMachine('data = "/var/lib/berth"\nlisten = "8080"\n');
    await makeLicensedSite(data, { product: "cad" });
    for (const name of ["serve", "config"]) {
      const { code, stdout, stderr } = await run(name);
      expect([code, stdout]).toEqual([2, ""]);
      expect(stderr).toStartWith(`berth: error: ${FILE}:2: listen must be HOST:PORT`);
    }
    const status = await run("status");
    expect([status.code, status.stdout]).toEqual([0, expect.stringContaining("/var/lib/berth")]);
    expect(status.stderr).toStartWith(`berth: warning: ${FILE}:2: listen must be HOST:PORT`);
  });

  test("a broken settings file that names another data folder stops berth slots", async () => {
    const { run } = makeInstalledMachine('data = "/srv/elsewhere"\nlisten = "8080"\n');
    const { code, stderr } = await run("slots");
    expect([code, stderr]).toEqual([2, expect.stringContaining(`${FILE}:2: listen must be`)]);
  });

  test("berth support-bundle works with a broken settings file and quotes the error", async () => {
    const { run, data, etc } = makeInstalledMachine('listen = "8080"\n');
    await makeLicensedSite(data, { product: "cad" });
    const out = join(etc, "bundle.tar");
    const { code, stderr } = await run("support-bundle", "/etc/berth/bundle.tar", "--yes");
    expect([code, stderr]).toEqual([0, ""]);
    expect(existsSync(out)).toBe(true);
    const shown = Bun.spawnSync(["tar", "-xOf", out, "settings.json"]).stdout.toString();
    expect(shown).toContain("listen must be HOST:PORT");
  });
});

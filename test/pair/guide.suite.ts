// Follows two procedures of the guide word for word: the commands are read from it. What differs is
// where they run: folders, hosts and the medium are of this machine, and servers are processes.
import { afterAll, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { buildBinary, runBinary, type ServerProcess } from "../support/binary.ts";
import { repositoryRoot } from "../support/sources.ts";
import { tempFolder } from "../support/temp-folder.ts";
import {
  admitHost,
  createDatabase,
  makeHost,
  refusalOn,
  runOrThrowOn,
  serveOn,
  waitForLeader,
  type Host,
} from "./hosts-of-pair.ts";
import { PostgresCluster } from "./postgres-cluster.ts";
import { withEnd } from "../support/vendor-commands.ts";

const GUIDE = readFileSync(join(repositoryRoot, "src/cli/PAIR.md"), "utf8");

/** The commands of a section that name the host they run on: `… # on license1`. */
function readSteps(heading: string): { readonly command: string; readonly host: string }[] {
  const section = GUIDE.split(`\n### ${heading}\n`)[1]?.split(/\n##/)[0];
  if (section === undefined) throw new Error(`the guide has no section "${heading}"`);
  return [...section.matchAll(/^sudo (.+?) +# on (\w+)$/gm)].map(([, command = "", host = ""]) => ({
    command,
    host,
  }));
}

const readHosts = (command: string): string => /--hosts (\d)/.exec(command)?.[1] ?? "1";

const cluster = PostgresCluster.start();
afterAll(() => cluster.remove());

/** A host of the guide. One that is alone has no settings of a pair. */
interface Machine extends Host {
  readonly isAlone: boolean;
}

/** `--pair-host beta` as BERTH_PAIR_HOST=beta: as the settings file would, it adds to a command. */
function settingsAsVariables(flags: readonly string[]): Record<string, string> {
  const variables: Record<string, string> = {};
  for (const [index, flag] of flags.entries()) {
    if (flag.startsWith("--"))
      variables[flag.slice(2).replaceAll("-", "_").toUpperCase()] = flags[index + 1] ?? "";
  }
  return Object.fromEntries(
    Object.entries(variables).map(([name, value]) => [`BERTH_${name}`, value]),
  );
}

/** The machines that the guide names, the medium that is carried between them, and the vendor. */
class Machines {
  readonly #medium = tempFolder();
  readonly #desk = join(tempFolder(), "desk");
  readonly #hosts = new Map<string, Machine>();
  readonly #servers = new Map<string, ServerProcess>();
  #hostsOfLicense = "1";

  /** A pair with a license for both hosts; license1 leads. */
  static async pair(): Promise<Machines> {
    const machines = new Machines();
    const database = createDatabase(cluster);
    const first = machines.add("license1", database);
    const second = machines.add("license2", database);
    await machines.run("license1", "systemctl start berth");
    await waitForLeader(first, "license1");
    const { admission } = await admitHost(first, second);
    await runOrThrowOn(second, ["pair", "join", admission], second.pairFlags);
    await machines.run("license2", "systemctl start berth");
    await waitForLeader(second, "license1");
    await machines.#runDesk("init", "--name", "Acme", "--no-passphrase", "--product", "CAD");
    const trust = ["trust", "add", join(machines.#desk, "trust.jwt")];
    await runOrThrowOn(first, trust, ["--yes"]);
    const [request, add] = readSteps("Replacing a host").slice(-2);
    for (const step of [request, add]) await machines.run("license1", step?.command ?? "");
    return machines;
  }

  /** A machine with an empty folder, known by its hardware. */
  add(name: string, database: string, { hardware = name, isAlone = false } = {}): Machine {
    const host = makeHost(name, database);
    const flags = ["--data", host.folder, "--identity", hardware];
    const machine = { ...host, flags, isAlone };
    this.#hosts.set(name, machine);
    return machine;
  }

  host(name: string): Machine {
    const host = this.#hosts.get(name);
    if (host === undefined) throw new Error(`no machine is ${name}`);
    return host;
  }

  server(name: string): ServerProcess {
    const server = this.#servers.get(name);
    if (server === undefined) throw new Error(`no server runs on ${name}`);
    return server;
  }

  /** One command of the guide. The settings are those that it tells to write to the file. */
  async run(on: string, command: string): Promise<void> {
    const machine = this.host(on);
    if (command === "systemctl start berth") {
      this.#servers.set(on, await serveOn(machine, machine));
    } else if (command === "systemctl stop berth") {
      await this.#servers.get(on)?.stop();
    } else {
      const words = command.replaceAll("/media/usb", this.#medium).split(" ");
      if (words.shift() !== "berth") throw new Error(`unknown command: ${command}`);
      if (command.startsWith("berth license request")) this.#hostsOfLicense = readHosts(command);
      if (command.startsWith("berth license add")) await this.#answerRequest();
      const { flags, pairFlags, isAlone } = machine;
      const settings = settingsAsVariables([...flags, ...(isAlone ? [] : pairFlags)]);
      const child = Bun.spawn([buildBinary(), ...words], {
        env: { ...process.env, ...settings, BERTH_YES: "true" },
        stdout: "pipe",
        stderr: "pipe",
      });
      const errors = await child.stderr.text();
      if ((await child.exited) !== 0) throw new Error(`${command} on ${on}: ${errors}`);
    }
  }

  async register(on: string, user: string): Promise<string> {
    const response = await fetch(`${this.server(on).url}/api/v4/register`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ product: "CAD", user }),
    });
    return response.ok ? "granted" : ((await response.json()) as { code: string }).code;
  }

  async #answerRequest(): Promise<void> {
    const request = ["--request", join(this.#medium, "request.jwt")];
    const out = ["--out", join(this.#medium, "license.jwt")];
    const terms = ["--slots", "2", "--hosts", this.#hostsOfLicense, "--allow-weak-binding"];
    await this.#runDesk("issue", ...request, ...out, ...withEnd(terms));
  }

  async #runDesk(...words: string[]): Promise<void> {
    const { code, stderr } = await runBinary(["vendor", ...words, "--dir", this.#desk]);
    if (code !== 0) throw new Error(`berth vendor ${words.join(" ")}: ${stderr}`);
  }
}

describe("the guide's steps", () => {
  test("replace a host while the other one serves, and the new machine can lead", async () => {
    const machines = await Machines.pair();
    const [first, second] = [machines.host("license1"), machines.host("license2")];
    await machines.run("license2", "systemctl stop berth");
    const database = second.pairFlags[1] ?? "";
    const replacement = machines.add("license2", database, { hardware: "another machine" });
    const steps = readSteps("Replacing a host");
    const start = steps.findIndex(({ command }) => command === "systemctl start berth");
    for (const { host, command } of steps.slice(0, start + 1)) await machines.run(host, command);
    await waitForLeader(replacement, "license1");
    expect(await machines.register("license1", "ada")).toBe("granted");
    expect((await refusalOn(first, ["pair", "hand-over"])).stderr).toContain(
      "host license2 cannot serve CAD",
    );
    for (const { host, command } of steps.slice(start + 1)) await machines.run(host, command);
    await machines.run("license1", "berth pair hand-over");
    await waitForLeader(replacement, "license2");
    expect(await machines.register("license2", "bob")).toBe("granted");
    expect(await machines.register("license2", "eve")).toBe("floating_not_available");
  });

  test("bring one host back from a backup after everything is lost, and a pair again", async () => {
    const machines = await Machines.pair();
    await machines.run("license1", "berth backup /media/usb/site.berth");
    for (const name of ["license1", "license2"]) await machines.run(name, "systemctl stop berth");
    const database = createDatabase(cluster);
    machines.add("license1", database, { hardware: "a new machine", isAlone: true });
    const steps = readSteps("Everything is lost");
    const restart = steps.findIndex(({ command }) => command === "systemctl start berth");
    for (const { host, command } of steps.slice(0, restart + 1)) await machines.run(host, command);
    expect(await machines.register("license1", "ada")).toBe("needs_pair");
    for (const { host, command } of steps.slice(restart + 1)) await machines.run(host, command);
    expect(await machines.register("license1", "ada")).toBe("granted");
    await machines.run("license1", "systemctl stop berth");
    const restored = machines.host("license1");
    const serverOfPair = await serveOn(restored);
    await waitForLeader(restored, "license1");
    expect((await fetch(`${serverOfPair.url}/api/v4/health`)).status).toBe(200);
  });
});

// One successful run of every command with --json: on a server whose clock stands still, on a host
// of a pair, and with a vendor's desk and a second site, whose times are those of the machine.
import { onTestFinished } from "bun:test";
import { mkdirSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { socketPath } from "../../src/cli/serve/appliance.ts";
import { commands } from "../../src/cli/command-table.ts";
import { DAY, instant, later } from "../../src/domain/time.ts";
import { createApp } from "../../src/http/app.ts";
import { socketGate } from "../../src/http/access/gate.ts";
import { keyIdOf } from "../../src/license/documents/keys.ts";
import type { RunningServer } from "../../src/http/running-server.ts";
import type { ApplianceOperations } from "../../src/operations/wire.ts";
import { wallClock } from "../../src/platform/clock.ts";
import { Appliance, expectOk, openAppliance } from "../support/appliance.ts";
import { openPairOfTwo } from "../support/licensed-pair.ts";
import { makeMaintenance } from "../support/maintenance.ts";
import { runBerth } from "../support/run-berth.ts";
import { hoursLater, minutesLater } from "../support/scenario.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { VENDOR_KEY } from "../support/vendor.ts";
import { CAD, RULES } from "./replies.ts";

export interface CommandOutput {
  /** The name of the command in the table. */
  readonly command: string;
  /** The command line without --json and the data folder; a value that is random has a name. */
  readonly title: string;
  readonly json: unknown;
  /** Its times are those of the machine. */
  readonly hasSystemClock: boolean;
}

/** Its exit code is that of the worst finding on the machine. */
const DEPENDS_ON_MACHINE = "doctor";

const PASSWORD = "correct horse battery";

/** Runs commands in one folder, on one site, and keeps their output. */
class CommandRecorder {
  readonly outputs: CommandOutput[] = [];
  readonly folder: string;
  /** The data folder, below the folder of the recorder or absolute. */
  data = "";
  hasSystemClock = false;

  constructor(folder: string) {
    this.folder = folder;
  }

  /** `values` replaces words of the line, such as ID. */
  async run<T>(
    line: string,
    values: Readonly<Record<string, string | number>> = {},
    stdin = "",
  ): Promise<T> {
    const words = (line.match(/"[^"]*"|\S+/g) ?? []).map((word) =>
      String(values[word] ?? word.replaceAll('"', "")),
    );
    const { code, stdout, stderr } = await runBerth([...words, "--json"], {
      cwd: this.folder,
      stdin,
      env: { BERTH_DATA: this.data, BERTH_IDENTITY: "plant 7", BERTH_DIR: "desk" },
    });
    const command = findCommandName(line);
    if (code !== 0 && command !== DEPENDS_ON_MACHINE) {
      throw new Error(`berth ${line}: exit ${code}: ${stderr}${stdout}`);
    }
    const json = JSON.parse(stdout) as T;
    const { hasSystemClock } = this;
    this.outputs.push({ command, title: `berth ${line}`, json, hasSystemClock });
    return json;
  }

  /** The same, and writes the signed document in the output to a file. */
  async runForDocument<T extends object>(
    file: string,
    line: string,
    values: Readonly<Record<string, string | number>> = {},
  ): Promise<T> {
    const json = await this.run<T>(line, values);
    const texts = Object.values(json).filter((value) => typeof value === "string");
    this.write(file, texts.find((text) => text.startsWith("eyJ")) ?? "");
    return json;
  }

  write(name: string, text: string): void {
    writeFileSync(join(this.folder, name), text);
  }
}

/** The longest name that the line begins with. */
const findCommandName = (line: string): string =>
  commands
    .map(({ name }) => name)
    .filter((name) => `${line} `.startsWith(`${name} `))
    .toSorted((a, b) => b.length - a.length)[0] ?? "";

/** Commands reach it through its socket, as a server's. */
function serve({ services, folder }: Appliance): { stop: () => Promise<void> } {
  const { fetch } = createApp(services, socketGate);
  const server = Bun.serve({ unix: socketPath(folder), fetch });
  const stop = () => server.stop(true);
  onTestFinished(stop);
  return { stop };
}

const maintain = (folder: string, operations: ApplianceOperations): RunningServer => ({
  ...makeMaintenance(folder, operations),
  notifier: {
    failures: () => [],
    test: async () => [
      {
        setting: "on_event",
        delivery: { exitCode: 0, failure: null, output: "sent", durationMs: 4 },
      },
    ],
  },
});

export async function collectCommandOutputs(): Promise<CommandOutput[]> {
  const recorder = new CommandRecorder(tempFolder());
  await runOnServer(recorder);
  await runOnPair(recorder);
  await runAtDesk(recorder);
  await runOnStoppedSite(recorder);
  await runTools(recorder);
  return recorder.outputs;
}

/** Times are those of the site's own clock. */
async function runOnServer(to: CommandRecorder): Promise<void> {
  const site = await openAppliance({
    folder: join(to.folder, "site"),
    licenses: { 1: CAD, 2: { product: "cam", type: "perpetual", slots: 5 } },
    maintenance: maintain,
    contactClock: () => 0,
  });
  to.data = "site";
  const server = serve(site);
  for (const user of ["ada", "bob", "eve", "gus"]) {
    await site.register({ product: "cad", user, os_hostname: "ws-9" }, { Prefer: "wait=0" });
  }
  expectOk(await site.featureRegister({ product: "cad", user: "ada", feature: "view" }));
  site.clock.now = minutesLater(1);
  await to.run("status");
  await to.run("slots --product cad");
  await to.run("queue");
  await to.run("queue front gus --product cad");
  await to.run("queue drop eve --product cad");
  await to.run("check slots -w 101 -c 102");
  await to.run("license list");
  await to.run("doctor");

  to.write("rules.toml", RULES);
  await to.run("rules check rules.toml");
  await to.run("rules apply rules.toml");
  await to.run("rules show");
  await to.run("rules explain --user ada --product cad --host ws-9");
  await to.run("rules clear");
  await to.run("config");
  await to.run('config set site_name "Plant 5"');
  await to.run("config reset site_name");
  await to.run("events test");
  await to.run("release --product cad --user ada --user bob");
  await to.run("clock");

  site.clock.now = hoursLater(30);
  await to.run("usage --range day");
  await to.run("usage rebuild");
  const period = "--product cad --from 2026-03-02 --to 2026-03-02 --time-zone Europe/Berlin";
  await to.run(`report ${period}`);
  await to.run(`report what-if ${period} --slots 1..3`);
  await to.run("audit --limit 4");
  await to.run("audit --out audit.jsonl");
  await to.run("audit verify audit.jsonl");
  await to.run("audit repair");
  await to.run("backup now");
  await to.run("backup list");
  await to.run("clock accept");

  await to.run("keys set", {}, "apiKey=a1\nsharedKey=s1\n");
  const { token } = await to.run<{ token: string }>("admin token --name ops --days 3");
  const bearer = { authorization: `Bearer ${token}` };
  const { session } = expectOk(
    await site.post<{ session: { id: string } }>("/api/admin/v1/sessions", {}, bearer),
  );
  await to.run("admin user add eve --role viewer", {}, `${PASSWORD}\n`);
  await to.run("admin password --name ada", {}, `${PASSWORD}\n`);
  await to.run("admin user list");
  await to.run("admin session list");
  await to.run("admin session revoke ID", { ID: session.id });
  await to.run("admin user remove eve");
  await to.run("admin token revoke ops");
  await to.run('audit seal 2026-03 --note "a note" --yes');
  await server.stop();
  await site.stop();
}

/** The host beta is admitted again, and then alpha ends the pair. */
async function runOnPair(to: CommandRecorder): Promise<void> {
  const { alpha } = await openPairOfTwo();
  const services = { ...(await openAppliance({ licenses: {} })).services, ...alpha.operations };
  to.data = "beta";
  mkdirSync(join(to.folder, to.data));
  await to.run("pair request beta.request --pair-host beta");
  to.data = alpha.folder;
  serve(new Appliance(services, { now: instant(0) }, alpha.folder));
  await to.run("pair admit beta.request beta.admission --yes");
  await to.run("pair status");
  await to.run("pair leave --yes");
}

/** A desk, and a site that gets its licenses from it. */
async function runAtDesk(to: CommandRecorder): Promise<void> {
  const plant = await openAppliance({ licenses: {}, folder: join(to.folder, "plant") });
  plant.clock.now = wallClock();
  to.hasSystemClock = true;
  to.data = "plant";
  serve(plant);
  const init = "vendor init --name Acme --product CAD --no-passphrase";
  const { key } = await to.run<{ key: string }>(init);
  await to.run("vendor product add CAM --root desk-root");
  await to.run("trust add desk/trust.jwt --yes");
  await to.run("trust list");

  await to.runForDocument(
    "request.jwt",
    "license request --product CAD --license-key K-1 --slots 5",
  );
  await to.run("license requests");
  const { license_id } = await to.runForDocument<{ license_id: number }>(
    "license.jwt",
    "vendor issue --request request.jwt --slots 2 --consumptions 10 --valid-until never",
  );
  await to.run("vendor inspect license.jwt");
  await to.run("license add license.jwt");
  const { request_id } = await to.run<{ request_id: string }>("license request --product CAM");
  await to.run("license cancel ID --yes", { ID: request_id });

  await to.runForDocument(
    "policy.jwt",
    "vendor policy --policy-id basic --product CAM --slots 5 --valid-until never",
  );
  const { initialization_code } = await to.run<{ initialization_code: string }>("vendor init-code");
  const { activation_code } = await to.run<{ activation_code: string }>(
    "airgap request --license-key K-2 --initialization-code CODE",
    { CODE: initialization_code },
  );
  const confirm = "--license-key K-2 --activation-code CODE --initialization-code INIT";
  const { confirmation_code } = await to.run<{ confirmation_code: string }>(
    `vendor confirm --policy policy.jwt ${confirm}`,
    { CODE: activation_code, INIT: initialization_code },
  );
  await to.run("airgap add --policy policy.jwt --license-key K-2 --policy-id basic --code CODE", {
    CODE: confirmation_code,
  });

  const ada = { product: "CAD", user: "ada" };
  expectOk(await plant.register(ada));
  expectOk(await plant.post("unregister", ada));
  // A statement covers whole days.
  plant.clock.now = later(plant.clock.now, DAY);
  await to.run("usage statements");
  await to.runForDocument("statement.jwt", "usage statement");
  await to.runForDocument("acknowledgement.jwt", "vendor receive statement.jwt");
  await to.run("usage acknowledge acknowledgement.jwt");
  await to.run("vendor usage");
  await to.run("license remove ID --yes", { ID: license_id });
  await to.run("vendor list");
  const { code } = expectOk(await plant.post<{ code: string }>("/api/admin/v1/clock/request", {}));
  await to.runForDocument("time.jwt", "vendor time --code CODE", { CODE: code });
  await to.run("clock repair time.jwt");

  await runOrders(to);
  await to.run("vendor show");
  await to.run("vendor key new --no-passphrase --root desk-root");
  await to.runForDocument("key.request", "vendor key new --no-passphrase");
  await to.runForDocument("key.cert", "vendor key certify key.request --root desk-root --yes");
  await to.run("vendor accept key.cert");
  await to.run("vendor key retire ID --root desk-root --yes", { ID: key });
  await to.run("vendor product remove CAM --root desk-root --yes");
  await to.run('vendor name "Acme Ltd" --root desk-root');
  const { rows } = await to.run<{ rows: string[] }>("vendor root print --root desk-root --yes");
  const restore = "vendor root restore - --root restored --no-passphrase";
  await to.run(restore, {}, rows.join("\n"));
  await to.run("vendor root passphrase --root restored --no-passphrase");
  await to.run("vendor passphrase --no-passphrase");
  await to.run("vendor verify");
  await to.run("vendor backup desk.backup --yes");
  renameSync(join(to.folder, "desk"), join(to.folder, "desk.old"));
  await to.run("vendor restore desk.backup");
  await to.run("trust remove ID", { ID: keyIdOf(VENDOR_KEY) });
}

/** Orders of a customer, and the answer to a request for one of them. */
async function runOrders(to: CommandRecorder): Promise<void> {
  await to.run("vendor order adopt --customer Hooli --dry-run");
  const terms = "--product CAM --slots 3 --valid-until 2099-12-31";
  const { license_key } = await to.run<{ license_key: string }>(
    `vendor order add --customer Initech ${terms}`,
  );
  to.write("orders.csv", "customer,product,license_key,valid_until\nInitrode,CAM,PO-7,never\n");
  await to.run("vendor order import orders.csv");
  await to.run("vendor order change KEY --slots 4", { KEY: license_key });
  mkdirSync(join(to.folder, "inbox"));
  await to.runForDocument(
    join("inbox", "order.jwt"),
    "license request --product CAM --license-key KEY",
    { KEY: license_key },
  );
  await to.run("vendor answer inbox");
  await to.run("vendor order renew KEY --valid-until never --out-dir renewals", {
    KEY: license_key,
  });
  await to.run("vendor order show KEY", { KEY: license_key });
  await to.run("vendor order list");
  await to.run('vendor order close PO-7 --reason "entered twice" --yes');
  await to.run("vendor customer list");
  await to.run('vendor customer rename cust-2 "Initrode Ltd"');
  await to.run("vendor customer merge cust-2 --into cust-1 --yes");
  await to.run("vendor restored");
}

/** What changes the whole folder of the first site, whose server is stopped. */
async function runOnStoppedSite(to: CommandRecorder): Promise<void> {
  to.data = "site";
  await to.run("verify");
  await to.run("backup site.berth");
  await to.run("restore site.berth");
  await to.run("support-bundle support.tar --yes");
  await to.run("tls init --names berth.plant7.lan,10.1.0.5");
  await to.run("tls client --name ws-17 --out ws-17.pem");
  mkdirSync(join(to.folder, "backups"));
  await to.run("backup-job site backups 2");
  await to.run("move out site.move --yes");
  await to.run("move in site.move");
}

async function runTools(to: CommandRecorder): Promise<void> {
  to.write("vendor.opt", "GROUP staff ada bob\nRESERVE 1 CAD GROUP staff\n");
  await to.run("rules import vendor.opt");
  await to.run("metrics rules");
  await to.run("metrics dashboard");
  await to.run("version");
  await to.run("notices");
  await to.run("client python");
  to.write("text.txt", "a text\n");
  const { frames } = await to.run<{ frames: { text: string }[] }>("qr text.txt");
  to.write("scanned.txt", frames.map(({ text }) => text).join("\n"));
  await to.run("qr join scanned.txt");
}

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DAY } from "../../../domain/time.ts";
import { err, ok, type Result } from "../../../domain/result.ts";
import { verifyLicenseRequest } from "../../../license/requests/request.ts";
import { wallClock } from "../../../platform/clock.ts";
import { realDisk } from "../../../platform/files/disk.ts";
import { replaceFile } from "../../../platform/files/files.ts";
import { list, path, text, type InvalidValue } from "../../frame/options.ts";
import { version } from "../../../platform/embedded/version.ts";
import {
  confirmActivation,
  createPolicy,
  USUAL_CONFIRMATION,
} from "../../../desk/issuing/airgap.ts";
import { Desk, usualRootFolder } from "../../../desk/desk.ts";
import { Root } from "../../../desk/root.ts";
import { loadDeskRecords } from "../../../desk/desk-records.ts";
import { issueLicense } from "../../../desk/issuing/issue.ts";
import { EXAMPLE_CONTACT } from "../../../http/routes/slots/slot-reply.ts";
import type { Services } from "../../../http/services.ts";
import { Failure } from "../../frame/command.ts";
import { defaultValues, defineServer, type SetOption } from "../../frame/define-command.ts";
import { folderPath, listenAddress } from "../../frame/option-parsers.ts";
import { DEFAULT_SOURCE } from "../../serve/live-settings.ts";
import { settings } from "../../serve/settings.ts";
import { demoIssueOptions, demoTerms } from "../../vendor/demo-license.ts";
import {
  refuseDebugger,
  refuseUnsupportedPlatform,
  runServer,
  type ServerContext,
} from "../../serve/run-server.ts";
import { print, formatTable } from "../../frame/terminal.ts";

function productCode(text: string): Result<string, InvalidValue> {
  if (/^[\x21-\x7e]{1,64}$/.test(text)) return ok(text);
  const problem = "must be 1 to 64 visible ASCII characters";
  return err({ problem, hint: "for example --product CAD" });
}

export const demoCommand = defineServer({
  name: "demo",
  isCommon: true,
  summary: "run a demo server with a license, ready for curl",
  options: {
    listen: text("--listen HOST:PORT", "address and port to listen on", {
      defaultValue: "127.0.0.1:8080",
      parse: listenAddress,
    }),
    data: path(
      "--data DIR",
      "keep the demo's data here; default: a temporary folder that is deleted when the demo stops",
      { parse: folderPath },
    ),
    products: list(
      "--product CODE",
      "an additional product code to license besides DEMO; can be repeated",
      { parse: productCode },
    ),
  },
  examples: ["berth demo", "berth demo --product CAD --listen 127.0.0.1:9000"],
  async run({ listen, data: keptFolder, products }, { environment, platform, setOptions }) {
    refuseUnsupportedPlatform(platform, "demo");
    refuseDebugger(environment);
    const folder = keptFolder ?? mkdtempSync(join(tmpdir(), "berth-demo-"));
    const licensed = [...new Set(["DEMO", ...products])];
    try {
      return await runServer({
        kind: "demo",
        settings: { ...defaultValues(settings), listen, data: folder, backupSchedule: null },
        setOptions: [...setOptions, ...listDemoDefaults(folder, setOptions)],
        config: null,
        environment,
        prepare: (appliance) => installLicenses(appliance, folder, licensed),
        ready: (server) => banner(server, keptFolder !== null),
      });
    } finally {
      if (keptFolder === null) rmSync(folder, { recursive: true, force: true });
    }
  },
});

/** What a demo uses where nothing is set, so that its settings are listed as they are. */
const listDemoDefaults = (folder: string, setOptions: readonly SetOption[]): SetOption[] =>
  [
    { name: settings.data.name, value: folder, from: DEFAULT_SOURCE },
    // The data of a demo is not needed again.
    { name: settings.backupSchedule.name, value: "off", from: DEFAULT_SOURCE },
  ].filter(({ name }) => !setOptions.some((set) => set.name === name));

const deskFolder = (folder: string): string => join(folder, "demo", "vendor");

/**
 * Creates a demo vendor in the folder and exchanges the usual documents with it: trust, request,
 * license. Requests only what is missing, so that a kept folder keeps its counts.
 */
async function installLicenses(
  appliance: Services,
  folder: string,
  products: string[],
): Promise<void> {
  const { licensing, vendorTrust } = appliance;
  const desk = await openDemoDesk(deskFolder(folder), products);
  unwrapResult(await vendorTrust.trustVendor(desk.trust.document, "demo"));
  const installed = unwrapResult(await licensing.listLicenses());
  const licensed = new Set(installed.map(({ terms }) => terms.product));
  for (const product of products) {
    if (licensed.has(product)) continue;
    const created = unwrapResult(await licensing.request(product, null, "demo"));
    const request = unwrapResult(await verifyLicenseRequest(created.document));
    const { document } = await issueLicense(desk, demoIssueOptions(request, created.at));
    unwrapResult(await licensing.installLicense(document, "demo"));
  }
  await writeAirgapBody(appliance, desk, join(folder, "demo", AIRGAP_BODY));
}

const AIRGAP_BODY = "airgap-license.json";
const AIRGAP_KEY = "DEMO-AIRGAP";

/** Writes the body of a call that installs a license by codes; the demo's desk confirms them. */
async function writeAirgapBody(appliance: Services, desk: Desk, path: string): Promise<void> {
  const activation = unwrapResult(
    await appliance.airgap.createActivationCode(AIRGAP_KEY, "", "demo"),
  );
  const terms = { ...demoTerms, product: "DEMO" };
  // Another version of Berth may have created the folder, with other demo terms.
  const policy = await createPolicy(desk, "demo", terms, wallClock(), { isReplacing: true });
  const { policy_id, confirmation_code } = await confirmActivation(desk, {
    ...USUAL_CONFIRMATION,
    policy,
    licenseKey: AIRGAP_KEY,
    activationCode: activation.code,
    allowWeakBinding: true,
    now: wallClock(),
  });
  const body = { license_policy: policy, license_key: AIRGAP_KEY, policy_id, confirmation_code };
  await replaceFile(realDisk, path, Buffer.from(`${JSON.stringify(body)}\n`));
}

/** The demo's desk can license any product; a new product needs a new trust document. */
async function openDemoDesk(folder: string, products: string[]): Promise<Desk> {
  const exists = realDisk.stat(folder) !== null && realDisk.list(folder).length > 0;
  if (!exists) {
    return Desk.create(realDisk, folder, { name: "Berth demo", products, passphrase: null });
  }
  const { vendor } = await loadDeskRecords(realDisk, folder);
  const all = [...new Set([...vendor.products, ...products])];
  if (all.length > vendor.products.length) {
    const root = await Root.open(realDisk, usualRootFolder(folder), null);
    const changed = await root.signNext({ products: all });
    await Desk.acceptTrust(realDisk, folder, changed.trust);
  }
  return Desk.open(realDisk, folder, null);
}

function unwrapResult<T>(result: Result<T, unknown>): T {
  if (result.ok) return result.value;
  throw new Failure(`the demo's license was refused: ${JSON.stringify(result.fault)}`, "");
}

async function banner({ url, folder }: ServerContext, isKept: boolean): Promise<void> {
  const { vendor } = await loadDeskRecords(realDisk, deskFolder(folder));
  print(
    `berth ${version} demo: for evaluation only; administration is open to the same networks as applications`,
  );
  print(
    formatTable([
      ["  address", `${url}, page at ${url}/`],
      ["  data", `${folder}${isKept ? "" : " (deleted when the demo stops)"}`],
      ["  vendor key", `${vendor.jwk.x} (public; checks leases)`],
    ]),
  );
  print("\nRun these in another terminal, one line for each operation:\n");
  for (const { description, command } of curlLines(url, join(folder, "demo", AIRGAP_BODY)))
    print(`# ${description}\n${command}\n`);
  print("ready");
}

function curlLines(
  url: string,
  airgapBody: string,
): { readonly description: string; readonly command: string }[] {
  const until = new Date(Date.now() + 7 * DAY).toISOString();
  const curl = (path: string, data: string): string =>
    `curl -sS -X POST ${url}/api/v4/${path} -H 'Content-Type: application/json' ` +
    `-H 'Accept: application/json' -d ${data}`;
  const post = (path: string, body: object): string => curl(path, `'${JSON.stringify(body)}'`);
  return [
    {
      description: "register a user for a product",
      command: post("register", { product: "DEMO", user: "ada", ...EXAMPLE_CONTACT }),
    },
    {
      description: "borrow a license slot for a user",
      command: post("borrow", {
        product: "DEMO",
        user: "grace",
        ...EXAMPLE_CONTACT,
        borrowed_until: until,
      }),
    },
    {
      description: "add license consumption for a product",
      command: post("add_consumption", {
        product: "DEMO",
        consumptions: "1",
        max_overages: "10",
        allow_overages: "true",
      }),
    },
    {
      description: "add consumption of a feature",
      command: post("add_feature_consumption", {
        product: "DEMO",
        feature: "EXPORT",
        consumptions: "1",
      }),
    },
    {
      description: "add an air-gapped license: a second one of DEMO, with 5 slots of its own",
      command: curl("airgap/license", `@'${airgapBody.replaceAll("'", `'\\''`)}'`),
    },
    {
      description: "generate an offline license request payload",
      command: post("license/generate", {}),
    },
    {
      description: "set the API key and the shared key towards a licensing cloud",
      command:
        `curl -sS -H 'Accept: application/json' ` +
        `'${url}/api/v4/setKeys?apiKey=demo-api-key&sharedKey=demo-shared-key'`,
    },
  ];
}

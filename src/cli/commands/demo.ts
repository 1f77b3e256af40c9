import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DAY } from "../../domain/time.ts";
import type { Result } from "../../domain/result.ts";
import { verifyLicenseRequest } from "../../license/request.ts";
import { signTrustDocument } from "../../license/trust.ts";
import { wallClock } from "../../platform/clock.ts";
import { realDisk } from "../../platform/disk.ts";
import { replaceFile } from "../../platform/files.ts";
import { Misuse } from "../../platform/options.ts";
import { version } from "../../platform/version.ts";
import { confirmActivation, createPolicy } from "../../desk/airgap.ts";
import { Desk } from "../../desk/desk.ts";
import { issueLicense } from "../../desk/issue.ts";
import type { Services } from "../../http/app.ts";
import { getDataFolder, Failure, getListFlag, type Command } from "../command.ts";
import { demoIssueOptions, demoTerms } from "../demo-license.ts";
import { option } from "../flags.ts";
import {
  refuseDebugger,
  refuseUnsupportedPlatform,
  runServer,
  type ServerContext,
} from "../run-server.ts";
import { print, formatTable } from "../terminal.ts";

export const demoCommand: Command = {
  name: "demo",
  isCommon: true,
  summary: "run a demo server with a license, ready for curl",
  options: [option.demoListen, option.demoData, option.demoProducts],
  examples: ["berth demo", "berth demo --product CAD --listen 127.0.0.1:9000"],
  async run(given) {
    refuseUnsupportedPlatform(given, "demo");
    refuseDebugger(given);
    const products = ["DEMO", ...getListFlag(given, "product")];
    const wrong = products.find((code) => !/^[\x21-\x7e]{1,64}$/.test(code));
    if (wrong !== undefined) {
      throw new Misuse(
        "--product must be 1 to 64 visible ASCII characters",
        "for example --product CAD",
      );
    }
    const kept = given.values.has("data") ? getDataFolder(given) : null;
    const folder = kept ?? mkdtempSync(join(tmpdir(), "berth-demo-"));
    try {
      return await runServer(
        given,
        folder,
        "demo",
        (appliance) => install(appliance, folder, [...new Set(products)]),
        (server) => banner(server, kept !== null),
      );
    } finally {
      if (kept === null) rmSync(folder, { recursive: true, force: true });
    }
  },
};

/**
 * A vendor of the demo's own, in the folder, and the ordinary loop with it: trust, request,
 * license. Only what is missing is asked for, so that a kept folder keeps its totals.
 */
async function install(appliance: Services, folder: string, products: string[]): Promise<void> {
  const { operations, licensing } = appliance;
  const desk = await openDemoDesk(join(folder, "demo", "vendor"), products);
  unwrapResult(await licensing.trustVendor(await signTrustDocument(desk.vendor, desk.key), "demo"));
  const installed = unwrapResult(await operations.licenses());
  const licensed = new Set(installed.map(({ terms }) => terms.product));
  for (const product of products) {
    if (licensed.has(product)) continue;
    const asked = unwrapResult(await licensing.request(product, null, "demo"));
    const request = unwrapResult(await verifyLicenseRequest(asked.document));
    const { document } = await issueLicense(desk, demoIssueOptions(request, asked.at));
    unwrapResult(await licensing.installLicense(document, "demo"));
  }
  await writeAirgapBody(appliance, desk, join(folder, "demo", AIRGAP_BODY));
}

const AIRGAP_BODY = "airgap-license.json";
const AIRGAP_KEY = "DEMO-AIRGAP";

/** A fresh activation, confirmed by the demo's desk: the body of a call that installs a license. */
async function writeAirgapBody(appliance: Services, desk: Desk, path: string): Promise<void> {
  const made = unwrapResult(await appliance.airgap.createActivationCode(AIRGAP_KEY, "", "demo"));
  const terms = { ...demoTerms, product: "DEMO" };
  // Another version of Berth may have made the folder, with other terms for its demo.
  const policy = await createPolicy(desk, "demo", terms, wallClock(), { isReplacing: true });
  const { policy_id, confirmation_code } = await confirmActivation(desk, {
    policy,
    licenseKey: AIRGAP_KEY,
    activationCode: made.code,
    initializationCode: "",
    validUntil: null,
    serial: null,
    allowWeakBinding: true,
    now: wallClock(),
  });
  const body = { license_policy: policy, license_key: AIRGAP_KEY, policy_id, confirmation_code };
  await replaceFile(realDisk, path, Buffer.from(`${JSON.stringify(body)}\n`));
}

/** The demo's desk may license whatever it is asked to; a new product is a new trust document. */
async function openDemoDesk(folder: string, products: string[]): Promise<Desk> {
  const made = realDisk.list(folder).length > 0;
  const desk = made
    ? await Desk.open(realDisk, folder, null)
    : await Desk.create(realDisk, folder, { name: "Berth demo", products, passphrase: null });
  return desk.addProducts(realDisk, folder, products);
}

function unwrapResult<T>(result: Result<T, unknown>): T {
  if (result.ok) return result.value;
  throw new Failure(`the demo's license was refused: ${JSON.stringify(result.fault)}`, "");
}

async function banner({ url, folder }: ServerContext, kept: boolean): Promise<void> {
  print(
    `berth ${version} demo: for evaluation only; administration is open to the same networks as applications`,
  );
  print(
    formatTable([
      ["  address", `${url}, page at ${url}/`],
      ["  data", `${folder}${kept ? "" : " (deleted when the demo stops)"}`],
    ]),
  );
  print("\nRun these in another terminal, one line for each operation:\n");
  for (const { says, line } of curlLines(url, join(folder, "demo", AIRGAP_BODY)))
    print(`# ${says}\n${line}\n`);
  print("ready");
}

function curlLines(
  url: string,
  airgapBody: string,
): { readonly says: string; readonly line: string }[] {
  const contact = { os_hostname: "ws-17", ip_local: "10.0.0.17", user_info: "" };
  const until = new Date(Date.now() + 7 * DAY).toISOString();
  const curl = (path: string, data: string): string =>
    `curl -sS -X POST ${url}/api/v4/${path} -H 'Content-Type: application/json' ` +
    `-H 'Accept: application/json' -d ${data}`;
  const post = (path: string, body: object): string => curl(path, `'${JSON.stringify(body)}'`);
  return [
    {
      says: "register a user for a product",
      line: post("register", { product: "DEMO", user: "ada", ...contact }),
    },
    {
      says: "borrow a license slot for a user",
      line: post("borrow", { product: "DEMO", user: "grace", ...contact, borrowed_until: until }),
    },
    {
      says: "add license consumption for a product",
      line: post("add_consumption", {
        product: "DEMO",
        consumptions: "1",
        max_overages: "10",
        allow_overages: "true",
      }),
    },
    {
      says: "add consumption of a feature",
      line: post("add_feature_consumption", {
        product: "DEMO",
        feature: "EXPORT",
        consumptions: "1",
      }),
    },
    {
      says: "add an air-gapped license",
      line: curl("airgap/license", `@'${airgapBody.replaceAll("'", `'\\''`)}'`),
    },
    {
      says: "generate an offline license request payload",
      line: post("license/generate", {}),
    },
    {
      says: "set the API key and the shared key towards a licensing cloud",
      line:
        `curl -sS -H 'Accept: application/json' ` +
        `'${url}/api/v4/setKeys?apiKey=demo-api-key&sharedKey=demo-shared-key'`,
    },
  ];
}

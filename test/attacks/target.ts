// The target of the attacks: the real binary on a new site with licenses of every kind, an admin
// token, and all documents that would be valid to send.
import { join } from "node:path";
import { DAY, later } from "../../src/domain/time.ts";
import { signAcknowledgement } from "../../src/license/documents/acknowledgement.ts";
import { decodeTimeCode, signTimeDocument } from "../../src/license/documents/time-document.ts";
import { verifyLicenseRequest } from "../../src/license/requests/request.ts";
import type { TermsDocument } from "../../src/license/terms/terms.ts";
import { wallClock } from "../../src/platform/clock.ts";
import { realDisk } from "../../src/platform/files/disk.ts";
import {
  confirmActivation,
  createPolicy,
  USUAL_CONFIRMATION,
} from "../../src/desk/issuing/airgap.ts";
import { Desk } from "../../src/desk/desk.ts";
import { issueLicense } from "../../src/desk/issuing/issue.ts";
import { USUAL_OPTIONS } from "../../src/desk/issuing/issue-options.ts";
import { atEnd } from "../support/suite-harness.ts";
import { buildBinary, startBinary, type ServerProcess } from "../support/binary.ts";
import { unwrap } from "../support/licensed-store.ts";
import { openSiteFolder } from "../support/site-folder.ts";

export const PRODUCT = "cad";
export const LOGIN = "ada";
export const PASSWORD = "correct horse battery";
/** Recorded as the caller of operations that the suite calls directly. */
export const PEER = "attack-suite";
const SPARE = "spare";
const MESH = "mesh";
const KEY = "MESH-0001";

const plainFeature = { metadata: null, expires: null, floating: null, consumption: null };

/** Small numbers, so that requests reach every limit all the time. */
const TERMS: Partial<TermsDocument> = {
  license_type: "consumption",
  valid_until: null,
  timeout_minutes: 30,
  borrow_hours: 24,
  consumption: { max: 1_000, overages: 10, negative: true, period: null },
  features: [
    { ...plainFeature, code: "view", name: "View", floating: { slots: 5, timeout_minutes: 30 } },
    {
      ...plainFeature,
      code: "plot",
      name: "Plot",
      consumption: { max: 500, overages: 0, negative: true, period: null },
    },
  ],
};

/** The documents that a site has installed and would accept again, as the vendor signed them. */
export interface SiteDocuments {
  readonly vendor: Desk;
  /** Trusted too, but without an installed license: it can be removed. */
  readonly otherVendor: Desk;
  readonly trust: string;
  readonly otherTrust: string;
  readonly license: string;
  readonly licenseId: number;
  /** A license that may be returned. */
  readonly spareLicenseId: number;
  readonly openRequest: string;
  /** A request that is cancelled already: it can be cancelled again. */
  readonly cancelledRequest: string;
  readonly airgap: {
    readonly license_policy: string;
    readonly license_key: string;
    readonly policy_id: string;
    readonly confirmation_code: string;
  };
  /** Answers the site's current time code. */
  readonly timeAnswer: string;
  /** Of the site's only statement. */
  readonly acknowledgement: string;
}

const createDesk = (folder: string, name: string, products: string[]): Promise<Desk> =>
  Desk.create(realDisk, folder, { name, products, passphrase: null });

/**
 * Creates the data folder `site` below `root`, installs licenses, and closes it again. The licenses
 * are two days old, so that a usage statement can be made.
 */
export async function makeLicensedSite(root: string, slots = 8): Promise<SiteDocuments> {
  let now = later(wallClock(), -2 * DAY);
  const site = await openSiteFolder(join(root, "site"), () => now);
  try {
    const vendor = await createDesk(join(root, "desk"), "Initrode", [PRODUCT, SPARE, MESH]);
    const otherVendor = await createDesk(join(root, "other"), "Hooli", ["nucleus"]);
    const [trust, otherTrust] = [vendor.trust.document, otherVendor.trust.document];
    for (const document of [trust, otherTrust])
      unwrap(await site.vendorTrust.trustVendor(document, PEER));
    const install = async (product: string): Promise<{ id: number; document: string }> => {
      const request = unwrap(await site.licensing.request(product, null, PEER));
      const { document } = await issueLicense(vendor, {
        ...USUAL_OPTIONS,
        request: unwrap(await verifyLicenseRequest(request.document)),
        isNew: true,
        terms: { ...TERMS, slots },
        allowWeakBinding: true,
        now,
      });
      return { id: unwrap(await site.licensing.installLicense(document, PEER)).id, document };
    };
    const [main, spare] = [await install(PRODUCT), await install(SPARE)];
    now = wallClock();
    const { statement } = unwrap(await site.usageStatements.make(vendor.vendor.vendor, PEER));
    const { request: cancelledRequest } = unwrap(await site.licensing.request(PRODUCT, null, PEER));
    unwrap(await site.licensing.cancelRequest(cancelledRequest, PEER));
    const { request: openRequest } = unwrap(await site.licensing.request(PRODUCT, null, PEER));
    const question = decodeTimeCode(unwrap(await site.timekeeping.requestTimeCode(PEER)));
    if (question === null) throw new Error("the site's time code cannot be decoded");
    const iat = Math.floor(wallClock() / 1_000);
    return {
      vendor,
      otherVendor,
      trust,
      otherTrust,
      license: main.document,
      licenseId: main.id,
      spareLicenseId: spare.id,
      openRequest,
      cancelledRequest,
      airgap: await confirmAirgap(
        vendor,
        unwrap(await site.airgap.createActivationCode(KEY, "", PEER)).code,
      ),
      timeAnswer: await signTimeDocument(
        { iss: vendor.vendor.vendor, iat, ...question },
        vendor.issuing,
      ),
      acknowledgement: await signAcknowledgement(
        {
          iss: vendor.vendor.vendor,
          iat,
          appliance: site.identity.id,
          n: statement.n,
          digest: statement.digest,
        },
        vendor.issuing,
      ),
    };
  } finally {
    site.timekeeping.stop();
    await site.close();
  }
}

async function confirmAirgap(desk: Desk, activationCode: string): Promise<SiteDocuments["airgap"]> {
  const policy = await createPolicy(
    desk,
    "P-1",
    { product: MESH, slots: 3, valid_until: null },
    wallClock(),
  );
  const { policy_id, confirmation_code } = await confirmActivation(desk, {
    ...USUAL_CONFIRMATION,
    policy,
    licenseKey: KEY,
    activationCode,
    allowWeakBinding: true,
    now: wallClock(),
  });
  return { license_policy: policy, license_key: KEY, policy_id, confirmation_code };
}

export interface AttackTarget {
  readonly folder: string;
  readonly server: ServerProcess;
  readonly port: number;
  /** An admin token. */
  readonly token: string;
  readonly documents: SiteDocuments;
  isAlive(): boolean;
}

export async function startTarget(root: string, slots?: number): Promise<AttackTarget> {
  const documents = await makeLicensedSite(root, slots);
  const folder = join(root, "site");
  const flags = ["--listen", "127.0.0.1:0", "--audit-budget", "0"];
  const server = await startBinary("serve", "--data", folder, ...flags);
  const isAlive = (): boolean => isRunning(server.pid);
  atEnd(() => isAlive() && process.kill(server.pid, "SIGKILL"));
  const output = runBerth("admin", "token", "--name", PEER, "--json", "--data", folder);
  const { token } = JSON.parse(output) as { readonly token: string };
  runBerthWithInput(`${PASSWORD}\n`, "admin", "user", "add", LOGIN, "--data", folder);
  return {
    folder,
    server,
    port: Number(new URL(server.url).port),
    token,
    documents,
    isAlive,
  };
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

/** Runs a command that must succeed, and returns its standard output. */
export const runBerth = (...args: string[]): string => runBerthWithInput("", ...args);

function runBerthWithInput(input: string, ...args: string[]): string {
  const stdin = Buffer.from(input);
  const { exitCode, stdout, stderr } = Bun.spawnSync([buildBinary(), ...args], {
    stdin,
    cwd: "/",
    env: {},
  });
  if (exitCode === 0) return stdout.toString();
  throw new Error(`berth ${args.join(" ")}: ${stdout.toString()}${stderr.toString()}`);
}

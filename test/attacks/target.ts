// What is attacked: the real binary on a site of its own, with licenses of every sort, a token that
// administers, and in the rig's hands everything that would be right to send.
import { join } from "node:path";
import { openAppliance } from "../../src/cli/appliance.ts";
import { decodeTimeCode, signTimeDocument } from "../../src/license/time-document.ts";
import { verifyLicenseRequest } from "../../src/license/request.ts";
import { signTrustDocument } from "../../src/license/trust.ts";
import type { TermsDocument } from "../../src/license/terms.ts";
import { wallClock } from "../../src/platform/clock.ts";
import { realDisk } from "../../src/platform/disk.ts";
import { confirmActivation, createPolicy } from "../../src/desk/airgap.ts";
import { Desk } from "../../src/desk/desk.ts";
import { issueLicense } from "../../src/desk/issue.ts";
import { atEnd } from "../support/suite-harness.ts";
import { buildBinary, startBinary, type ServerProcess } from "../support/binary.ts";
import { unwrap } from "../support/licensed-store.ts";

export const PRODUCT = "cad";
export const LOGIN = "ada";
export const PASSWORD = "correct horse battery";
const SPARE = "spare";
const MESH = "mesh";
const KEY = "MESH-0001";

const plain = { metadata: null, expires: null, floating: null, consumption: null };

/** Small numbers, so that every limit is met all the time. */
const TERMS: Partial<TermsDocument> = {
  license_type: "consumption",
  timeout_minutes: 30,
  borrow_hours: 24,
  consumption: { max: 1_000, overages: 10, negative: true, period: null },
  features: [
    { ...plain, code: "view", name: "View", floating: { slots: 5, timeout_minutes: 30 } },
    {
      ...plain,
      code: "plot",
      name: "Plot",
      consumption: { max: 500, overages: 0, negative: true, period: null },
    },
  ],
};

/** What a site was given and would take again; each document is as the vendor wrote it. */
export interface SiteDocuments {
  readonly vendor: Desk;
  /** Trusted too, but nothing of theirs is installed: they can be let go of. */
  readonly otherVendor: Desk;
  readonly trust: string;
  readonly otherTrust: string;
  readonly license: string;
  readonly licenseId: number;
  /** A license that may be given back. */
  readonly spareLicenseId: number;
  readonly airgap: {
    readonly license_policy: string;
    readonly license_key: string;
    readonly policy_id: string;
    readonly confirmation_code: string;
  };
  /** Answers the question that is open now. */
  readonly timeAnswer: string;
}

const makeDesk = (folder: string, name: string, products: string[]): Promise<Desk> =>
  Desk.create(realDisk, folder, { name, products, passphrase: null });

const trustOf = (desk: Desk): Promise<string> => signTrustDocument(desk.vendor, desk.key);

/** A site's folder, `site` below `root`, licensed and closed again. */
export async function makeLicensedSite(root: string, slots = 8): Promise<SiteDocuments> {
  const site = await openAppliance({
    folder: join(root, "site"),
    identityName: null,
    kind: "site",
    create: true,
    holder: "server",
  });
  try {
    const vendor = await makeDesk(join(root, "desk"), "Initrode", [PRODUCT, SPARE, MESH]);
    const other = await makeDesk(join(root, "other"), "Hooli", ["nucleus"]);
    const [trust, otherTrust] = [await trustOf(vendor), await trustOf(other)];
    for (const document of [trust, otherTrust])
      unwrap(await site.licensing.trustVendor(document, "rig"));
    const install = async (product: string): Promise<{ id: number; document: string }> => {
      const asked = unwrap(await site.licensing.request(product, null, "rig"));
      const { document } = await issueLicense(vendor, {
        request: unwrap(await verifyLicenseRequest(asked.document)),
        renewLicenseId: null,
        licenseId: null,
        isNew: true,
        licenseKey: null,
        terms: { ...TERMS, slots },
        allowWeakBinding: true,
        acceptForkReason: null,
        now: wallClock(),
      });
      return { id: unwrap(await site.licensing.installLicense(document, "rig")).id, document };
    };
    const [main, spare] = [await install(PRODUCT), await install(SPARE)];
    const question = decodeTimeCode(unwrap(await site.timekeeping.requestTimeCode("rig")));
    if (question === null) throw new Error("a question was asked that cannot be read");
    const iat = Math.floor(wallClock() / 1_000);
    return {
      vendor,
      otherVendor: other,
      trust,
      otherTrust,
      license: main.document,
      licenseId: main.id,
      spareLicenseId: spare.id,
      airgap: await confirmed(
        vendor,
        unwrap(await site.airgap.createActivationCode(KEY, "", "rig")).code,
      ),
      timeAnswer: await signTimeDocument(
        { iss: vendor.vendor.vendor, iat, ...question },
        vendor.key,
      ),
    };
  } finally {
    site.timekeeping.stop();
    await site.operations.close();
  }
}

async function confirmed(desk: Desk, activationCode: string): Promise<SiteDocuments["airgap"]> {
  const policy = await createPolicy(desk, "P-1", { product: MESH, slots: 3 }, wallClock());
  const { policy_id, confirmation_code } = await confirmActivation(desk, {
    policy,
    licenseKey: KEY,
    activationCode,
    initializationCode: "",
    validUntil: null,
    serial: null,
    allowWeakBinding: true,
    now: wallClock(),
  });
  return { license_policy: policy, license_key: KEY, policy_id, confirmation_code };
}

export interface AttackTarget {
  readonly folder: string;
  readonly server: ServerProcess;
  readonly port: number;
  /** Administers. */
  readonly token: string;
  readonly documents: SiteDocuments;
  isAlive(): boolean;
}

export async function startTarget(root: string, slots?: number): Promise<AttackTarget> {
  const papers = await makeLicensedSite(root, slots);
  const folder = join(root, "site");
  const words = ["--listen", "127.0.0.1:0", "--audit-budget", "0"];
  const server = await startBinary("serve", "--data", folder, ...words);
  const isAlive = (): boolean => isRunning(server.pid);
  atEnd(() => isAlive() && process.kill(server.pid, "SIGKILL"));
  const made = runBerth("admin", "token", "--name", "rig", "--json", "--data", folder);
  const { token } = JSON.parse(made) as { readonly token: string };
  runBerthWithInput(`${PASSWORD}\n`, "admin", "user", "add", LOGIN, "--data", folder);
  return {
    folder,
    server,
    port: Number(new URL(server.url).port),
    token,
    documents: papers,
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

/** A command that is meant to succeed; gives what it said. */
export const runBerth = (...words: string[]): string => runBerthWithInput("", ...words);

function runBerthWithInput(input: string, ...words: string[]): string {
  const stdin = Buffer.from(input);
  const done = Bun.spawnSync([buildBinary(), ...words], { stdin, cwd: "/", env: {} });
  if (done.exitCode === 0) return done.stdout.toString();
  throw new Error(`berth ${words.join(" ")}: ${done.stdout.toString()}${done.stderr.toString()}`);
}

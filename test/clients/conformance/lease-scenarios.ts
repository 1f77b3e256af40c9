// The table of the lease check: each case runs through the operation `verify` of a driver, and
// through the examples in the guide, which must give the same verdict.
import { loadLeaseCheck } from "../../support/documents.ts";
import { makeTempFolder } from "../../support/suite-harness.ts";
import { ClientError, type Driver } from "./driver.ts";
import type { LeaseCase, LeaseInput } from "./lease-cases.ts";
import { makeByCodeCases } from "./lease-cases-by-code.ts";
import { makeCertificateCases } from "./lease-cases-certificates.ts";
import { makeForgedCases } from "./lease-cases-forged.ts";
import { makeMalformedCases } from "./lease-cases-malformed.ts";
import { makeTermsCases } from "./lease-cases-terms.ts";
import { LeaseIssuer, NONCE, PRODUCT } from "./lease-documents.ts";

export const issuer = await LeaseIssuer.create();

export const LEASE_CASES: readonly LeaseCase[] = [
  ...makeTermsCases(issuer),
  ...(await makeForgedCases(issuer)),
  ...(await makeCertificateCases(issuer)),
  ...(await makeByCodeCases(issuer)),
  ...makeMalformedCases(issuer),
];

/** Null: accepted; otherwise the kind and the code of the error. */
export type Verdict = string | null;

/** Which clients the driver has, by their options. */
const clientNames = new WeakMap<Driver, Map<string, string>>();

/** Checks a lease with a client; the lease check makes no call, so no server has the address. */
export async function verify(driver: Driver, input: LeaseInput): Promise<Verdict> {
  const { lease, license } = input;
  const client = await ensureClient(driver, input);
  try {
    await driver.request("verify", { client, lease, license });
    return null;
  } catch (error) {
    if (!(error instanceof ClientError)) throw error;
    return `${error.reply.kind} ${error.reply.code}`;
  }
}

async function ensureClient(driver: Driver, input: LeaseInput): Promise<string> {
  const { rootKeys = [issuer.rootKey], retired = [], product = PRODUCT, nonce = NONCE } = input;
  const names = clientNames.get(driver) ?? new Map<string, string>();
  clientNames.set(driver, names);
  const key = JSON.stringify([rootKeys, retired, product, nonce]);
  const known = names.get(key);
  if (known !== undefined) return known;
  const client = `lease-${names.size}`;
  const urls = ["http://127.0.0.1:9"];
  const keys = { root_keys: rootKeys, retired };
  await driver.request("client", { client, urls, product, nonce, ...keys });
  names.set(key, client);
  return client;
}

/** A busy machine may need more than one attempt to check a lease while the verdict is certain. */
const ATTEMPTS = 20;

/** The verdict of a case, from a check that ended while the verdict was certain. */
export async function judge(
  { title, make, certainSeconds = Number.POSITIVE_INFINITY }: LeaseCase,
  check: (input: LeaseInput) => Promise<Verdict>,
): Promise<Verdict> {
  for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
    const started = Date.now();
    const verdict = await check(await make());
    if (Date.now() - started < 1_000 * certainSeconds) return verdict;
  }
  throw new Error(`this machine is too busy for the case: ${title}`);
}

const checkLease = await loadLeaseCheck("checkLease", makeTempFolder());
const checkLeaseByCode = await loadLeaseCheck("checkLeaseByCode", makeTempFolder());

/** The verdict of the guide's examples, which take one root key. */
export async function verifyWithExample(input: LeaseInput): Promise<Verdict> {
  const {
    lease,
    license,
    rootKeys = [issuer.rootKey],
    retired = [],
    product = PRODUCT,
    nonce = NONCE,
  } = input;
  let verdict: Verdict = "no root key";
  for (const x of rootKeys) {
    const rootKey = { kty: "OKP", crv: "Ed25519", x };
    const given = { lease, rootKey, retired, product, nonce };
    try {
      if (license.startsWith("{"))
        await checkLeaseByCode({ ...given, bundle: readBundle(license) });
      else await checkLease({ ...given, license });
      return null;
    } catch (error) {
      verdict = String(error);
    }
  }
  return verdict;
}

/** The example reads a code as the server shows it; a client also reads I and L as 1, O as 0. */
function readBundle(license: string): unknown {
  const bundle = JSON.parse(license) as Record<string, unknown>;
  const code = bundle["confirmation_code"];
  if (typeof code !== "string") return bundle;
  const confirmation_code = code.replaceAll(/[IL]/gi, "1").replaceAll(/O/gi, "0");
  return { ...bundle, confirmation_code };
}

// A site with licenses from a vendor's desk, and calls of the application API.
import { join } from "node:path";
import { makeTempFolder } from "../support/suite-harness.ts";
import { BERTH_COMMANDS } from "../support/prepared-renewal.ts";
import { serveSite, type ServedSite } from "./operator-page.ts";
import { INIT_DESK, withEnd } from "../support/vendor-commands.ts";

/** By product, the flags of its license; null: its license is installed later. */
export type LicenseFlags = Readonly<Record<string, readonly string[] | null>>;

export interface Licensed extends ServedSite {
  /** Requests a license with these flags from the vendor, and installs it. */
  readonly license: (product: string, terms: readonly string[]) => void;
}

/** Slots must not end during a suite, even on a busy machine. */
const LONG_TIMEOUT = ["--timeout-minutes", "600"];

/** `flags` are those of `berth serve`. */
export async function startLicensedSite(
  licenses: LicenseFlags,
  ...flags: string[]
): Promise<Licensed> {
  const root = makeTempFolder();
  const [desk, request, license] = ["desk", "request.jwt", "license.jwt"].map((name) =>
    join(root, name),
  ) as [string, string, string];
  const products = Object.keys(licenses).flatMap((product) => ["--product", product]);
  BERTH_COMMANDS.run(...INIT_DESK, "--dir", desk, ...products);
  const site = await serveSite(join(root, "site"), ...flags);
  const data = ["--data", site.folder];
  BERTH_COMMANDS.run("trust", "add", join(desk, "trust.jwt"), ...data, "--yes");
  const install = (product: string, terms: readonly string[]): void => {
    BERTH_COMMANDS.run("license", "request", ...data, "--product", product, "--out", request);
    const out = ["--allow-weak-binding", "--out", license];
    BERTH_COMMANDS.run(
      "vendor",
      "issue",
      "--dir",
      desk,
      "--request",
      request,
      ...LONG_TIMEOUT,
      ...withEnd(terms),
      ...out,
    );
    BERTH_COMMANDS.run("license", "add", license, ...data);
  };
  for (const [product, terms] of Object.entries(licenses)) {
    if (terms !== null) install(product, terms);
  }
  return { ...site, license: install };
}

/** Calls an operation as an application does. */
export async function callApi(
  site: ServedSite,
  operation: string,
  fields: Readonly<Record<string, string>>,
): Promise<Response> {
  return fetch(new URL(`/api/v4/${operation}`, site.url), {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(fields),
  });
}

/** Applies rules as an administrator does, whatever rules there are. */
export async function applyRules(site: ServedSite, token: string, text: string): Promise<void> {
  const reply = await fetch(new URL("/api/admin/v1/rules", site.url), {
    method: "PUT",
    headers: {
      authorization: `Bearer ${token}`,
      "content-type": "application/json",
      "if-match": "*",
    },
    body: JSON.stringify({ text }),
  });
  if (!reply.ok) throw new Error(await reply.text());
}

/** Takes a place in the queue, and does not wait for a slot. */
export async function joinQueue(site: ServedSite, product: string, user: string): Promise<void> {
  const reply = await fetch(new URL("/api/v4/register", site.url), {
    method: "POST",
    headers: { "content-type": "application/json", prefer: "wait=0" },
    body: JSON.stringify({ product, user }),
  });
  if (reply.ok || reply.headers.get("preference-applied") !== "wait") {
    throw new Error(`${user} has no place: ${await reply.text()}`);
  }
}

/** Registers many users of one product, 200 at a time. */
export async function registerUsers(
  site: ServedSite,
  product: string,
  count: number,
): Promise<void> {
  const numbers = Array.from({ length: count }, (_, number) => number);
  for (let start = 0; start < count; start += 200) {
    const answers = numbers.slice(start, start + 200).map((number) =>
      callApi(site, "register", {
        product,
        user: `user-${number}`,
        os_hostname: `ws-${number % 500}.lab`,
        ip_local: `10.${number % 7}.${number % 250}.${number % 99}`,
        user_info: number % 3 === 0 ? "night shift" : "",
      }),
    );
    for (const answer of await Promise.all(answers)) {
      if (!answer.ok) throw new Error(await answer.text());
    }
  }
}

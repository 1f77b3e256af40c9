// The server that the scenarios call. Each scenario of each client has a product with a license of
// its own, so that all of them can run at the same time.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Terms } from "../../../src/domain/model/licenses/terms.ts";
import { publicPart } from "../../../src/license/documents/keys.ts";
import { wallClock } from "../../../src/platform/clock.ts";
import { startBinary, type ServerProcess } from "../../support/binary.ts";
import { unwrap } from "../../support/licensed-store.ts";
import { terms } from "../../support/scenario.ts";
import { openSiteFolder } from "../../support/site-folder.ts";
import { atEnd } from "../../support/suite-harness.ts";
import { answerRequest, makeTrustDocument, VENDOR_KEY } from "../../support/vendor.ts";
import { waitUntil } from "../../support/wait-until.ts";

/** The vendor's public root key, as an application has it. */
export const ROOT_PUBLIC_KEY = publicPart(VENDOR_KEY).x;

export const SLOTS = 5;
/** Longer than any test, so that only a release frees a slot. */
export const TIMEOUT_MINUTES = 15;
const COUNTING = { max: null, overages: 0, negative: true, period: null };

/** What the license of a scenario grants, unless the scenario needs something else. */
const usualTerms = (product: string, differing: Partial<Terms>): Terms =>
  terms({
    product,
    productName: product,
    slots: SLOTS,
    timeoutMinutes: TIMEOUT_MINUTES,
    consumption: COUNTING,
    features: [
      {
        code: "RENDER",
        name: "Render",
        metadata: null,
        expires: null,
        floating: { slots: 2, timeoutMinutes: TIMEOUT_MINUTES },
        consumption: null,
      },
      {
        code: "EXPORT",
        name: "Export",
        metadata: null,
        expires: null,
        floating: null,
        consumption: { max: 50, overages: 0, negative: false, period: null },
      },
    ],
    ...differing,
  });

type Products = Readonly<Record<string, Partial<Terms>>>;

/** Creates a data folder with a license for each product. */
export async function makeSiteFolder(products: Products): Promise<string> {
  const root = mkdtempSync(join(tmpdir(), "berth-conformance-"));
  // A server that was killed just before may still create a file.
  const retries = { maxRetries: 10, retryDelay: 20 };
  atEnd(() => rmSync(root, { recursive: true, force: true, ...retries }));
  const folder = join(root, "data");
  const { licensing, vendorTrust, close } = await openSiteFolder(folder, wallClock);
  const trust = await makeTrustDocument({ products: Object.keys(products) });
  unwrap(await vendorTrust.trustVendor(trust, "test"));
  let licenseId = 0;
  for (const [product, differing] of Object.entries(products)) {
    licenseId += 1;
    const { document } = unwrap(await licensing.request(product, null, "test"));
    const license = await answerRequest(document, licenseId, usualTerms(product, differing));
    unwrap(await licensing.installLicense(license, "test"));
  }
  await close();
  return folder;
}

/** Starts the executable on a folder; it is killed at the end. */
export async function serveFolder(folder: string, ...flags: string[]): Promise<ServerProcess> {
  const listen = flags.includes("--listen") ? [] : ["--listen", "127.0.0.1:0"];
  const server = await startBinary("serve", "--data", folder, ...listen, ...flags);
  atEnd(() => server.signal("SIGKILL"));
  return server;
}

interface LicenseReply {
  readonly id: number;
  readonly floating_in_use_devices: number;
  readonly total_consumptions: number;
  readonly product_features: readonly {
    readonly code: string;
    readonly total_consumptions: number;
    readonly floating_in_use_devices: number;
  }[];
}

interface RegistrationReply {
  readonly user: string;
  readonly registered_at: string;
  readonly expires_at: string;
  readonly borrowed_until: string | null;
}

/** What the server knows about one product, asked without the proxy. */
export class ProductOnServer {
  readonly url: string;
  readonly product: string;

  constructor(serverUrl: string, product: string) {
    this.url = new URL(serverUrl).origin;
    this.product = product;
  }

  async license(): Promise<LicenseReply> {
    const response = await fetch(`${this.url}/api/v4/license?product=${this.product}`);
    return (await response.json()) as LicenseReply;
  }

  async slotsInUse(): Promise<number> {
    return (await this.license()).floating_in_use_devices;
  }

  async total(): Promise<number> {
    return (await this.license()).total_consumptions;
  }

  async feature(code: string) {
    const feature = (await this.license()).product_features.find((each) => each.code === code);
    if (feature === undefined) throw new Error(`the license has no feature ${code}`);
    return feature;
  }

  /** Calls an operation as another application would. */
  post(operation: string, fields: Readonly<Record<string, unknown>>): Promise<Response> {
    return fetch(`${this.url}/api/v4/${operation}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ product: this.product, ...fields }),
    });
  }

  /** Other users take so many slots. */
  async takeSlots(count: number): Promise<string[]> {
    const users = Array.from({ length: count }, (_, index) => `other-${index}`);
    for (const user of users) {
      const response = await this.post("register", { user });
      if (response.status !== 200) throw new Error(`${user}: ${await response.text()}`);
    }
    return users;
  }

  async releaseUser(user: string): Promise<void> {
    const response = await this.post("unregister", { user });
    if (response.status !== 200) throw new Error(`${user}: ${await response.text()}`);
  }

  /** Releases a user's slot, and another user takes it; repeated if a heartbeat was faster. */
  async giveSlot(from: string, to: string): Promise<void> {
    await waitUntil(async () => {
      await this.releaseUser(from);
      return (await this.post("register", { user: to })).ok;
    }, `the slot of ${from} is given to ${to}`);
  }

  /** The slot of a user as the operator sees it; null: the user has none. */
  async registration(user: string): Promise<RegistrationReply | null> {
    const query = `product=${this.product}`;
    const response = await fetch(`${this.url}/api/admin/v1/registrations?${query}`);
    const registrations = (await response.json()) as RegistrationReply[];
    return registrations.find((each) => each.user === user) ?? null;
  }

  /** How many users wait for a slot. */
  async waiting(): Promise<number> {
    const response = await fetch(`${this.url}/api/admin/v1/queue`);
    const { products } = (await response.json()) as {
      products: { product: string; waiting: number }[];
    };
    return products.find(({ product }) => product === this.product)?.waiting ?? 0;
  }
}

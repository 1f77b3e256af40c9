// A vendor's desk for browser suites, dropping files onto the page, and registering a user.
import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { BERTH_COMMANDS } from "../support/prepared-renewal.ts";
import { waitUntil } from "../support/wait-until.ts";

export interface VendorDesk {
  readonly folder: string;
  /** The trust document of the vendor. */
  readonly trust: string;
  readonly fingerprint: string;
  /** Issues a license for a request file, and returns the document. */
  readonly issue: (request: string, ...terms: readonly string[]) => string;
}

export function createVendorDesk(
  folder: string,
  name: string,
  ...products: readonly string[]
): VendorDesk {
  const flags = products.flatMap((product) => ["--product", product]);
  const output = BERTH_COMMANDS.run(
    "vendor",
    "init",
    "--no-passphrase",
    "--name",
    name,
    "--dir",
    folder,
    ...flags,
    "--json",
  );
  return {
    folder,
    trust: readFileSync(join(folder, "trust.jwt"), "utf8"),
    fingerprint: (JSON.parse(output) as { readonly fingerprint: string }).fingerprint,
    issue: (request, ...terms) => {
      const out = join(folder, "answer.jwt");
      const args = ["--dir", folder, "--request", request, "--allow-weak-binding", "--out", out];
      BERTH_COMMANDS.run("vendor", "issue", ...args, ...terms);
      const document = readFileSync(out, "utf8").trim();
      rmSync(out);
      return document;
    },
  };
}

/**
 * Drops a file onto the page, as from a file manager. The page listens to it only after it has
 * shown the place for it; it then marks that place, so the drag is repeated until it is marked.
 */
export async function dropFile(page: Page, text: string, name: string): Promise<void> {
  const files = await page.evaluateHandle(
    `(() => {
      const files = new DataTransfer();
      files.items.add(new File([${JSON.stringify(text)}], ${JSON.stringify(name)}));
      return files;
    })()`,
  );
  const drag = (event: string): Promise<void> =>
    page.dispatchEvent("main", event, { dataTransfer: files });
  await page.locator(".file-drop").waitFor();
  await waitUntil(async () => {
    await drag("dragenter");
    await drag("dragover");
    return (await page.locator(".file-drop.over").count()) > 0;
  }, "the page marks the place for the file that is dragged over it");
  await drag("drop");
}

/** Whether a user can register for a product. */
export async function tryRegister(url: string, user: string, product: string): Promise<boolean> {
  const response = await fetch(`${url}api/v4/register`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ user, product, os_hostname: "<b>desk</b>" }),
  });
  return response.ok;
}

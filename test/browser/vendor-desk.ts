// A vendor's desk for browser suites, dropping files onto the page, and registering a user.
import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { BERTH_COMMANDS } from "../support/prepared-renewal.ts";
import { waitUntil } from "../support/wait-until.ts";
import { withEnd } from "../support/vendor-commands.ts";

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
      BERTH_COMMANDS.run("vendor", "issue", ...args, ...withEnd(terms));
      const document = readFileSync(out, "utf8").trim();
      rmSync(out);
      return document;
    },
  };
}

/** Drops a file onto the place for it on the page, as from a file manager. */
export async function dropFile(page: Page, text: string, name: string): Promise<void> {
  await page.locator(".file-drop").waitFor();
  await dropOnPage(page, text, name, ".file-drop.over");
}

/** Confirms the question whether a license is installed. */
export const confirmInstall = (page: Page): Promise<void> =>
  page.getByRole("dialog").getByRole("button", { name: "Install", exact: true }).click();

/** Drops a file onto a view that has no place for files. */
export const dropAnywhere = (page: Page, content: string, name: string): Promise<void> =>
  dropOnPage(page, content, name, ".page-drop");

/**
 * The page listens only after it is shown. It then marks where the file goes, so the drag is
 * repeated until that is marked.
 */
async function dropOnPage(page: Page, text: string, name: string, mark: string): Promise<void> {
  const files = await page.evaluateHandle(
    `(() => {
      const files = new DataTransfer();
      files.items.add(new File([${JSON.stringify(text)}], ${JSON.stringify(name)}));
      return files;
    })()`,
  );
  const drag = (event: string): Promise<void> =>
    page.dispatchEvent("main", event, { dataTransfer: files });
  await waitUntil(async () => {
    await drag("dragenter");
    await drag("dragover");
    return (await page.locator(mark).count()) > 0;
  }, "the page marks where the file that is dragged over it goes");
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

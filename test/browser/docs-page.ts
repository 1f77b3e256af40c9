// Helpers for the form of the API documentation page.
import type { Page } from "playwright-core";
import { atEnd } from "../support/suite-harness.ts";
import { startBinary } from "../support/binary.ts";

export async function serveDemo(address: string, data: string) {
  const running = await startBinary("demo", "--listen", `${address}:0`, "--data", data);
  atEnd(() => running.signal("SIGKILL"));
  return running;
}

export async function openOperation(page: Page, id: string): Promise<void> {
  await page.goto(`${new URL(page.url()).origin}/api/v4/docs#${id}`);
  // The operation that was open before may still be on the page.
  await page.locator(`.index a[href="#${id}"][aria-current="page"]`).waitFor({ state: "attached" });
  await page.getByRole("heading", { name: "Try it" }).waitFor();
}

/** Sends the form, and returns the status that the page shows. */
export async function sendForm(page: Page): Promise<string> {
  await page.getByRole("button", { name: "Send" }).click();
  return readStatus(page);
}

export async function readStatus(page: Page): Promise<string> {
  const outcome = await page.locator(".outcome:not(:empty)").textContent();
  return /\d{3}/.exec(outcome ?? "")?.[0] ?? String(outcome);
}

export const fillField = (page: Page, name: string, value: string): Promise<void> =>
  page.locator(".try-it").getByLabel(name, { exact: false }).first().fill(value);

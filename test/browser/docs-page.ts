// The documentation page's form, as every walk through it uses it.
import type { Page } from "playwright-core";
import { atEnd } from "../support/suite-harness.ts";
import { startBinary } from "../support/binary.ts";

export async function serveDemo(address: string, data: string) {
  const running = await startBinary("demo", "--listen", `${address}:0`, "--data", data);
  atEnd(() => running.signal("SIGKILL"));
  return running;
}

export async function openOperation(on: Page, id: string): Promise<void> {
  await on.goto(`${new URL(on.url()).origin}/api/v4/docs#${id}`);
  // The one that was open before may still be there.
  await on.locator(`.index a[href="#${id}"][aria-current="page"]`).waitFor({ state: "attached" });
  await on.getByRole("heading", { name: "Try it" }).waitFor();
}

/** Sends what is in the form, and gives the status that the page shows. */
export async function sendForm(on: Page): Promise<string> {
  await on.getByRole("button", { name: "Send" }).click();
  return readStatus(on);
}

export async function readStatus(on: Page): Promise<string> {
  const shown = await on.locator(".outcome:not(:empty)").textContent();
  return /\d{3}/.exec(shown ?? "")?.[0] ?? String(shown);
}

export const fillField = (on: Page, name: string, value: string): Promise<void> =>
  on.locator(".try").getByLabel(name, { exact: false }).first().fill(value);

// Every view of a signed-in operator, on a site whose users, hosts, products and licenses have names
// that try to run a script or to change the page: all of them are shown as text.
import { expect, test } from "bun:test";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { makeTempFolder } from "../support/suite-harness.ts";
import { waitUntil } from "../support/wait-until.ts";
import { createLargeSite } from "./large-site.ts";
import { waitUntilSettled } from "./layout-check.ts";
import { SCREENS, type Screen } from "./layout-screens.ts";
import { closeDialog } from "./layout-states.ts";
import { createToken, OperatorPage, serveSite } from "./operator-page.ts";

/** Each would call `ranText`, load something or leave a mark in the page if it were not a text. */
const TEXTS = [
  "<img src=x onerror=ranText()>",
  "<script>ranText()</script>",
  "</title></script></textarea><script>ranText()</script>",
  '"><svg onload=ranText()>',
  "' autofocus onfocus='ranText()",
  "javascript:ranText()",
  "data:text/html,<script>ranText()</script>",
  "<iframe srcdoc='<script>parent.ranText()</script>'></iframe>",
  "<a href='javascript:ranText()'>ada</a>",
  "<base href='//evil.example/'>",
  "<meta http-equiv=refresh content='9999;url=//evil.example'>",
  "<form action='//evil.example'><input name=token></form>",
  "<link rel=stylesheet href='//evil.example/a.css'>",
  "<style>td { color: red }</style>",
  "<object data='//evil.example'></object>",
  "<math><mi xlink:href='javascript:ranText()'>",
  "<template><slot name=x></template>",
  "{{constructor.constructor('ranText()')()}}",
  "${ranText()}",
  "#{ranText()}",
  "&lt;script&gt;ranText()&lt;/script&gt;",
  "%3Cscript%3EranText()%3C/script%3E",
  "\\u003cscript\\u003eranText()",
  "__proto__",
  "constructor",
  "../../evil.example",
];
/** The others wait, or were denied. */
const SLOTS = TEXTS.length - 3;

const WATCH = `
  globalThis.problems = [];
  globalThis.ranText = () => problems.push("a text was run");
  addEventListener("securitypolicyviolation", ({ blockedURI, violatedDirective }) =>
    problems.push(violatedDirective + " of " + blockedURI));
`;

/** Elements that only a text can have brought into the page. */
const FOREIGN = [
  "img[src=x]",
  "script:not([src])",
  "iframe, object, base, math, template, style:not(head *)",
  "meta[http-equiv=refresh]",
  "[onerror], [onload], [onfocus], [href^='javascript:' i]",
  "[href*='//evil.example'], [action*='//evil.example']",
].join(", ");

const listProblems = (page: Page): Promise<string[]> =>
  page.evaluate(
    `[...problems, ...[...document.querySelectorAll(${JSON.stringify(FOREIGN)})]
      .map((element) => element.outerHTML.slice(0, 200))]`,
  );

/** Those of this site, with what follows from them. */
const VIEWS = SCREENS.filter(({ path, isSignedIn = true }) => path.startsWith("#/") && isSignedIn);

/** What is wrong in a view and in its dialogs; the texts that are seen there are noted. */
async function showView(
  page: Page,
  { path, ready, states = [] }: Screen,
  seen: Set<string>,
): Promise<string[]> {
  const noteTexts = async (): Promise<void> => {
    await waitUntilSettled(page);
    const shown = await page.evaluate<string>("document.body.innerText");
    for (const text of TEXTS) if (shown.includes(text)) seen.add(text);
  };
  await page.evaluate(`location.hash = ${JSON.stringify(path)}`);
  // A view that may not draw a text never gets ready.
  await waitUntil(
    async () => (await ready(page).first().isVisible()) || (await listProblems(page)).length > 0,
    path,
  );
  if ((await listProblems(page)).length > 0) return listProblems(page);
  await noteTexts();
  for (const state of states) {
    if (state.isWithinDialog !== true) await closeDialog(page);
    await state.open(page);
    await noteTexts();
  }
  await closeDialog(page);
  return listProblems(page);
}

test("hostile names are shown as text in every view of an operator and in its dialogs", async () => {
  const folder = join(makeTempFolder(), "site");
  await createLargeSite(folder, { licenses: 5, slots: SLOTS, texts: TEXTS });
  const site = await serveSite(folder);
  const opened = await OperatorPage.open(site.url, {}, [WATCH]);
  await opened.signIn(await createToken(site));
  await opened.waitUntilSignedIn();
  const seen = new Set<string>();
  for (const view of VIEWS) {
    expect([view.name, await showView(opened.page, view, seen)]).toEqual([view.name, []]);
  }
  expect(TEXTS.filter((text) => !seen.has(text))).toEqual([]);
});

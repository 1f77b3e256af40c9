// The attacker's web server: an empty page to run scripts in, and redirects to any URL.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { runInNewContext } from "node:vm";
import { atEnd } from "../support/suite-harness.ts";

/** Defines the attack techniques when it runs inside a page. */
export const ATTACK_SCRIPT = readFileSync(join(import.meta.dir, "attacks.js"), "utf8");

export const TECHNIQUES = runInNewContext(
  `${ATTACK_SCRIPT}; Object.keys(attacks)`,
) as readonly string[];

const WORKER = `onmessage = async ({ data, source }) => {
  await Promise.all(data.map(({ method, url, query, text }) => method === "POST"
    ? fetch(url, { method, mode: "no-cors", body: text }).catch(() => {})
    : fetch(url + "?" + query, { mode: "no-cors" }).catch(() => {})));
  source.postMessage("done");
};`;

/** `hasNoReferrer`: its requests carry no Referer header. */
export const emptyPage = (hasNoReferrer: boolean): string =>
  `<!doctype html><meta charset="utf-8">${hasNoReferrer ? NO_REFERRER : ""}<title>elsewhere</title><body>`;

export const NO_REFERRER = `<meta name="referrer" content="no-referrer">`;

/** Listens on every address of this machine, and returns the port. */
export function startAttacker(): number {
  const server = Bun.serve({
    hostname: "0.0.0.0",
    port: 0,
    fetch(request) {
      const { pathname, searchParams } = new URL(request.url);
      if (pathname === "/away") {
        const headers = { location: searchParams.get("to") ?? "/" };
        return new Response(null, { status: Number(searchParams.get("status")), headers });
      }
      if (pathname === "/worker.js") return answer(WORKER, "text/javascript");
      if (pathname !== "/") return new Response(null, { status: 404 });
      return answer(emptyPage(searchParams.has("silent")), "text/html");
    },
  });
  atEnd(() => void server.stop(true));
  return server.port ?? 0;
}

const answer = (body: string, type: string): Response =>
  new Response(body, { headers: { "content-type": type } });

/** Writes the same page as a local file, and returns its URL. */
export function pageFile(folder: string): string {
  const path = join(folder, "page.html");
  writeFileSync(path, emptyPage(false));
  return `file://${path}`;
}

import type { AnyFault } from "../../faults/fault-types.ts";
import { callerOf } from "../access/gate.ts";
import { escapeHtml } from "./page-files.ts";
import { pageHeaders, pagePolicy } from "./page-headers.ts";

const POLICY = pagePolicy();

export const standbyPageHeaders = (request: Request) => ({
  "content-type": "text/html; charset=utf-8",
  ...pageHeaders(request, POLICY),
});

/**
 * A refusal for a person: who opens the page of a host that does not lead must find the leader.
 * Null: the fault is another one, or a program sent the request.
 */
export function makeStandbyPage(request: Request, fault: AnyFault): string | null {
  if (fault.code !== "standby" && fault.code !== "log_unavailable") return null;
  const isPage = callerOf(request)?.route?.isPage === true;
  const acceptsHtml = request.headers.get("accept")?.includes("text/html") === true;
  return isPage && acceptsHtml ? render(fault) : null;
}

function render(fault: Extract<AnyFault, { code: "standby" | "log_unavailable" }>): string {
  const isStandby = fault.code === "standby";
  const title = isStandby ? "This host is on standby" : "No host answers now";
  const url = isStandby ? (fault.url ?? null) : null;
  const leader = isStandby ? (fault.leader ?? null) : null;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Berth: ${title}</title>
</head>
<body>
<main>
<h1>${title}</h1>
${isStandby ? describeLeader(leader, url) : "<p>The database of the pair cannot be used from this host.</p>"}
<p>Reload this page when this host leads again.</p>
</main>
</body>
</html>
`;
}

function describeLeader(leader: string | null, url: string | null): string {
  const name = leader === null ? "Another host" : `Host ${escapeHtml(leader)}`;
  if (url === null) return `<p>${name} of the pair answers.</p>`;
  const address = escapeHtml(url);
  return `<p>${name} of the pair answers: <a href="${address}">${address}</a></p>`;
}

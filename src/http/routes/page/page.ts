import { Elysia } from "elysia";
import { describeRoute, type RouteDetail } from "../../openapi/describe-route.ts";
import { isLocalRequest } from "../../access/gate.ts";
import { refuse } from "../../faults.ts";
import { findAsset, renderPage, type PageValues } from "../../page/page-files.ts";
import { pageHeaders, pagePolicy } from "../../page/page-headers.ts";
import { replyWithFile, type ServedFile } from "../../page/served-file.ts";
import { ASSETS_PATH } from "../../../platform/embedded/page-files.ts";
import type { RouteDeps } from "../deps.ts";

/** The pages load only the server's own files. */
const POLICY = pagePolicy(
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
);

/** Browsers ask for a page each time, and get it only if it has changed. */
const REVALIDATED = "no-cache";
const IMMUTABLE = "public, max-age=31536000, immutable";

/** Existing clients request `/` to check whether the server is online. */
export const page = (deps: RouteDeps) =>
  new Elysia({ name: "page" })
    .get(
      "/",
      ({ request }) => reply(request, renderPage("page.html", valuesFor(deps, request))),
      describeRoute({
        plane: "open",
        answersHead: true,
        id: "getPage",
        summary: "Get the operator page",
        isPage: true,
      }),
    )
    .get(
      "/api/v4/docs",
      ({ request }) => reply(request, renderPage("docs.html", valuesFor(deps, request))),
      describeRoute({
        plane: "open",
        id: "getDocs",
        summary: "Get the API documentation page",
        isPage: true,
      }),
    )
    .get(
      `${ASSETS_PATH}:name`,
      ({ request, params: { name } }) => {
        const file = findAsset(name) ?? refuse({ code: "not_found" });
        return reply(request, file, IMMUTABLE);
      },
      pageFile,
    );

/** Files of a page are not documented. */
const pageFile = { detail: { plane: "open", isPage: true, hide: true } satisfies RouteDetail };

/** Replaces the path of the data folder for callers that must not see it. */
const UNNAMED_FOLDER = "DIR";

/**
 * The site's name, and whether commands need sudo and --data, are for everyone who may load the
 * page. Paths are only for callers on this machine; administrators get them with the status.
 */
function valuesFor({ siteSettings, commandLine }: RouteDeps, request: Request): PageValues {
  const { executable, needsSudo, dataFolder } = commandLine;
  const isLocal = isLocalRequest(request);
  return {
    "berth-site": siteSettings().siteName,
    "berth-sudo": needsSudo ? "yes" : "",
    "berth-executable": isLocal ? executable : "berth",
    "berth-data": isLocal || dataFolder === "" ? dataFolder : UNNAMED_FOLDER,
  };
}

function reply(request: Request, file: ServedFile, cacheControl = REVALIDATED): Response {
  return replyWithFile(request, file, {
    "cache-control": cacheControl,
    ...pageHeaders(request, POLICY),
    // No referrer to other sites, but to this one: the gate checks it in requests of the page.
    "referrer-policy": "same-origin",
  });
}

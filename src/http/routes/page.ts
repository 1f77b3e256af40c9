import { Elysia } from "elysia";
import { pageFiles, type PageFile } from "../../platform/embedded/page-files.ts";
import { describeRoute, type RouteDetail } from "../openapi/describe-route.ts";

/** Allows only the server's own files, nothing inline, and no embedding in a frame. */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
].join("; ");

const TYPES: Readonly<Record<string, string>> = {
  html: "text/html; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  css: "text/css; charset=utf-8",
  svg: "image/svg+xml",
};

/** Existing clients request `/` to check whether the server is online. */
export const page = () =>
  new Elysia({ name: "page" })
    .get(
      "/",
      serve("page.html"),
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
      serve("docs.html"),
      describeRoute({
        plane: "open",
        id: "getDocs",
        summary: "Get the API documentation page",
        isPage: true,
      }),
    )
    .get("/page.js", serve("page.js"), pageFile)
    .get("/page.css", serve("page.css"), pageFile)
    .get("/docs.js", serve("docs.js"), pageFile)
    .get("/docs.css", serve("docs.css"), pageFile)
    .get("/icon.svg", serve("icon.svg"), pageFile);

/** Files of a page are not documented. */
const pageFile = { detail: { plane: "open", isPage: true, hide: true } satisfies RouteDetail };

function serve(name: PageFile) {
  return ({ request }: { readonly request: Request }): Response => {
    const headers = {
      "content-type": TYPES[name.split(".")[1] ?? ""] ?? "",
      "content-security-policy": CONTENT_SECURITY_POLICY,
      // No referrer to other sites, but to this one: the gate checks it in requests of the page.
      "referrer-policy": "same-origin",
      vary: "accept-encoding",
    };
    const text = pageFiles()[name];
    if (!acceptsGzip(request.headers.get("accept-encoding") ?? "")) {
      return new Response(text, { headers });
    }
    return new Response(gzipFile(name, text), {
      headers: { ...headers, "content-encoding": "gzip" },
    });
  };
}

/** A coding with a weight of 0 is not accepted. */
const acceptsGzip = (accepted: string): boolean =>
  accepted.split(",").some((coding) => {
    const [name = "", weight = ""] = coding.split(";");
    return name.trim().toLowerCase() === "gzip" && !/^\s*q=0(?:\.0*)?\s*$/i.test(weight);
  });

const gzipCache = new Map<PageFile, Uint8Array<ArrayBuffer>>();

/** Compressed once, with the first request: it takes longer than many other replies. */
function gzipFile(name: PageFile, text: string): Uint8Array<ArrayBuffer> {
  const cached = gzipCache.get(name);
  if (cached !== undefined) return cached;
  const bytes = Bun.gzipSync(new TextEncoder().encode(text), { level: 9 });
  gzipCache.set(name, bytes);
  return bytes;
}

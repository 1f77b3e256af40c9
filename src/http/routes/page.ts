import { Elysia } from "elysia";
import { page as html } from "../../web/page.ts";
import { describe } from "../describe.ts";

const HEADERS = {
  "content-type": "text/html; charset=utf-8",
  "content-security-policy":
    "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  // Nothing to others; but the gate wants to hear from our own page where a request comes from.
  "referrer-policy": "same-origin",
};

/** Existing clients ask here whether the server is online. */
export const page = () =>
  new Elysia({ name: "page" }).get(
    "/",
    () => new Response(html, { headers: HEADERS }),
    describe({ summary: "The operator's page" }),
  );

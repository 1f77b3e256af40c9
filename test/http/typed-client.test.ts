// The types of the client that the page and the command line use. `tsc` fails here if a line below
// an expected error compiles; the tests show that the server treats such a request in the same way.
import { treaty } from "@elysiajs/eden";
import { describe, expect, test } from "bun:test";
import { setFields } from "../../src/cli/client/admin-client.ts";
import type { App } from "../../src/http/app.ts";
import { openSharedAppliance } from "../support/appliance.ts";

const site = openSharedAppliance();

const fetcher = (url: string, init?: RequestInit) => site().app.handle(new Request(url, init));
const { api } = treaty<App>("http://appliance", {
  fetcher: fetcher as typeof fetch,
  headers: { host: "appliance" },
});
const { admin, v4 } = { admin: api.admin.v1, v4: api.v4 };

interface Reply {
  readonly error: { readonly value: unknown } | null;
  readonly response: Response;
}

const codeOf = ({ error }: Reply): unknown => (error?.value as { code?: string } | null)?.code;
const ignoredOf = ({ response }: Reply): string | null => response.headers.get("x-ignored-fields");

describe("a typed client", () => {
  test("must send the fields that an operation requires", async () => {
    const replies = [
      // @ts-expect-error user is required
      await v4.register.post({ product: "cad" }),
      // @ts-expect-error feature is required
      await v4.featureRegister.post({ user: "ada" }),
      // @ts-expect-error there is no body
      await v4.unregister.post(),
      // @ts-expect-error user is required
      await admin.queue.drop.post({ product: "cad" }),
      // @ts-expect-error a field that is required cannot be null
      await admin.queue.drop.post(setFields({ product: "cad", user: null })),
      // @ts-expect-error the license is required, although it may be sent in another way
      await v4.license.upload.post({}),
    ];
    expect(replies.map(codeOf)).toEqual([
      "missing_parameters",
      "missing_parameters",
      "unsupported_media_type",
      "missing_parameters",
      "missing_parameters",
      "missing_parameters",
    ]);
  });

  test("may omit the other fields, and a body in which no field is required", async () => {
    const replies = [
      await v4.register.post({ user: "ada" }),
      await v4.featureRegister.post({ user: "ada", feature: "view" }),
      await v4.license.generate.post({}),
      await v4.license.generate.post(),
      await admin.queue.drop.post(setFields({ product: null, user: "eve" })),
      await admin.queue.get(),
    ];
    expect(replies.map(ignoredOf)).toEqual(replies.map(() => null));
    expect(replies.map(codeOf)).toEqual([
      undefined,
      undefined,
      undefined,
      undefined,
      "not_waiting",
      undefined,
    ]);
  });

  test("cannot send a field that the body does not have", async () => {
    const replies = [
      // @ts-expect-error the field is os_hostname
      await v4.register.post({ user: "ada", hostname: "ws-1" }),
      // @ts-expect-error the field is user
      await admin.queue.drop.post({ user: "eve", users: "eve" }),
      // @ts-expect-error the field is product
      await admin.queue.drop.post(setFields({ user: "eve", prodct: null, products: "cad" })),
      // @ts-expect-error there is no field
      await admin.clock.request.post({ day: "2026-03-01" }),
    ];
    expect(replies.map(ignoredOf)).toEqual(["hostname", "users", "products", "day"]);
  });

  test("must send the query parameters that an operation requires", async () => {
    const replies = [
      // @ts-expect-error there is no query
      await admin.rules.explain.get(),
      // @ts-expect-error user is required
      await admin.rules.explain.get({ query: { product: "cad" } }),
      // @ts-expect-error feature is required
      await v4.check_license_feature.get({ query: { user: "ada" } }),
    ];
    expect(replies.map(codeOf)).toEqual([
      "missing_parameters",
      "missing_parameters",
      "missing_parameters",
    ]);
  });

  test("cannot send a query parameter that the operation does not have", async () => {
    const replies = [
      // @ts-expect-error the parameter is product
      await admin.registrations.get({ query: { produkt: "cad" } }),
      // @ts-expect-error the parameter is product
      await admin.registrations.get({ query: setFields({ produkt: "cad" }) }),
      // @ts-expect-error the parameter is license_id
      await v4.license.get({ query: { product: "cad", license: "1" } }),
      // @ts-expect-error an operation with a body has no parameters
      await v4.register.post({ user: "ada" }, { query: { product: "cad" } }),
    ];
    expect(replies.map(ignoredOf)).toEqual(["produkt", "produkt", "license", "product"]);
  });
});

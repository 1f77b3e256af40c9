import { describe, expect, test } from "bun:test";
import { openAppliance, type Appliance, type RawRequest } from "../../support/appliance.ts";
import { FaultyDisk } from "../../support/faulty-disk.ts";
import { listOperations, dereference, type JsonObject } from "../../support/openapi-rules.ts";
import { findMismatches } from "../../support/openapi-values.ts";
import { makeMaintenance } from "../../support/maintenance.ts";

const JSON_BODY = { "content-type": "application/json" };
const STREAM = "/api/admin/v1/stream";

interface OperationCall {
  readonly method: string;
  readonly path: string;
  readonly operation: JsonObject;
  readonly document: JsonObject;
}

type Send = (site: Appliance, call: OperationCall) => Promise<readonly [Response, unknown]>;

const sendRaw =
  (raw: RawRequest): Send =>
  (site, { method, path }) =>
    site.send(method, path, raw);

/** Sends a value in every field, so that the call gets as far as possible. */
const sendFilled: Send = (site, { method, path, operation, document }) => {
  const { requestBody, parameters } = operation as {
    requestBody?: { content: Record<string, { schema: unknown }> };
    parameters: readonly { name: string; in: string }[];
  };
  const schema = dereference(document, requestBody?.content["application/json"]?.schema);
  const { properties = {} } = (schema ?? {}) as { properties?: object };
  const fields = Object.fromEntries(
    Object.keys(properties).map((name) => [name, sampleValue(name)]),
  );
  const query = new URLSearchParams(
    parameters
      .filter((parameter) => parameter.in === "query")
      .map(({ name }): [string, string] => [name, sampleValue(name)]),
  );
  if (method === "GET") return site.send(method, `${path}?${query.toString()}`);
  return site.send(method, path, { headers: JSON_BODY, body: JSON.stringify(fields) });
};

const VALUES: Readonly<Record<string, string>> = {
  product: "cad",
  user: "ada",
  feature: "view",
  consumptions: "1",
  role: "user",
  password: "a long password",
  days: "3",
  month: "2026-03",
  license_id: "1",
};

const sampleValue = (name: string): string => VALUES[name] ?? "";

/** Calls every operation with `send`; returns the status of each reply by its route. */
async function callAll(site: Appliance, send: Send): Promise<Map<string, number>> {
  const [, document] = await site.get<JsonObject>("/api/v4/openapi.json");
  const statuses = new Map<string, number>();
  const undocumented: string[] = [];
  for (const [route, operation] of listOperations(document)) {
    const [method = "", path = ""] = route.split(" ");
    // A stream has no end to wait for. Its gate is the same as that of the other routes.
    if (path === STREAM && send === sendFilled) continue;
    const [{ status }, body] = await send(site, { method, path, operation, document });
    statuses.set(route, status);
    const { responses } = operation as { responses: Readonly<Record<string, unknown>> };
    if (!(status in responses)) undocumented.push(`${route}: ${status}`);
    if (status === 200) continue;
    expect(findMismatches(document, { $ref: "#/components/schemas/Refusal" }, body)).toEqual([]);
  }
  expect(undocumented).toEqual([]);
  return statuses;
}

/** The routes that replied with this status. */
const withStatus = (statuses: ReadonlyMap<string, number>, status: number): string[] =>
  [...statuses].filter(([, replied]) => replied === status).map(([route]) => route);

const isPost = (route: string): boolean => /^(?:POST|PUT) /.test(route);
const hasBody = ({ method }: OperationCall): boolean => method !== "GET";
/** More than any route accepts. */
const TOO_MANY_BYTES = 2 * 1_048_576;

describe("every operation documents the status of", () => {
  test("a call that succeeds or is refused for its fields", async () => {
    const site = await openAppliance({ maintenance: makeMaintenance });
    const statuses = await callAll(site, sendFilled);
    expect(withStatus(statuses, 200).length).toBeGreaterThan(25);
    expect(withStatus(statuses, 400).length).toBeGreaterThan(5);
  });

  test("a call with an invalid Host header", async () => {
    const statuses = await callAll(await openAppliance(), sendRaw({ headers: { host: "[::g]" } }));
    expect(new Set(statuses.values())).toEqual(new Set([421]));
  });

  test("a call from another site's page", async () => {
    const headers = { "sec-fetch-site": "cross-site" };
    const statuses = await callAll(await openAppliance(), sendRaw({ headers }));
    expect(new Set(statuses.values())).toEqual(new Set([403]));
  });

  test("a call without a credential where one is needed", async () => {
    const site = await openAppliance({ gate: { clientAuth: "login" } });
    await site.services.access.createToken("ops", null, "test");
    const statuses = await callAll(site, sendRaw({}));
    expect(withStatus(statuses, 401).length).toBeGreaterThan(50);
    expect(withStatus(statuses, 200)).toEqual([
      "GET /",
      "GET /api/v4/docs",
      "GET /api/v4/health",
      "GET /api/v4/openapi.json",
    ]);
  });

  test("a body that is not JSON", async () => {
    const raw = { headers: JSON_BODY, body: "{" };
    const statuses = await callAll(
      await openAppliance({ maintenance: makeMaintenance }),
      (site, call) => (hasBody(call) ? sendRaw(raw)(site, call) : sendRaw({})(site, call)),
    );
    expect(withStatus(statuses, 400).filter(isPost)).toEqual([...statuses.keys()].filter(isPost));
  });

  test("a body with another content type", async () => {
    const raw = { headers: { "content-type": "application/xml" }, body: "<a/>" };
    const statuses = await callAll(
      await openAppliance({ maintenance: makeMaintenance }),
      (site, call) => (hasBody(call) ? sendRaw(raw)(site, call) : sendRaw({})(site, call)),
    );
    expect(withStatus(statuses, 415)).toEqual([...statuses.keys()].filter(isPost));
  });

  test("a body that is too large", async () => {
    const raw = { headers: JSON_BODY, body: `{}${" ".repeat(TOO_MANY_BYTES)}` };
    const statuses = await callAll(
      await openAppliance({ maintenance: makeMaintenance }),
      (site, call) => (hasBody(call) ? sendRaw(raw)(site, call) : sendRaw({})(site, call)),
    );
    expect(withStatus(statuses, 413)).toEqual([...statuses.keys()].filter(isPost));
  });

  test("a call to an appliance that was moved away", async () => {
    const site = await openAppliance({ maintenance: makeMaintenance });
    const [, status] = await site.status();
    const { id } = status.appliance;
    expect((await site.post("/api/admin/v1/move", { appliance: id }))[0].status).toBe(200);
    const statuses = await callAll(site, sendFilled);
    expect(withStatus(statuses, 409).length).toBeGreaterThan(20);
  });

  test("a call while the disk fails", async () => {
    const disk = new FaultyDisk();
    const site = await openAppliance({ maintenance: makeMaintenance, disk });
    disk.beforeCall = ({ name }) => {
      if (name === "syncData") throw new Error("the disk failed");
    };
    expect((await site.register({ user: "ada" }))[0].status).toBe(503);
    const statuses = await callAll(site, sendFilled);
    expect(withStatus(statuses, 503).length).toBeGreaterThan(25);
  });
});

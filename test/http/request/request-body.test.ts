// How a body is read before any rule applies. Every case goes to every route that accepts a body.
import { describe, expect, test } from "bun:test";
import { DAY, later } from "../../../src/domain/time.ts";
import { routes } from "../../support/routes.ts";
import {
  expectOk,
  expectRefusedUnchanged,
  openAppliance,
  openSharedAppliance,
  type Appliance,
  type RawRequest,
  type RequestHeaders,
} from "../../support/appliance.ts";

/** For refusals only. */
const sharedSite = openSharedAppliance();

const JSON_TYPE = { "content-type": "application/json" };
const KIB = 1024;

const POSTS = [...routes].filter(([, methods]) => "POST" in methods).map(([path]) => path);
/** These accept a document also as a form file and as plain text; see license-upload.test.ts. */
const UPLOADS = [
  "/api/v4/license/upload",
  "/api/admin/v1/trust/show",
  "/api/admin/v1/trust/add",
  "/api/admin/v1/clock/repair",
  "/api/admin/v1/statements/acknowledge",
];
/** These accept 128 KiB, since they carry a document or codes. */
const LARGE = [
  ...UPLOADS,
  "/api/v4/airgap/license",
  "/api/admin/v1/qr",
  "/api/admin/v1/qr/join",
  "/api/admin/v1/rules/check",
];

const post = (site: Appliance, body: RawRequest["body"], headers: RequestHeaders = JSON_TYPE) =>
  site.send("POST", "/api/v4/register", { ...(body !== undefined && { body }), headers });

const compressed = Bun.gzipSync(Buffer.from('{"user":"ada"}'));

/** `depth` nested objects, the outermost with a user in it. */
const nested = (depth: number): string =>
  `{"user":"ada","x":${'{"x":'.repeat(depth - 2)}{}${"}".repeat(depth - 1)}`;

const withKeys = (count: number): string =>
  JSON.stringify({
    user: "ada",
    ...Object.fromEntries(Array.from({ length: count - 1 }, (_, index) => [`k${index}`, 1])),
  });

const bodyOfSize = (bytes: number): string => {
  const empty = JSON.stringify({ user: "ada", x: "" });
  return JSON.stringify({ user: "ada", x: "y".repeat(bytes - empty.length) });
};

describe("a JSON body is accepted", () => {
  test.each([
    "application/json",
    "application/json;charset=utf-8",
    "application/json; charset=UTF-8",
    'application/json; charset="utf-8"',
    "Application/JSON",
    "application/json;",
  ])("with the content type %p", async (type) => {
    const site = await openAppliance();
    expectOk(await post(site, '{"user":"ada"}', { "content-type": type }));
    expect(await site.listHolders()).toEqual(["ada"]);
  });

  test("whatever the Accept header is", async () => {
    const site = await openAppliance();
    for (const accept of ["text/html", "application/jwt", "nonsense", "*/*;q=0"]) {
      expectOk(await site.register({ user: "ada" }, { accept }));
    }
  });

  test("with the content encoding identity", async () => {
    const site = await openAppliance();
    expectOk(await site.register({ user: "ada" }, { "content-encoding": "identity" }));
  });
});

/** Bodies that are refused, with the status and the code of the refusal. */
const UNREADABLE: readonly [string, number, string, RawRequest][] = [
  [
    "a content type of thousands of spaces",
    415,
    "unsupported_media_type",
    {
      body: '{"user":"ada"}',
      headers: { "content-type": `application/json${" ".repeat(15_000)}x` },
    },
  ],
  ["no content type", 415, "unsupported_media_type", { body: '{"user":"ada"}' }],
  ...[
    "text/plain",
    "text/plain;charset=utf-8",
    "application/x-www-form-urlencoded",
    "multipart/form-data; boundary=x",
    "application/json; charset=iso-8859-1",
    "application/json; charset=utf-16",
    "application/json-patch+json",
    "application/jsonp",
    "text/json",
    "text/plain, application/json",
    "text/plain; application/json",
  ].map((type): [string, number, string, RawRequest] => [
    `content type ${type}`,
    415,
    "unsupported_media_type",
    { body: '{"user":"ada"}', headers: { "content-type": type } },
  ]),
  ["a form", 415, "unsupported_media_type", { body: new URLSearchParams({ user: "ada" }) }],
  ...["gzip", "br", "deflate", "GZIP", "identity, gzip"].map(
    (encoding): [string, number, string, RawRequest] => [
      `content encoding ${encoding}`,
      415,
      "unsupported_media_type",
      { body: compressed, headers: { ...JSON_TYPE, "content-encoding": encoding } },
    ],
  ),
  ["compressed bytes called JSON", 400, "invalid_json", { body: compressed, headers: JSON_TYPE }],
  ...[
    ["broken JSON", "{"],
    ["a trailing comma", '{"user":"ada",}'],
    ["single quotes", "{'user':'ada'}"],
    ["two objects", '{"user":"ada"}{}'],
    ["NaN", '{"user":"ada","x":NaN}'],
    ["a comment", '{"user":"ada"/**/}'],
    ["a bare form", "user=ada"],
    ["only white space", "  \n"],
    ["30,000 levels without an end", '{"x":' + "[".repeat(30_000)],
  ].map(([what = "", body = ""]): [string, number, string, RawRequest] => [
    what,
    400,
    "invalid_json",
    { body, headers: JSON_TYPE },
  ]),
  ...[
    ["a lone continuation byte", [0x80]],
    ["an overlong slash", [0xc0, 0xaf]],
    ["a surrogate", [0xed, 0xa0, 0x80]],
    ["half a character", [0xe2, 0x82]],
    ["Latin-1", [0xe9]],
  ].map(([what, bytes]): [string, number, string, RawRequest] => [
    `invalid UTF-8: ${String(what)}`,
    400,
    "invalid_json",
    {
      body: Buffer.concat([
        Buffer.from('{"user":"'),
        Buffer.from(bytes as number[]),
        Buffer.from('"}'),
      ]),
      headers: JSON_TYPE,
    },
  ]),
  ...["[]", '[{"user":"ada"}]', '"ada"', "null", "true", "5", '""'].map(
    (body): [string, number, string, RawRequest] => [
      `the JSON value ${body}`,
      400,
      "body_not_object",
      { body, headers: JSON_TYPE },
    ],
  ),
  ["nine levels", 400, "too_complex", { body: nested(9), headers: JSON_TYPE }],
  [
    "nine levels of lists",
    400,
    "too_complex",
    { body: `{"x":${"[".repeat(8)}${"]".repeat(8)}}`, headers: JSON_TYPE },
  ],
  ["65 keys", 400, "too_complex", { body: withKeys(65), headers: JSON_TYPE }],
  [
    "65 keys in two levels",
    400,
    "too_complex",
    { body: `{"x":${withKeys(64)}}`, headers: JSON_TYPE },
  ],
  [
    "30,000 levels",
    400,
    "too_complex",
    { body: `{"x":${"[".repeat(30_000)}${"]".repeat(30_000)}}`, headers: JSON_TYPE },
  ],
  [
    "10,000 levels of objects",
    400,
    "too_complex",
    { body: '{"x":'.repeat(10_000) + "1" + "}".repeat(10_000), headers: JSON_TYPE },
  ],
  ["64 KiB and 1 byte", 413, "too_large", { body: bodyOfSize(64 * KIB + 1), headers: JSON_TYPE }],
  [
    "64 KiB and 1 byte without a content type",
    413,
    "too_large",
    { body: "x".repeat(64 * KIB + 1), headers: { "content-length": String(64 * KIB + 1) } },
  ],
];

const isDocument = ({ headers }: RawRequest): boolean =>
  /^(?:text\/plain|multipart\/form-data)/.test(headers?.["content-type"] ?? "");

test.each(UNREADABLE)(
  "a body with %s is refused with %d %s on every route that does not accept it",
  async (_what, status, code, raw) => {
    const site = sharedSite();
    const exempt = isDocument(raw) ? UPLOADS : code === "too_large" ? LARGE : [];
    for (const path of POSTS.filter((route) => !exempt.includes(route))) {
      await expectRefusedUnchanged(site, status, code, () => site.send("POST", path, raw));
    }
  },
);

test("a body whose connection is closed is refused with 400, not reported as an internal error", async () => {
  const site = sharedSite();
  const pull = (controller: ReadableStreamDefaultController): void => {
    controller.error(new Error("the connection was closed"));
  };
  await expectRefusedUnchanged(site, 400, "invalid_json", () =>
    site.send("POST", "/api/v4/register", {
      body: new ReadableStream({ pull }),
      headers: JSON_TYPE,
    }),
  );
});

describe("an empty body", () => {
  const maintenanceRoutes = [
    "/api/admin/v1/backup",
    "/api/admin/v1/backups",
    "/api/admin/v1/events/test",
    "/api/admin/v1/support-bundle",
  ];
  const mayBeEmpty = new Set([
    "/api/v4/unregister/all",
    "/api/v4/license/generate",
    "/api/admin/v1/clock/request",
    "/api/admin/v1/clock/accept",
    "/api/admin/v1/sessions",
    "/api/admin/v1/usage/rebuild",
  ]);

  /** It is refused for another reason: it has no If-Match. */
  const CLEAR_RULES = "/api/admin/v1/rules/clear";

  test(`counts as {} on ${CLEAR_RULES}`, async () => {
    const site = await openAppliance();
    await expectRefusedUnchanged(site, 428, "precondition_required", () =>
      site.send("POST", CLEAR_RULES),
    );
    expectOk(await site.send("POST", CLEAR_RULES, { headers: { "if-match": "*" } }));
  });

  /** Without a vendor, it means the only vendor. The first statement is due after a whole day. */
  const STATEMENTS = "/api/admin/v1/statements";

  test.each(maintenanceRoutes)("counts as {} on %s", async (path) => {
    const site = sharedSite();
    await expectRefusedUnchanged(site, 409, "server_not_running", () => site.send("POST", path));
  });

  test(`counts as {} on ${STATEMENTS}`, async () => {
    const site = await openAppliance();
    for (const raw of [{}, { body: "" }, { body: "{}", headers: JSON_TYPE }]) {
      await expectRefusedUnchanged(site, 400, "statement_not_due", () =>
        site.send("POST", STATEMENTS, raw),
      );
    }
    site.clock.now = later(site.clock.now, 2 * DAY);
    for (const raw of [{}, { body: "" }]) expectOk(await site.send("POST", STATEMENTS, raw));
  });

  const HAND_OVER = "/api/admin/v1/pair/hand-over";

  test(`counts as {} on ${HAND_OVER}`, async () => {
    const site = await openAppliance();
    await expectRefusedUnchanged(site, 409, "not_a_pair", () => site.send("POST", HAND_OVER));
  });

  const emptyCounts = new Set([
    ...mayBeEmpty,
    ...maintenanceRoutes,
    STATEMENTS,
    CLEAR_RULES,
    HAND_OVER,
  ]);
  const others = POSTS.filter((path) => !emptyCounts.has(path));
  test.each(others)("is refused on %s", async (path) => {
    const site = sharedSite();
    for (const raw of [{}, { body: "" }]) {
      await expectRefusedUnchanged(site, 415, "unsupported_media_type", () =>
        site.send("POST", path, raw),
      );
      await expectRefusedUnchanged(site, 400, "invalid_json", () =>
        site.send("POST", path, { ...raw, headers: JSON_TYPE }),
      );
    }
  });

  test.each([...mayBeEmpty])("counts as {} on %s, with any content type", async (path) => {
    const site = await openAppliance();
    for (const raw of [{}, { body: "" }]) {
      expectOk(await site.send("POST", path, raw));
      expectOk(await site.send("POST", path, { ...raw, headers: JSON_TYPE }));
      expectOk(
        await site.send("POST", path, { ...raw, headers: { "content-type": "text/plain" } }),
      );
    }
  });
});

describe("a JSON body at the limit is accepted", () => {
  test.each([
    ["eight levels", nested(8)],
    ["64 keys", withKeys(64)],
    ["64 KiB", bodyOfSize(64 * KIB)],
    ["a list of 10,000", JSON.stringify({ user: "ada", x: Array(10_000).fill(1) })],
  ])("with %s", async (_what, body) => {
    const site = await openAppliance();
    expectOk(await post(site, body));
    expect(await site.listHolders()).toEqual(["ada"]);
  });
});

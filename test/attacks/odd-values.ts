// Values that are nearly right, wrong, or right in another position. They contain the canary where
// they can: no refusal may repeat it.
import * as fc from "fast-check";

export const CANARY = "kanarie";
const CANARY_NUMBER = "314159265358";

export const canaries = [CANARY, CANARY_NUMBER] as const;

const BIDI = "\u202e";
const long = (bytes: number): string => CANARY.padEnd(bytes, "x");

const numbers = [
  ..."1e3 0x10 5.0 +5 007 NaN ٣ -0 -1 Infinity 1_000 １ 0 1 999999999999".split(" "),
  ..."9007199254740991 9007199254740993 1000000000001".split(" "),
  " 5 ",
  "",
  "5\n",
  CANARY_NUMBER,
];

const dates = [
  ..."2026-02-30T00:00:00Z 2026-03-01T24:00:00Z 2026-03-01T23:59:60Z 2026-03-01".split(" "),
  ..."2026-03-01T00:00:00 9999-12-31T23:59:59Z 1970-01-01T00:00:00Z 20260301T000000Z".split(" "),
  ..."+002026-03-01T00:00:00Z 2026-03-01T00:00:00+01 0001-01-01T00:00:00Z".split(" "),
  ..."2026-03-01T00:00:00Z[Europe/Berlin] 2026-03-01T00:00:00.1234567890Z".split(" "),
  `2026-03-01T00:00:00Z${CANARY}`,
];

const names = [
  "__proto__",
  "constructor",
  "toString",
  "hasOwnProperty",
  "../../etc/passwd",
  `${CANARY}'; drop table slots; --`,
  `<script>${CANARY}</script>`,
  `{{${CANARY}}}`,
  "%s%n%00",
  "caf\u00e9",
  "cafe\u0301",
  `a${BIDI}b`,
  `${CANARY}\u0000`,
  `${CANARY}\u200b`,
  "\u2028",
  "\ud800",
  "\ufdfa".repeat(80),
  "😀",
  long(256),
  long(257),
  long(4_096),
  long(4_097),
  CANARY,
];

/** A text in the position of another kind of text. */
export const oddText: fc.Arbitrary<string> = fc.oneof(
  fc.constantFrom(...numbers),
  fc.constantFrom(...dates),
  fc.constantFrom(...names),
  fc.string({ unit: "binary", maxLength: 12 }),
  fc.string({ maxLength: 12 }).map((text) => CANARY + text),
);

const nested = (depth: number): string => `${'{"a":'.repeat(depth)}1${"}".repeat(depth)}`;

/** A JSON value as text: some of these cannot be written by JSON.stringify. */
export const oddJson: fc.Arbitrary<string> = fc.oneof(
  { weight: 6, arbitrary: oddText.map((text) => JSON.stringify(text)) },
  {
    weight: 3,
    arbitrary: fc.constantFrom(
      ..."null true false 0 -0 1.5 5.0 1e3 1e400 -1 [] {} 9007199254740993".split(" "),
      CANARY_NUMBER,
      `["${CANARY}"]`,
      `{"${CANARY}":1}`,
      '"\\ud800"',
      '"\\u0000"',
      nested(6),
      nested(7),
      nested(8),
      "[".repeat(50) + "]".repeat(50),
    ),
  },
);

const utf8 = (text: string): Buffer => Buffer.from(text);

/** Bodies that are no JSON object in UTF-8 of at most 64 KiB, 8 levels and 64 keys. */
export const brokenBody: fc.Arbitrary<Buffer> = fc.oneof(
  fc.constantFrom(
    ...["[]", '"x"', "null", "1", "true", "{", "}", '{"a"}', "{'a':1}", '{"a":1,}', "NaN"].map(
      utf8,
    ),
    ...[`{"user":"${CANARY}"`, `{"user":"${CANARY}"} {}`, `user=${CANARY}&product=cad`].map(utf8),
    utf8(`{"a":${nested(8)}}`),
    utf8(`{${Array.from({ length: 65 }, (_, index) => `"${CANARY}${index}":1`).join(",")}}`),
    utf8("[".repeat(10_000)),
    Buffer.from([0xff, 0xfe, 0x7b, 0x7d]),
    Buffer.concat([utf8('{"user":"'), Buffer.from([0xc3, 0x28]), utf8('"}')]),
    Buffer.from("{}", "utf16le"),
    Bun.gzipSync("{}") as Buffer,
    utf8(`{"user_info":"${"x".repeat(131_072)}"}`),
  ),
  fc.uint8Array({ minLength: 1, maxLength: 32 }).map((bytes) => Buffer.from([0xff, ...bytes])),
  fc.string({ maxLength: 20 }).map((text) => utf8(`{{"${CANARY}":${text}`)),
);

/** Content types that are not JSON in UTF-8. */
export const wrongContentType: fc.Arbitrary<string> = fc.constantFrom(
  "text/plain",
  "text/plain; charset=utf-8",
  "application/x-www-form-urlencoded",
  "multipart/form-data; boundary=x",
  "application/json; charset=utf-16",
  "application/json; charset=latin1",
  "application/jsonp",
  "application/json-patch+json",
  "text/json",
  `application/${CANARY}`,
  ";",
  "application/json, text/plain",
);

/** Paths that do not exist, made from a path that exists. */
export const wrongPath = (path: string): fc.Arbitrary<string> =>
  fc.constantFrom(
    `/${path}`,
    `${path}/`.replace(/^\/\/$/, "///"),
    `${path}%00`,
    `${path};${CANARY}`,
    `${path}%20`,
    `/api/v4${path}`,
    `/${CANARY}`,
    `${path}/${CANARY}`,
    path.replace(/.$/, "%2f").replace(/^%2f$/, "/%2f"),
    `${path}/..%2f${CANARY}`,
    "/api/v5/ping",
    "/api/v4/",
    "/..%2f..%2fetc/passwd",
    `/API${path.slice(4)}`.replace(/^\/API$/, "/API/"),
    path
      .replace(/[a-z]/, (letter) => `%${letter.charCodeAt(0).toString(16)}`)
      .replace(/^\/$/, "/%2e%2e%2f"),
  );

const encodeTokenPart = (value: object): string =>
  Buffer.from(JSON.stringify(value)).toString("base64url");

/** Values of Authorization headers that are no valid credential. */
export const wrongCredential: fc.Arbitrary<string[]> = fc.constantFrom(
  [],
  ["Bearer"],
  ["Bearer "],
  [`Bearer ${CANARY}`],
  [`Bearer berth_${CANARY}`],
  [
    `Bearer ${encodeTokenPart({ alg: "none" })}.${encodeTokenPart({ sub: "attacker", role: "admin" })}.`,
  ],
  [
    `Bearer ${encodeTokenPart({ alg: "HS256", kid: CANARY })}.${encodeTokenPart({ sub: "attacker" })}.c2ln`,
  ],
  [`Bearer ${"a".repeat(512)}`],
  [`Bearer ${"a".repeat(2_000)}`],
  ["Basic YWRtaW46YWRtaW4="],
  [`Basic ${CANARY}`],
  ["Basic ////"],
  ["Negotiate x", `Bearer ${CANARY}`],
  [`Bearer ${CANARY}`, `Bearer ${CANARY}`],
  ["null"],
  ["Bearer undefined"],
);

// Malformed requests that no HTTP library would send. Each hides a complete second request where a
// careless parser finds one: a registration of a user who must never get a slot.
export interface MalformedCase {
  readonly name: string;
  /** The user of the hidden registration. */
  readonly smuggledUser: string;
  readonly bytes: Buffer;
  /** The client closes its side of the connection after the bytes. */
  readonly isHalfClosed?: boolean;
}

const HOST = "Host: localhost\r\n";
const JSON_TYPE = "Content-Type: application/json\r\n";

const bodyFor = (user: string): string => JSON.stringify({ product: "cad", user });

/** A well-formed registration; hidden inside another request, it is smuggled. */
export const registrationRequest = (user: string): string => {
  const body = bodyFor(user);
  return `POST /api/v4/register HTTP/1.1\r\n${HOST}${JSON_TYPE}Content-Length: ${body.length}\r\n\r\n${body}`;
};

const post = (headers: string, body: string): string =>
  `POST /api/v4/register HTTP/1.1\r\n${HOST}${JSON_TYPE}${headers}\r\n${body}`;

const chunk = (text: string): string => `${text.length.toString(16)}\r\n${text}\r\n`;

/** By name of the trick, the bytes that hide a registration of the user. */
const TEXTS: Readonly<Record<string, (user: string) => string>> = {
  "no Host header": (user) => registrationRequest(user).replace(HOST, ""),
  "two Host headers": (user) =>
    registrationRequest(user).replace(HOST, `${HOST}Host: evil.example\r\n`),
  "two different lengths": (user) => {
    const body = bodyFor(user);
    return post(`Content-Length: ${body.length}\r\nContent-Length: 0\r\n`, body);
  },
  "a length of zero and a larger one": (user) =>
    post(
      `Content-Length: 0\r\nContent-Length: ${registrationRequest(user).length}\r\n`,
      registrationRequest(user),
    ),
  "a list of lengths": (user) => post("Content-Length: 0, 5\r\n", registrationRequest(user)),
  "a negative length": (user) => post("Content-Length: -1\r\n", registrationRequest(user)),
  "a length with a sign": (user) => post("Content-Length: +0\r\n", registrationRequest(user)),
  "a length in hex": (user) => post("Content-Length: 0x0\r\n", registrationRequest(user)),
  "a length with a space": (user) => post("Content-Length: 0 0\r\n", registrationRequest(user)),
  "a length too large for a number": (user) =>
    post("Content-Length: 99999999999999999999999\r\n", registrationRequest(user)),
  "a space before the colon of a length": (user) =>
    post("Content-Length : 0\r\n", registrationRequest(user)),
  "a length beside chunks": (user) =>
    post(
      "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
      `0\r\n\r\n${registrationRequest(user)}`,
    ),
  "chunks beside a length": (user) =>
    post(
      `Transfer-Encoding: chunked\r\nContent-Length: ${registrationRequest(user).length + 5}\r\n`,
      `0\r\n\r\n${registrationRequest(user)}`,
    ),
  "chunked before identity": (user) =>
    post("Transfer-Encoding: chunked, identity\r\n", `0\r\n\r\n${registrationRequest(user)}`),
  "an unknown transfer coding": (user) =>
    post("Transfer-Encoding: xchunked\r\n", `0\r\n\r\n${registrationRequest(user)}`),
  "chunked after a tab, with a length": (user) =>
    post(
      "Transfer-Encoding:\tchunked\r\nContent-Length: 3\r\n",
      `0\r\n\r\n${registrationRequest(user)}`,
    ),
  "two Transfer-Encoding headers": (user) =>
    post(
      "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n",
      `0\r\n\r\n${registrationRequest(user)}`,
    ),
  "a chunk size that is no number": (user) =>
    post("Transfer-Encoding: chunked\r\n", `zz\r\n${registrationRequest(user)}`),
  "a negative chunk size": (user) =>
    post("Transfer-Encoding: chunked\r\n", `-1\r\n${registrationRequest(user)}`),
  "a chunk size too large for a number": (user) =>
    post("Transfer-Encoding: chunked\r\n", `fffffffffffffffff\r\n${registrationRequest(user)}`),
  "a chunk longer than its size": (user) =>
    post("Transfer-Encoding: chunked\r\n", `1\r\n{}\r\n0\r\n\r\n${registrationRequest(user)}`),
  "chunks with a bare line feed": (user) =>
    post("Transfer-Encoding: chunked\r\n", `1\n{\n0\n\n${registrationRequest(user)}`),
  "chunks without an end": (user) =>
    post("Transfer-Encoding: chunked\r\n", chunk(bodyFor(user)).slice(0, -1)),
  "a folded header": (user) =>
    `GET /api/v4/health HTTP/1.1\r\n${HOST}X-Fold: a\r\n ${registrationRequest(user)}`,
  "a NUL in a header": (user) =>
    `GET /api/v4/health HTTP/1.1\r\n${HOST}X-Nul: a\0b\r\n${registrationRequest(user)}`,
  "a NUL in the path": (user) => `GET /\0 HTTP/1.1\r\n${HOST}${registrationRequest(user)}`,
  "a header without a colon": (user) =>
    `GET /api/v4/health HTTP/1.1\r\n${HOST}nothing\r\n${registrationRequest(user)}`,
  "a header without a name": (user) =>
    `GET /api/v4/health HTTP/1.1\r\n${HOST}: value\r\n${registrationRequest(user)}`,
  "a bare carriage return": (user) =>
    `GET /api/v4/health HTTP/1.1\r\n${HOST}X: a\rContent-Length: 9\r\n${registrationRequest(user)}`,
  "an absolute URL of another host": (user) =>
    registrationRequest(user).replace("/api/v4/", "http://evil.example/api/v4/"),
  "a CONNECT request": (user) =>
    `CONNECT localhost:1 HTTP/1.1\r\n${HOST}${registrationRequest(user)}`,
  "an asterisk as path": (user) => `OPTIONS * HTTP/1.1\r\n${HOST}${registrationRequest(user)}`,
  "a megabyte of header": (user) =>
    `GET /api/v4/health HTTP/1.1\r\n${HOST}X: ${"a".repeat(1 << 20)}\r\n${registrationRequest(user)}`,
  "a megabyte of path": (user) =>
    `GET /${"a".repeat(1 << 20)} HTTP/1.1\r\n${HOST}${registrationRequest(user)}`,
  "ten thousand headers": (user) =>
    `GET /api/v4/health HTTP/1.1\r\n${HOST}${"X: a\r\n".repeat(10_000)}${registrationRequest(user)}`,
  "HTTP/0.9": (user) => `GET /api/v4/health\r\n${registrationRequest(user)}`,
  "HTTP/9.9": (user) => registrationRequest(user).replace("HTTP/1.1", "HTTP/9.9"),
  "no HTTP version": (user) => registrationRequest(user).replace(" HTTP/1.1", ""),
  "a method in lower case": (user) => registrationRequest(user).replace("POST", "post"),
  "an unknown method": (user) => `BREW / HTTP/1.1\r\n${HOST}${registrationRequest(user)}`,
  "line feeds alone": (user) => registrationRequest(user).replaceAll("\r\n", "\n"),
  "the preface of HTTP/2": (user) => `PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n${registrationRequest(user)}`,
  "an upgrade to HTTP/2": (user) =>
    registrationRequest(user)
      .replace(HOST, `${HOST}Connection: Upgrade\r\nUpgrade: h2c\r\n`)
      .slice(0, -1),
  garbage: (user) => `\x00\xff\xfe garbage\r\n\r\n${registrationRequest(user)}`,
  "garbage after a proper request": (user) =>
    `GET /api/v4/health HTTP/1.1\r\n${HOST}\r\n\x01\x02\x03${registrationRequest(user)}`,
};

/** The first bytes of a TLS client. */
const TLS_HELLO = Buffer.concat([
  Buffer.from("160301020001000001fc0303", "hex"),
  Buffer.alloc(32, 7),
  Buffer.from("20", "hex"),
  Buffer.alloc(460, 9),
]);

export function knownCases(): MalformedCase[] {
  const texts = Object.entries(TEXTS).map(([name, text], index) => {
    const smuggledUser = `smuggled-${index}`;
    return { name, smuggledUser, bytes: Buffer.from(text(smuggledUser), "latin1") };
  });
  const user = "smuggled-hello";
  const shortened = registrationRequest("smuggled-short").slice(0, -1);
  return [
    ...texts,
    {
      name: "a TLS client hello",
      smuggledUser: user,
      bytes: Buffer.concat([TLS_HELLO, Buffer.from(registrationRequest(user))]),
    },
    {
      name: "a body shorter than its length, then the end",
      smuggledUser: "smuggled-short",
      bytes: Buffer.from(shortened),
      isHalfClosed: true,
    },
    {
      name: "headers, then the end",
      smuggledUser: "smuggled-head",
      bytes: Buffer.from(registrationRequest("smuggled-head").split("\r\n\r\n")[0] ?? ""),
      isHalfClosed: true,
    },
  ];
}

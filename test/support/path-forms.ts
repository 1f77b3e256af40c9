// Forms of a path in the first line of a request: encoded, with dots, slashes, parameters or a host.

/** Texts before a path. */
const PREFIXES = words(String.raw`
    / // /. /./ /.. /../.. /x/.. /x/../y/.. /%2e /%2e%2e /x/%2e%2e /x/%2E. /x/.%2e
    //localhost /%2f /; /x;/.. /.; /..; /%00 /%09 /api/v4/health/../../..
    /api/v4/health/..%2f..%2f.. /api/v4/health; /assets/.. /assets/../.. /assets/%2e%2e
    /assets/..%5c http://localhost HTTP://LOCALHOST http://evil.example http://localhost:1
    http://user@localhost https://localhost http: http:// file:// ftp://localhost /? /# ? #
    \ /\ `);

/** Texts after a path. */
const SUFFIXES = words(String.raw`
    / // /. /.. /./ /x/.. /%2e /%2e%2e %2f %5c \ ; ;x=1 %3bx=1 %00 %00.html %20 %09 %0a
    %0d%0aX:%201 . ... .json ~ % %zz %u0000 ? ?? ?x=/../.. ?/api/v4/health %3f #
    #/api/v4/health %23 %c3%a9 %ef%bb%bf é`);

function words(text: string): string[] {
  return text.trim().split(/\s+/);
}

const encodeAll = (text: string): string =>
  text.replaceAll(/./g, (letter) => `%${letter.charCodeAt(0).toString(16)}`);

/** Ways to write an administrative path that a gate and a router may read differently. */
export function listPathForms(path: string): string[] {
  const last = path.slice(path.lastIndexOf("/") + 1);
  const parent = path.slice(0, -last.length);
  const slashes = words(String.raw`// /./ /;/ \ %2f %252f %5c %c0%af %ef%bc%8f`);
  return [
    path,
    ...PREFIXES.map((text) => `${text}${path}`),
    ...SUFFIXES.map((text) => `${path}${text}`),
    ...slashes.map((text) => path.replaceAll("/", text)),
    ...words("x/../ ./ %2e/ / x/%2e%2e/ ../v1/").map((text) => `${parent}${text}${last}`),
    ...words("v4/../ v4/%2e%2e/ v4/health/../../ v4//../../ v4;/../").map((text) =>
      path.replace("/api/", `/api/${text}`),
    ),
    `${path}/../${last}`,
    `${parent}${encodeAll(last)}`,
    `${parent}${encodeAll(encodeAll(last))}`,
    `${parent}${last.toUpperCase()}`,
    `/${encodeAll(path.slice(1))}`,
    encodeAll(path),
    path.toUpperCase(),
    path.slice(1),
    "*",
  ];
}

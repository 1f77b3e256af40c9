import { describe, expect, test } from "bun:test";
import {
  parseLogUrl,
  type LogUrl,
  type LogUrlProblem,
} from "../../../../src/store/log/postgres/log-url.ts";

const parse = (text: string): LogUrl => {
  const url = parseLogUrl(text);
  if ("message" in url) throw new Error(url.message);
  return url;
};

const problemOf = (text: string): LogUrlProblem => {
  const url = parseLogUrl(text);
  return "message" in url ? url : { message: "accepted", hint: "" };
};

describe("the URL of a log", () => {
  test("names user, database and server, with the port of PostgreSQL by default", () => {
    expect(parse("postgres://berth@db1.site/licenses")).toEqual({
      text: "postgres://berth@db1.site/licenses",
      hosts: [{ host: "db1.site", port: 5432 }],
      database: "licenses",
      user: "berth",
      sslmode: "prefer",
      sslrootcert: null,
    });
  });

  test("names several servers, also by their addresses", () => {
    expect(parse("postgresql://b@db1,10.0.0.2:6000,[fe80::1]:7000/d").hosts).toEqual([
      { host: "db1", port: 5432 },
      { host: "10.0.0.2", port: 6000 },
      { host: "fe80::1", port: 7000 },
    ]);
  });

  test("decodes user and database", () => {
    expect(parse("postgres://b%40site@db/a%2Fb")).toMatchObject({
      user: "b@site",
      database: "a/b",
    });
  });

  for (const mode of ["disable", "prefer", "require", "verify-full"] as const) {
    test(`accepts sslmode=${mode}`, () => {
      expect(parse(`postgres://b@db/d?sslmode=${mode}`).sslmode).toBe(mode);
    });
  }

  test("verifies the server if a certificate is named", () => {
    expect(parse("postgres://b@db/d?sslrootcert=/etc/ca.crt")).toMatchObject({
      sslmode: "verify-full",
      sslrootcert: "/etc/ca.crt",
    });
  });

  for (const [text, message] of [
    ["", "is not a URL"],
    ["db1:5432", "is not a URL"],
    ["https://b@db/d", "is not a URL"],
    ["postgres://b@db", "is not a URL"],
    ["postgres://db/d", "names no user"],
    ["postgres://b@db/", "no database"],
    ["postgres://%zz@db/d", "names no user"],
    ["postgres://b@db/%zz", "no database"],
    ["postgres://b@/d", "a wrong host"],
    ["postgres://b@db:0/d", "a wrong host"],
    ["postgres://b@db:65536/d", "a wrong host"],
    ["postgres://b@db1,,db2/d", "a wrong host"],
    ["postgres://b@db/d?sslmode=verify-ca", "an unknown sslmode: verify-ca"],
    ["postgres://b@db/d?sslmode=require&sslrootcert=/x", "sslmode=require does not use"],
    ["postgres://b@db/d?options=-cfsync=off", "an unknown option: options"],
  ] as const) {
    test(`is refused, with a hint: “${text}”`, () => {
      const problem = problemOf(text);
      expect(problem.message).toContain(message);
      expect(problem.hint).not.toBe("");
    });
  }

  for (const text of [
    "postgres://b:hunter2@db/d",
    "postgres://b:hunter2@x@db/d",
    "postgres://b:hunter2/x@db/d",
    "postgres://b:hunter2 x@db/d",
    "postgres://b:@db/d?password=hunter2",
    "postgres://b@db/d?password=hunter2",
    "b:hunter2@db/d",
  ]) {
    test(`with a password is refused without showing it: “${text}”`, () => {
      const { message, hint } = problemOf(text);
      expect(message).not.toBe("accepted");
      expect(`${message} ${hint}`).not.toContain("hunter2");
    });
  }
});

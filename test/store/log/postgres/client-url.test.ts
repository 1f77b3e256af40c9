import { describe, expect, test } from "bun:test";
import { toClientUrl } from "../../../../src/store/log/postgres/client-url.ts";

describe("the URL of a host in the database", () => {
  test.each(["https://license1.plant7.lan:8443", "http://[fd00::1]:8080/", "http://192.0.2.11"])(
    "is used if it is one that a host can have: %s",
    (url) => {
      expect(toClientUrl(url)).toBe(url);
    },
  );

  test.each([
    "javascript:alert(1)//https://a",
    "https://a\r\nset-cookie: b=c",
    "https://license1@evil.example",
    "https://evil.example/?x",
    "ftp://a",
    "",
    null,
    7,
  ])("is not known if no host can have written it: %p", (value) => {
    expect(toClientUrl(value)).toBeNull();
  });
});

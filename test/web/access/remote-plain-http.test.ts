import { expect, test } from "bun:test";
import { isRemotePlainHttp } from "../../../src/web/access/remote-plain-http.ts";

test.each([
  ["http://localhost:8080/", false],
  ["http://127.0.0.1:8080/", false],
  ["http://127.8.8.8/", false],
  ["http://[::1]:8080/", false],
  ["https://10.1.0.5:8443/", false],
  ["https://berth.plant7.lan/", false],
  ["http://10.1.0.5:8080/", true],
  ["http://berth.plant7.lan:8080/", true],
  ["http://127.0.0.1.example.com/", true],
  ["http://localhost.example.com/", true],
])("isRemotePlainHttp(%s) is %p", (address, isUnencrypted) => {
  expect(isRemotePlainHttp(new URL(address))).toBe(isUnencrypted);
});

import { expect, test } from "bun:test";
import { OfflineExchange } from "../../../support/offline-exchange.ts";
import { runBerth, runJsonOrThrow, runOrThrow } from "../../../support/run-berth.ts";

const KEY = "Q041B-B2JE3-Y9WCW-088GG";

test("a code that berth vendor confirm made for a key read aloud is valid at a site that spelled the key otherwise", async () => {
  const exchange = new OfflineExchange();
  await exchange.open("CAD");
  const policy = exchange.path("policy.jwt");
  const terms = ["--product", "CAD", "--slots", "5", "--valid-until", "never", "--out", policy];
  await runOrThrow(["vendor", "policy", ...exchange.deskFlags, "--policy-id", "basic", ...terms]);
  const { activation_code } = await runJsonOrThrow<{ activation_code: string }>([
    "airgap",
    "request",
    ...exchange.dataFlags,
    "--license-key",
    "Q041B B2JE3 Y9WCW 088GG",
  ]);
  const confirm = (key: string) =>
    runJsonOrThrow<{ confirmation_code: string }>([
      "vendor",
      "confirm",
      ...exchange.deskFlags,
      "--policy",
      policy,
      "--license-key",
      key,
      "--activation-code",
      activation_code,
      "--allow-weak-binding",
    ]);
  const { confirmation_code } = await confirm("qo41bb2je3y9wcwo88gg");
  // The same activation is answered with the same code, however the key is spelled.
  expect((await confirm(KEY)).confirmation_code).toBe(confirmation_code);
  const add = (key: string) =>
    runBerth([
      "airgap",
      "add",
      ...exchange.dataFlags,
      "--policy",
      policy,
      "--json",
      "--license-key",
      key,
      "--code",
      confirmation_code,
    ]);
  const mistyped = await add("q041b-b2je3-y9wcw-088gh");
  expect(mistyped.code).toBe(1);
  expect(JSON.parse(mistyped.stdout)).toMatchObject({ code: "invalid_confirmation_code" });
  const { code, stdout } = await add("q041b-b2je3-y9wcw-o88gg");
  expect([code, JSON.parse(stdout)]).toMatchObject([0, { license_key: KEY, floating_users: 5 }]);
});

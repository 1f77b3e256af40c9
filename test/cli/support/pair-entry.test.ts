import { expect, test } from "bun:test";
import { pairReply } from "../../../src/http/routes/pair/pair-reply.ts";
import { parseLogUrl } from "../../../src/operations/pair/open-log.ts";
import { addPairNames } from "../../../src/cli/support/pair-entry.ts";
import { Redactor } from "../../../src/cli/support/redact.ts";
import { HEALTHY_PAIR, withBeta } from "../../support/pair-status.ts";

function parse(text: string) {
  const url = parseLogUrl(text);
  if ("message" in url) throw new Error(url.message);
  return url;
}

test("a bundle replaces the names of both hosts, of their addresses and of the database", () => {
  const redactor = new Redactor();
  const url = "postgres://keeper@vault.plant7.lan,10.7.0.9/licenses";
  const settings = { pairLog: parse(url), pairHost: "alpha", pairUrl: "https://alpha.plant7.lan" };
  const reply = pairReply(withBeta({ url: "https://beta.plant7.lan:8443" }));
  addPairNames(redactor, settings, reply);
  const text = JSON.stringify(redactor.redactValue([reply, { pair_log: url }]));
  for (const name of ["alpha", "beta", "plant7", "vault", "keeper", "10.7.0.9", "10.0.0.9"]) {
    expect(text).not.toContain(name);
  }
});

test("a bundle has the same pseudonym for a host wherever its name stands", () => {
  const redactor = new Redactor();
  const settings = { pairLog: null, pairHost: "alpha", pairUrl: null };
  const reply = pairReply(HEALTHY_PAIR);
  addPairNames(redactor, settings, reply);
  const { pair } = redactor.redactValue(reply) as typeof reply;
  expect(pair?.leader).toBe(pair?.host ?? "");
  expect(pair?.hosts[0]?.name).toBe(pair?.host ?? "");
});

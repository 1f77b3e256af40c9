import { describe, expect, spyOn, test } from "bun:test";
import { inspectBetweenRequests } from "../../../src/operations/rules/rules-inspector.ts";
import { SharingRules } from "../../../src/operations/rules/sharing-rules.ts";
import { sha256 } from "../../../src/platform/crypto/hash.ts";
import { later, SECOND } from "../../../src/domain/time.ts";
import { openSite, transactOrThrow, type OpenSite } from "../../support/licensed-store.ts";
import { install, register, renew } from "../../support/scenario.ts";

const RULES = `[groups.team]
users = ["u-1", "u-2"]
[[rule]]
product = "cad"
limit = { each_user = 1 }
reserve = [{ group = "team", slots = 2 }]
[[rule]]
product = "cam"
limit = { each_user = 1 }
`;

const HOLDERS = 200;

async function openSiteWithRules(): Promise<OpenSite & { readonly rules: SharingRules }> {
  const site = await openSite();
  await transactOrThrow(site.store, install(1, { product: "cad", slots: 2 * HOLDERS }));
  await transactOrThrow(site.store, install(2, { product: "cam", slots: 2 }));
  for (let index = 0; index < HOLDERS; index += 1)
    await transactOrThrow(site.store, register(`u-${index}`));
  return { ...site, rules: new SharingRules(site.store) };
}

const applyAny = (rules: SharingRules, text: string) => rules.apply(text, "*", "open", "local");

/** Users register until the work has ended; the clock goes on with each of them. */
async function registerDuring<T>({ store, clock }: OpenSite, work: Promise<T>): Promise<T> {
  const progress = { isDone: false };
  const ended = work.finally(() => {
    progress.isDone = true;
  });
  for (let index = 0; !progress.isDone; index += 1) {
    clock.now = later(clock.now, SECOND);
    await transactOrThrow(store, register(`other-${index % 50}`));
  }
  return ended;
}

describe("checking rules while users register", () => {
  test("does not count all holders again for the applied rules", async () => {
    const site = await openSiteWithRules();
    expect((await applyAny(site.rules, RULES)).ok).toBe(true);
    const build = site.store.peek(({ rulesIndex }) => spyOn(rulesIndex, "build"));
    const checked = await registerDuring(
      site,
      site.rules.check(`${RULES}# changed\n`, "open", null),
    );
    expect(checked.ok && checked.value.preview?.map(({ product }) => product)).toEqual([
      "cad",
      "cam",
    ]);
    expect(build).not.toHaveBeenCalled();
  });
});

describe("checks of rules", () => {
  test("run one at a time, eight wait, and no change of the rules waits for them", async () => {
    const { store } = await openSiteWithRules();
    const { promise: mayEnd, resolve: end } = Promise.withResolvers<void>();
    let [running, most] = [0, 0];
    const rules = new SharingRules(store, async (text, site, signal) => {
      if (text !== RULES) return inspectBetweenRequests(text, site, signal);
      running += 1;
      most = Math.max(most, running);
      await mayEnd;
      running -= 1;
      return inspectBetweenRequests(text, site, signal);
    });
    const checks = Array.from({ length: 10 }, () => rules.check(RULES, "open", null));
    const refused = { code: "too_many_jobs", retryAfterSeconds: 20 } as const;
    expect(await checks[9]).toEqual({ ok: false, fault: refused });
    expect((await applyAny(rules, `${RULES}# another\n`)).ok).toBe(true);
    end();
    const results = await Promise.all(checks);
    expect(results.map(({ ok }) => ok)).toEqual([...Array.from({ length: 9 }, () => true), false]);
    expect(most).toBe(1);
  });

  test("are not made for a caller who has gone", async () => {
    const { rules } = await openSiteWithRules();
    const result = await rules.check(RULES, "open", AbortSignal.abort());
    expect(result).toEqual({ ok: false, fault: { code: "request_cancelled" } });
  });
});

describe("applying rules", () => {
  test("counts no holders if other rules are applied than those to replace", async () => {
    const { store, rules } = await openSiteWithRules();
    const prepare = store.peek(({ rulesIndex }) => spyOn(rulesIndex, "prepare"));
    const result = await rules.apply(RULES, [sha256("other")], "open", "local");
    expect(result).toEqual({ ok: false, fault: { code: "rules_changed", digest: null } });
    expect(prepare).not.toHaveBeenCalled();
  });

  test("counts no holders if the same rules are applied already", async () => {
    const { store, rules } = await openSiteWithRules();
    await applyAny(rules, RULES);
    const prepare = store.peek(({ rulesIndex }) => spyOn(rulesIndex, "prepare"));
    expect((await applyAny(rules, RULES)).ok).toBe(true);
    expect(prepare).not.toHaveBeenCalled();
  });

  test("stops to count for rules that are refused because a license shrank meanwhile", async () => {
    const { store, rules } = await openSiteWithRules();
    const reserved = RULES.replace("slots = 2", `slots = ${2 * HOLDERS}`);
    const index = store.peek(({ rulesIndex }) => rulesIndex);
    const prepare = index.prepare.bind(index);
    spyOn(index, "prepare").mockImplementation((...args) => {
      void transactOrThrow(store, renew(1, 3, { product: "cad", slots: HOLDERS }));
      return prepare(...args);
    });
    const discard = spyOn(index, "discardPrepared");
    const result = await applyAny(rules, reserved);
    expect(result).toMatchObject({ ok: false, fault: { code: "rules_over_reserved" } });
    expect(discard).toHaveBeenCalled();
  });
});

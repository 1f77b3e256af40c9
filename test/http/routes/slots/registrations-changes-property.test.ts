// Whatever happens to the slots, the changes turn an old copy of the list into the current list.
import { expect, test } from "bun:test";
import * as fc from "fast-check";
import { later, MINUTE } from "../../../../src/domain/time.ts";
import { rfc3339 } from "../../../../src/platform/rfc3339.ts";
import { expectOk, openAppliance, type Appliance } from "../../../support/appliance.ts";
import { featureTerms } from "../../../support/scenario.ts";
import { unwrap } from "../../../support/licensed-store.ts";
import { answerRequest } from "../../../support/vendor.ts";
import { RegistrationList, sorted } from "./registration-list.ts";

const VIEW = featureTerms("view", { floating: { slots: 2, timeoutMinutes: 7 } });
const TERMS = { slots: 3, timeoutMinutes: 20, borrowHours: 2, earlyReturn: true, features: [VIEW] };
const LICENSES = { 1: { ...TERMS, product: "cad" }, 2: { ...TERMS, product: "cam" } };

const user = fc.constantFrom("ada", "bob", "cid", "constructor");
const product = fc.constantFrom("cad", "cam");
const target = fc.record({ user, product });

const step = fc.oneof(
  { weight: 8, arbitrary: target.map((fields) => ({ do: "register" as const, fields })) },
  { weight: 2, arbitrary: target.map((fields) => ({ do: "otherHost" as const, fields })) },
  { weight: 3, arbitrary: target.map((fields) => ({ do: "unregister" as const, fields })) },
  {
    weight: 3,
    arbitrary: fc
      .record({ fields: target, minutes: fc.integer({ min: 1, max: 120 }) })
      .map((borrow) => ({ do: "borrow" as const, ...borrow })),
  },
  { weight: 3, arbitrary: target.map((fields) => ({ do: "feature" as const, fields })) },
  { weight: 2, arbitrary: target.map((fields) => ({ do: "releaseFeature" as const, fields })) },
  {
    weight: 8,
    arbitrary: fc.integer({ min: 0, max: 25 }).map((minutes) => ({ do: "wait" as const, minutes })),
  },
  {
    weight: 1,
    arbitrary: fc
      .record({ id: fc.constantFrom(1, 2), timeout: fc.constantFrom(20, 45) })
      .map((renewal) => ({ do: "renewLicense" as const, ...renewal })),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom(1, 2).map((id) => ({ do: "removeLicense" as const, id })),
  },
  { weight: 1, arbitrary: fc.constant({ do: "restart" as const }) },
  { weight: 1, arbitrary: product.map((all) => ({ do: "releaseAll" as const, product: all })) },
  { weight: 6, arbitrary: fc.constant({ do: "poll" as const }) },
);

/** Each renewal has a higher number than those before. */
let serials = 1;

type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

/** Does the step, which the rules may refuse. Returns the site, which is another after a restart. */
async function run(site: Appliance, action: Step): Promise<Appliance> {
  switch (action.do) {
    case "register":
      await site.register(action.fields);
      return site;
    case "otherHost":
      await site.register({ ...action.fields, os_hostname: "other" });
      return site;
    case "unregister":
      await site.unregister(action.fields);
      return site;
    case "borrow": {
      const borrowed_until = rfc3339(later(site.clock.now, action.minutes * MINUTE));
      await site.borrow({ ...action.fields, borrowed_until });
      return site;
    }
    case "feature":
      await site.featureRegister({ ...action.fields, feature: "view" });
      return site;
    case "releaseFeature":
      await site.featureRelease({ ...action.fields, feature: "view" });
      return site;
    case "wait":
      site.clock.now = later(site.clock.now, action.minutes * MINUTE);
      return site;
    case "renewLicense": {
      const terms = { ...LICENSES[action.id], timeoutMinutes: action.timeout };
      const installed = unwrap(await site.licensing.listLicenses());
      if (!installed.some(({ id }) => id === action.id)) return site;
      const request = await site.makeRequestDocument(terms.product);
      const serial = (serials += 1);
      const document = await answerRequest(request, action.id, terms, { serial });
      unwrap(await site.licensing.installLicense(document, "test"));
      return site;
    }
    case "removeLicense":
      await site.post("/api/admin/v1/licenses/remove", {
        license_id: action.id,
        with_borrows: true,
      });
      return site;
    case "releaseAll":
      await site.post("/api/admin/v1/registrations/release/all", { product: action.product });
      return site;
    case "restart": {
      await site.stop();
      const next = await openAppliance({ folder: site.folder, licenses: {} });
      next.clock.now = site.clock.now;
      return next;
    }
    case "poll":
      return site;
    default:
      throw new Error(`unknown step ${JSON.stringify(action satisfies never)}`);
  }
}

test("registrations/changes, applied to an old list, always give the current list", async () => {
  let incremental = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 40 }), async (steps) => {
      let site = await openAppliance({ licenses: LICENSES });
      // One reader looks after every step, the other only now and then.
      const [eager, rare] = [new RegistrationList(), new RegistrationList()];
      for (const action of [...steps, { do: "poll" as const }]) {
        site = await run(site, action);
        const current = sorted(expectOk(await site.registrations()));
        await eager.update(site);
        expect(eager.rows).toEqual(current);
        if (action.do !== "poll") continue;
        const { reload } = await rare.update(site);
        expect(rare.rows).toEqual(current);
        incremental += reload ? 0 : 1;
      }
      await site.stop();
    }),
    { numRuns: 20 },
  );
  expect(incremental).toBeGreaterThan(6);
});

import type { Instant } from "../../domain/time.ts";
import type { LicenseRequest } from "../../license/requests/request.ts";
import type { TermsDocument } from "../../license/terms/terms.ts";
import { USUAL_OPTIONS, type IssueOptions } from "../../desk/issuing/issue-options.ts";

const plainFeature = { metadata: null, expires: null, floating: null, consumption: null };

/** Terms with which every API call can be tried. */
export const demoTerms: Partial<TermsDocument> = {
  license_type: "consumption",
  trial: true,
  valid_until: null,
  slots: 5,
  timeout_minutes: 15,
  borrow_hours: 720,
  consumption: { max: 100, overages: 10, negative: false, period: null },
  features: [
    {
      ...plainFeature,
      code: "RENDER",
      name: "Render",
      floating: { slots: 2, timeout_minutes: 15 },
    },
    {
      ...plainFeature,
      code: "EXPORT",
      name: "Export",
      consumption: { max: 50, overages: 0, negative: false, period: null },
    },
  ],
};

/** The demo's desk accepts any hardware: it runs on the machine that sends the request. */
export const demoIssueOptions = (request: LicenseRequest, now: Instant): IssueOptions => ({
  ...USUAL_OPTIONS,
  request,
  terms: demoTerms,
  allowWeakBinding: true,
  now,
});

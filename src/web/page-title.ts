import { frame } from "./parts/common-texts.ts";

/** For example "(2) Slots · Plant 4 · Berth". */
export const pageTitle = (view: string, siteName: string, findings: number): string =>
  [
    findings > 0 ? `${frame.findingsInTitle(findings)} ${view}` : view,
    ...(siteName === "" ? [] : [siteName]),
    frame.product,
  ].join(" · ");

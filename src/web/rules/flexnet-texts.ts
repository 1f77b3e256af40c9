import { counted } from "./rules-texts.ts";

export const flexnet = {
  open: "Import FlexNet options…",
  title: "Import a FlexNet options file",
  about:
    "The file stays in this browser: it is converted here, and shown in the editor before anything is applied.",
  choose: "Choose an options file",
  features: "Features of the file",
  featuresAbout:
    "FlexNet knows features only. Say which product each of them is here; CAD:RENDER is the floating feature RENDER of CAD.",
  target: (feature: string) => `Product of ${feature}`,
  partOfFeature:
    "For a part of the licenses, but rules are for a whole product. Empty: its lines are not converted.",
  wrongTarget: "A product code, or PRODUCT:FEATURE.",
  summary: (converted: number, unconverted: number) =>
    `${counted(converted, "option is", "options are")} converted, ${counted(unconverted, "option has", "options have")} no equivalent.`,
  unconverted: "Without an equivalent",
  notes: "Differences to know",
  line: (first: number, last: number) =>
    first === last ? `Line ${first}` : `Lines ${first} to ${last}`,
  comments: "They are also in the rules, as comments.",
  use: "Use these rules",
  cancel: "Cancel",
  nothing: "This file has no options that rules can express.",
} as const;

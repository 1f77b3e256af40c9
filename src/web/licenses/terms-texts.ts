const plural = (count: number, one: string, many: string): string =>
  `${count.toLocaleString()} ${count === 1 ? one : many}`;

/** A license's terms in words. */
export const terms = {
  labels: {
    product: "Product",
    type: "Type",
    key: "License key",
    customer: "Customer",
    validity: "Valid",
    grace: "Grace",
    maintenance: "Maintenance",
    slots: "Slots",
    timeout: "Timeout",
    borrow: "Borrowing",
    consumption: "Consumption",
    statements: "Usage statements",
    features: "Features",
    policy: "Policy",
    metadata: "Note from the vendor",
  },
  types: {
    perpetual: "perpetual",
    "time-limited": "time-limited",
    subscription: "subscription",
    consumption: "consumption-based",
  } as Readonly<Record<string, string>>,
  trial: (type: string) => `${type}, trial`,
  product: (name: string, code: string) => (name === code ? code : `${name} (${code})`),
  noExpiry: "no expiry",
  from: (start: string) => `from ${start}, no expiry`,
  until: (end: string) => `until ${end}`,
  between: (start: string, end: string) => `from ${start} until ${end}`,
  graceNotNeeded: "none: the license has no expiry",
  noGrace: "none",
  grace: (time: string) => `${time} after expiry`,
  slots: (count: number) => plural(count, "concurrent user", "concurrent users"),
  timeout: (minutes: number) =>
    `a slot is released after ${plural(minutes, "minute", "minutes")} without a heartbeat`,
  noBorrow: "not allowed",
  borrow: (time: string) => `up to ${time}`,
  statements: (days: number) =>
    days === 1 ? "wanted by the vendor every day" : `wanted by the vendor every ${days} days`,
  notCounted: "not counted",
  unlimited: "counted, no limit",
  upTo: (max: string) => `up to ${max}`,
  periods: {
    daily: "a day",
    weekly: "a week",
    monthly: "a month",
    annually: "a year",
  } as Readonly<Record<string, string>>,
  overages: (count: string) => `, plus ${count} overage`,
  negativeAllowed: ", negative consumption allowed",
  included: "included",
  hours: (count: number) => plural(count, "hour", "hours"),
  days: (count: number) => plural(count, "day", "days"),
} as const;

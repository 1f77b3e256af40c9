export const overview = {
  title: "Overview",
  inUse: (used: string, all: string) => `${used} of ${all} slots in use`,
  free: (free: string) => `${free} free`,
  full: "full",
  reserved: (reserved: string, used: string) =>
    `${reserved} reserved, ${used} used by their groups`,
  over: (more: string) => `${more} more than the license allows`,
  validUntil: "expires",
  noExpiry: "no expiry",
  expired: "expired",
  consumed: (total: string, max: string) => `${total} of ${max} consumed`,
  consumedOver: (over: string) => `${over} more than included`,
  noLicense: {
    title: "No license yet",
    text: "Licenses come from a vendor: add the vendor’s trust file, create a request, send it to the vendor, and install the file that comes back.",
    request: "Request a license",
    add: "Add a license file",
  },
  attention: "Needs attention",
  noAttention: "Nothing needs attention.",
  notes: (count: number) => (count === 1 ? "1 note" : `${count} notes`),
  remedies: "What to do",
  noSlots: "no slots available",
} as const;

export const demand = {
  title: "Use and denied demand",
  reports: "All reports",
  none: "No license is installed.",
  feature: (product: string, feature: string) => `${product}, feature ${feature}`,
  reportOf: (name: string) => `${name}: report`,
  sparkline: (peak: string, limit: string) => `Last 7 days: peak ${peak}, limit ${limit}`,
  ofLimit: (used: string, limit: string) => `${used} of ${limit}`,
  columns: {
    product: "Product",
    week: "Last 7 days",
    peak: "Peak of the last 7 days",
    now: "In use now",
    today: "Denied, 24 hours",
    denied: "Denied, 7 days",
  },
} as const;

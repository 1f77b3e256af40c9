/** What a rules file may contain. */
export const RULES_LIMITS = {
  bytes: 1_048_576,
  groups: 1_000,
  /** Users, hosts, networks, logins and certificates of all groups together. */
  patterns: 10_000,
  rules: 10_000,
  nameBytes: 256,
} as const;

const SLOTS = 1_000_000_000;

/** The smallest and the largest number that each key accepts. */
export const RANGES = {
  /** 0 closes the product for those whom the limit concerns. */
  limit: { min: 0, max: SLOTS },
  reserved: { min: 1, max: SLOTS },
  borrowHours: { min: 1, max: 876_000 },
  borrowSlots: { min: 0, max: SLOTS },
  keepHome: { min: 0, max: SLOTS },
  holdSeconds: { min: 5, max: 3_600 },
  /** 0: no user can wait. */
  maxWaiting: { min: 0, max: 100_000 },
} as const;

export const whatIf = {
  title: "How many slots are needed?",
  answer: (percent: string, slots: number) =>
    `For ${percent} % of needs met at once: ${slots === 1 ? "1 slot" : `${slots} slots`}.`,
  notReached: (percent: string, slots: string) =>
    `${percent} % of needs met at once are not reached with ${slots} slots: try more.`,
  recorded: (limits: string, share: string, needs: number) =>
    `With the limit of the time, ${limits}, ${share} of ${needs} needs were met at once.`,
  limits: (low: number, high: number) => `${low} to ${high}`,
  noNeeds: "No slot was wanted in this period.",
  table: "Needs met by number of slots",
  columns: {
    slots: "Slots",
    needs: "Needs",
    atOnce: "Met at once",
    share: "Share",
    waiting: "Met after waiting",
    wait: "Median wait",
    waitSeconds: "Median wait (seconds)",
    notMet: "Not met",
    kind: "Kind",
  },
  recordedRow: (slots: string) => `${slots} (as recorded)`,
  kinds: { estimated: "estimated", recorded: "recorded" },
  from: "Slots from",
  to: "Slots to",
  wrong: "At most 100 numbers from 1 to 1,000,000.",
  estimate: "Estimate",
  target: "Needs met at once",
  percent: (percent: string) => `${percent} %`,
  assumptions: "What the estimate assumes",
  estimate1:
    "All numbers but the recorded ones are estimates: the recorded demand, decided again with other numbers of slots.",
  gaveUp: (session: string) =>
    `Users who gave up would have stayed a mean session, ${session}, and have waited from their first to their last refusal.`,
  patience: (patience: string, interval: string) =>
    `Users who got a slot at once would have waited ${patience}, the median of those who were denied, and retried every ${interval}.`,
  rules:
    "The sharing rules of that time apply. The host and the login of a refused call are not recorded.",
  queue: "Users who waited in the queue retry meanwhile; the order of the queue is not simulated.",
  check: (refusals: string, ofRefusals: string, grants: string, ofGrants: string) =>
    `With the recorded limits, ${refusals} of ${ofRefusals} refusals and ${grants} of ${ofGrants} grants come out as recorded. Of the refused calls of a denied episode, the first and the last are decided again.`,
} as const;

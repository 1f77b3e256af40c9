const users = (count: number, text: string): string => `${text} ${count === 1 ? "user" : "users"}`;

export const queue = {
  title: "Queue",
  about:
    "Users who wait for a slot, in the order in which they are served: members of a group whose reserved slots are idle, then by priority, then by arrival.",
  tabs: { label: "Slots and queue", slots: "In use", queue: "Queue" },
  product: "Product",
  allProducts: "All products",
  table: (product: string) => `Users who wait for ${product}`,
  summary: (waiting: number, waitingText: string, holds: number, holdsText: string) =>
    holds === 0
      ? `${users(waiting, waitingText)} waiting`
      : `${users(waiting, waitingText)} waiting, ${holdsText} ${holds === 1 ? "slot" : "slots"} held`,
  holdSeconds: (seconds: string) =>
    `A place ends ${seconds} seconds after the last request of its user, and a held slot ${seconds} seconds after it was offered.`,
  columns: {
    position: "Position",
    user: "User",
    state: "State",
    since: "Waiting since",
    sinceUtc: "Waiting since (UTC)",
    expected: "Expected",
    p50: "Expected, half of all waits (UTC)",
    p90: "Expected, nine of ten waits (UTC)",
    group: "Group",
    expires: "Place ends",
    expiresUtc: "Place ends (UTC)",
  },
  states: { waiting: "waiting", held: "a slot is held", limited: "blocked by a limit" },
  connected: "connected",
  home: (group: string) => `${group}, reserved slots`,
  homeAndPriority: (group: string) => `${group}, reserved slots and priority`,
  priority: (group: string) => `${group}, priority`,
  expected: (p50: string, p90: string) => `${p50}, nine of ten by ${p90}`,
  unknown: "not known",
  history: (user: string) => `History of ${user} in the audit log`,
  front: {
    act: "To the front",
    label: (user: string, product: string) =>
      `Move ${user} to the front of the queue of ${product}`,
    done: (user: string, product: string) => `${user} is at the front of the queue of ${product}.`,
  },
  drop: {
    act: "Remove",
    label: (user: string, product: string) => `Remove ${user} from the queue of ${product}`,
    title: (user: string) => `Remove ${user} from the queue?`,
    text: "The user loses the place. An application that still waits is refused now, and gets the last place if it asks again.",
    done: (user: string, product: string) => `${user} was removed from the queue of ${product}.`,
  },
  none: {
    title: "No user waits for a slot",
    ofProduct: (product: string) => `No user waits for a slot of ${product}`,
    text: "An application waits when it sends the header “Prefer: wait=60” with its register request: it gets the next free slot instead of a refusal. Without the header, it is refused at once.",
    run: "A command that needs a slot can wait, too:",
    command: "berth run --product CAD --wait 2h -- make",
  },
  waiting: (count: number, text: string) => `${users(count, text)} waiting`,
  holds: (count: number, text: string) => `${text} ${count === 1 ? "slot" : "slots"} held`,
  commands: ["berth queue"],
} as const;

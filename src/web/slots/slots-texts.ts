const slotCount = (count: number, text: string): string =>
  `${text} ${count === 1 ? "slot" : "slots"}`;

export const slots = {
  title: "Slots",
  search: "Search",
  searchHint: "Press / to search",
  product: "Product",
  allProducts: "All products",
  borrowedOnly: "Borrowed only",
  sortBy: "Sort by",
  descending: "Descending",
  inUse: (count: number, text: string) => `${slotCount(count, text)} in use`,
  inUseOfProduct: (used: string, all: string, product: string) =>
    `${used} of ${all} ${product} slots in use`,
  shown: (some: string, all: string, product: string, filter: string) =>
    `${some} of ${all}${product === "" ? "" : ` ${product}`} shown: ${filter}`,
  contains: (words: readonly string[]) =>
    `contains ${words.map((word) => `“${word}”`).join(" and ")}`,
  columns: {
    user: "User",
    product: "Product",
    host: "Host",
    address: "Address",
    lastSeen: "Last seen",
    duration: "Duration",
    borrowed: "Borrowed until",
    features: "Features",
    home: "Reserved for",
    info: "Info",
  },
  hiddenColumns: (titles: readonly string[]) =>
    `Not enough room for: ${titles.join(", ")}. “Details” shows everything.`,
  card: {
    lastSeen: (text: string) => `seen ${text}`,
    duration: (text: string) => `for ${text}`,
    borrowed: (text: string) => `borrowed until ${text}`,
  },
  actions: "Actions",
  table: "Slots in use",
  printedPart: (printed: string, all: string) =>
    `Only the first ${printed} of ${all} slots are printed. “Save as CSV” on the page saves all of them.`,
  tableHint: "Slots in use; scroll with the arrow and page keys",
  reportedAddress: (peer: string, local: string) => `${peer} (reports ${local})`,
  history: (user: string) => `History of ${user} in the audit log`,
  none: "No slots in use",
  noneText: "Slots appear here as soon as applications register users.",
  noMatch: "No results",
  showAll: "Show all",
  copy: "Copy as CSV",
  save: "Save as CSV",
  csv: {
    lastSeen: "Last seen (UTC)",
    duration: "In use since (UTC)",
    borrowed: "Borrowed until (UTC)",
  },
  fileName: (site: string, day: string) => `slots-${site}${day}.csv`,
  details: "Details",
  detailsLabel: (user: string, product: string) => `Details of ${user}’s slot of ${product}`,
  release: "Release…",
  releaseLabel: (user: string, product: string) => `Release ${user}’s slot of ${product}`,
  selection: {
    one: (user: string, product: string) => `Select ${user}’s slot of ${product}`,
    all: (count: string) => `Select all ${count} shown`,
    count: (count: string) => `${count} selected`,
    release: (count: string) => `Release ${count}…`,
    clear: "Clear selection",
    column: "Selected",
  },
  detailsDialog: {
    peer: "Seen from",
    localAddress: "Reported address",
    since: "In use since",
    expires: "Expires without a heartbeat",
    license: "License",
    history: "Show the user’s history",
    explain: "Explain the rules for this user",
    close: "Close",
  },
  dialog: {
    title: (count: number, text: string) =>
      count === 1 ? "Release this slot?" : `Release ${text} slots?`,
    consequence: (count: number) =>
      `Other users can take the ${count === 1 ? "slot" : "slots"} immediately. An application that is still running takes a slot again at its next heartbeat, if one is free.`,
    borrowed: (count: number, text: string, all: number) =>
      `${all === 1 ? "This slot is" : `${text} of them ${count === 1 ? "is" : "are"}`} borrowed: the application keeps working offline until the end of the borrow and cannot be stopped. Other users can take the slot in the meantime, if the license allows an early return.`,
    list: "Slots to release",
    more: (count: string) => `and ${count} more`,
    confirm: (count: number, text: string) =>
      count === 1 ? "Release the slot" : `Release ${text} slots`,
    releasedOne: (user: string, product: string) => `${user}’s slot of ${product} was released.`,
    released: (count: number, text: string) =>
      `${slotCount(count, text)} ${count === 1 ? "was" : "were"} released.`,
    notReleased: (user: string, message: string) => `${user}: ${message}`,
    notReleasedTitle: (count: number, text: string) => `${slotCount(count, text)} not released:`,
  },
  allOfProduct: {
    open: (product: string) => `Release all of ${product}…`,
    title: (product: string) => `Release all slots of ${product}?`,
    text: (product: string, count: number, text: string) =>
      `All ${slotCount(count, text)} of ${product} in use ${count === 1 ? "is" : "are"} released, also those that the search does not show.`,
    field: (product: string) => `Type ${product} to confirm`,
    confirm: "Release all",
    released: (text: string, count: number, product: string) =>
      `${slotCount(count, text)} of ${product} ${count === 1 ? "was" : "were"} released.`,
    remaining: (count: number, text: string) =>
      `${slotCount(count, text)} ${count === 1 ? "stays" : "stay"} in use: borrowed, and the license allows no early return.`,
  },
} as const;

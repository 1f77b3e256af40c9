export const explain = {
  title: "Explain for a person",
  about: "What the rules in effect decide for a caller now, and why. It changes nothing.",
  fields: {
    user: "User",
    host: "Host",
    from: "Address",
    login: "Login",
    product: "Product",
    feature: "Feature",
  },
  hints: {
    host: "As the application sends it.",
    from: "As the server sees it, such as 10.1.4.9.",
    login: "With client_auth = “login”.",
    feature: "Empty: a slot of the product.",
  },
  act: "Explain",
  needsUser: "Enter a user name.",
  noProduct: "No license is installed.",
  outcomes: {
    register: {
      granted: "The user would get a slot now.",
      renewed: "The user has a slot and keeps it: rules do not judge heartbeats.",
      refused: "The user would be refused now.",
    },
    borrow: {
      granted: "Borrowing: the user could borrow a slot now.",
      renewed: "Borrowing: the user could borrow the slot now.",
      refused: "Borrowing would be refused now.",
    },
  },
  canWait: "With Prefer: wait, the application would wait in the queue.",
  slots: (used: string, all: string, holds: string, free: string) =>
    `${used} of ${all} slots in use, ${holds} held for users who waited, ${free} free.`,
  facts: {
    person: "Person",
    groups: "Groups",
    home: "Reserved slots of",
    none: "none",
  },
  steps: "Rules that apply",
  noSteps: "No rule applies.",
  columns: { rule: "Rule", line: "Line", result: "Result", text: "Why" },
  results: { passes: "passes", refuses: "refuses", applies: "applies" } as Readonly<
    Record<string, string>
  >,
} as const;

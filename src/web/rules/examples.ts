/** A piece of rules to begin with; the reader puts real names into it. */
export interface Example {
  readonly name: string;
  /** TOML for a product. */
  readonly toml: (product: string) => string;
}

/** Each has groups of its own, so that several can be inserted one after another. */
export const EXAMPLES: readonly Example[] = [
  {
    name: "Reserve slots for a group",
    toml: (product) => `# Two slots of ${product} are kept for the group sim.
# idle = "lend" lets others use them until a member needs one.
[groups.sim]
users = ["ada", "grace"]

[[rule]]
product = ${quote(product)}
reserve = [{ group = "sim", slots = 2, idle = "keep" }]
`,
  },
  {
    name: "Limit slots per person and host",
    toml: (product) => `# A person has at most 2 slots of ${product}, a host at most 4.
[[rule]]
product = ${quote(product)}
limit = { each_user = 2, each_host = 4 }
`,
  },
  {
    name: "Limit the slots of a group",
    toml: (product) => `# The build hosts together have at most 6 slots of ${product}.
[groups.build]
hosts = ["build-*"]

[[rule]]
product = ${quote(product)}
limit = { groups = { build = 6 } }
`,
  },
  {
    name: "Allow only some networks",
    toml: (product) => `# Only these networks can get slots of ${product}.
[groups.office]
networks = ["10.1.4.0/24"]

[[rule]]
product = ${quote(product)}
allow_only = ["office"]
`,
  },
  {
    name: "Deny a group",
    toml: (product) => `# Contractors get no slot of ${product}.
[groups.contractors]
users = ["ext-*"]

[[rule]]
product = ${quote(product)}
deny = ["contractors"]
`,
  },
  {
    name: "Limit borrowing",
    toml: (
      product,
    ) => `# Slots of ${product} are borrowed for at most 3 days, and 3 slots stay here.
[[rule]]
product = ${quote(product)}
borrow = { max_hours = 72, keep_home = 3 }
`,
  },
  {
    name: "Serve a group first in the queue",
    toml: (product) => `# Of the users who wait for ${product}, those on call are served first.
[groups.oncall]
users = ["lin"]

[[rule]]
product = ${quote(product)}
queue = { priority = ["oncall"], hold_seconds = 30 }
`,
  },
];

/** A TOML string; JSON's escapes are valid in it. */
const quote = (text: string): string => JSON.stringify(text);

/** Adds an example at the end of a text, with an empty line between. */
export function insertExample(text: string, { toml }: Example, product: string): string {
  const before = text.trimEnd();
  return before === "" ? toml(product) : `${before}\n\n${toml(product)}`;
}

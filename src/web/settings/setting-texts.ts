/** The settings that are edited on the page, with the words of their fields. */
interface SettingText {
  readonly label: string;
  readonly hint: string;
}

export const SETTING_TEXTS: Readonly<Record<string, SettingText>> = {
  site_name: {
    label: "Site name",
    hint: "Names this server in the header, in the browser’s title and in exports.",
  },
  expiry_warning_days: {
    label: "Expiry warning (days)",
    hint: "Licenses, certificates and tokens are reported so many days before their end. 1 to 365.",
  },
  max_slots_per_user: {
    label: "Slots per user, at most",
    hint: "Over all licenses. 0: no limit.",
  },
  max_slots_per_peer: {
    label: "Slots per address, at most",
    hint: "Over all licenses. 0: no limit.",
  },
  max_places_per_caller: {
    label: "Places in queues per address and per person, at most",
    hint: "How many users of one address, and how many instances of one person, may wait for slots.",
  },
  audit_keep_months: {
    label: "Months of the audit log to keep",
    hint: "Besides the current month. Older months are removed. 0: keep all.",
  },
  usage_months: {
    label: "Months of usage to keep",
    hint: "Besides the current month. Older months are removed. 1 to 999.",
  },
  audit_budget: {
    label: "Audit log per address (MiB an hour)",
    hint: "An address that writes more is refused for a while. 0: no limit.",
  },
  client_networks: {
    label: "Client networks",
    hint: "Networks from which applications can connect, separated by commas, such as 10.1.0.0/16.",
  },
};

export const settingForm = {
  save: "Save changes",
  discard: "Discard changes",
  changes: "Changes",
  change: (from: string, to: string) => `${from} → ${to}`,
  defaultValue: (value: string) => `Empty for the default: ${value}.`,
  theDefault: (value: string) => `${value} (default)`,
  nothingChanged: "Nothing was changed: all values are as before.",
  saved: "Saved. It applies at once.",
  setHere: "The current value was set on this page.",
  notEditable: "Not editable here:",
  privateNetworks: "private networks and this machine’s subnets",
  notSet: "not set",
  sources: { default: "default", page: "set on this page" } as Readonly<Record<string, string>>,
  from: (source: string) => `from ${source}`,
};

export const general = {
  about: "These settings apply at once, without a restart. Each change is in the audit log.",
  all: "All settings",
  allAbout: "Everything that is in effect, and why some of it cannot be changed over the network.",
  editableHere: "Can be changed here.",
  whyNot: (reason: string) => `Not here: ${reason}`,
  commands: [
    "berth config",
    'berth config set site_name "Plant 4"',
    "berth config reset site_name",
  ],
};

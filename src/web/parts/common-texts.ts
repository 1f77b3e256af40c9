/** The header and other texts around every view. */
export const frame = {
  product: "Berth",
  views: {
    overview: "Overview",
    slots: "Slots",
    licenses: "Licenses",
    audit: "Audit log",
    settings: "Settings",
  },
  navigation: "Views",
  skip: "Skip to the content",
  docs: "API",
  signOut: "Sign out",
  theme: {
    light: "Light",
    dark: "Dark",
    label: (next: string) => `Switch to ${next.toLowerCase()}`,
  },
  live: "live",
  connectionLost: "connection lost, retrying",
  demo: "Demo: for evaluation only, anyone on this machine can administer",
  movedAway: (when: string) =>
    `This appliance was moved to another host on ${when} and no longer serves users here.`,
  close: "Close",
  cancel: "Cancel",
  copy: "Copy",
  copied: "Copied",
  save: "Save as file",
  cliCommands: "On the command line",
  loading: "Loading…",
  retry: "Try again",
} as const;

/** Of what surrounds every view. */
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
  connectionLost: "connection lost, trying again",
  demo: "Demo: for trying, anybody here may administer",
  movedAway: (when: string) =>
    `This appliance was moved to another host on ${when} and serves nobody here any more.`,
  close: "Close",
  cancel: "Cancel",
  copy: "Copy",
  copied: "Copied",
  save: "Save as file",
  cliCommands: "The same in a terminal",
  loading: "One moment…",
  retry: "Try again",
} as const;

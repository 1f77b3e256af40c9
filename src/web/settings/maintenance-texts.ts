/** Clock, health check, support bundle, and what is done on the command line. */
export const clock = {
  about:
    "Slots and licenses end by the server time. A system clock that jumps is not followed at once.",
  serverTime: "Server time",
  systemClock: "System clock",
  states: {
    ok: "In sync with the system clock.",
    ahead: "The system clock is far ahead and is not followed yet.",
    behind: "The system clock is behind; the server time continues from the last recorded time.",
    suspect: "The system clock is a day or more behind: licenses that expire grant no new slots.",
  },
  accept: {
    act: "Accept the system clock",
    title: "Accept the system clock?",
    text: (system: string) =>
      `The server time becomes ${system}. Everything that ends before then ends now. It cannot be set back without the vendor.`,
  },
  requestCode: {
    text: "If the server time is wrong, correct the system clock. If the recorded time itself ran ahead, only a file from the vendor can set it back:",
    act: "Create a code",
    readOut: "Read this code to the vendor, who answers with a file:",
  },
  repair: {
    fileDescription: "the vendor’s answer",
    answerLoaded: "The vendor’s answer is loaded. You can set the server time back now.",
    act: "Set the time back",
  },
  reload: "Refresh",
  commands: ["berth clock", "berth clock accept", "berth clock repair FILE"],
} as const;

export const maintenance = {
  toHealth: "Problems of the server and its last full check are on the page Health.",
  bundle: {
    title: "Support bundle",
    text: "A file that helps to diagnose a problem: status, settings, health check, recent events and the service’s latest log. Names and addresses are replaced, and it contains no secrets.",
    act: "Save a support bundle",
    saved: (name: string) => `${name} is saved. Review it before you pass it on.`,
    command: "berth support-bundle FILE",
  },
  verify: { title: "Integrity check", command: "berth verify" },
} as const;

export const machine = {
  about: "These tasks are done in a terminal on the server; they cannot be done over the network.",
  topics: [
    {
      title: "Run it as a service",
      text: "Installs the executable, its user and its settings, and starts it at every boot. The same command upgrades it.",
      commands: ["sudo berth service install", "sudo berth service uninstall"],
    },
    {
      title: "TLS certificates",
      text: "Creates a site certificate authority and the server’s certificate. The second command creates a client certificate for an application.",
      commands: [
        "berth tls init --names berth.plant7.lan",
        "berth tls client --name ws-17 --out ws-17.pem",
      ],
    },
    {
      title: "Move to another host",
      text: "Stops the appliance here and continues it there, with all slots in use. Licenses stay valid for the time the vendor allows for a move; request new ones from the new host.",
      commands: ["berth move out site.move", "berth move in site.move"],
    },
    {
      title: "Settings",
      text: "The settings in effect, and the source of each.",
      commands: ["berth config"],
    },
  ],
} as const;

export const about = {
  version: "Version",
  appliance: "Appliance",
  createdAt: "Created",
  hardware: "Hardware",
  components: "Bound to",
  weakBinding:
    "Weak hardware binding: this machine has too few hardware identifiers to distinguish it from a copy.",
  notices: "Third-party notices",
  underLicense: (license: string) => `under ${license}`,
  commands: ["berth version", "berth notices"],
} as const;

/** Vendors, cloud keys and network. */
export const settings = {
  title: "Settings",
  index: "Sections",
  sections: {
    access: "Access",
    general: "General",
    trust: "Vendors",
    keys: "Cloud keys",
    network: "Network",
    clock: "Clock",
    backups: "Backups",
    maintenance: "Maintenance",
    machine: "Command line",
    about: "About",
  },
  keys: {
    about:
      "Only needed if your vendor’s licensing cloud requires requests signed with them. They are write-only: no page, call, log or backup shows them again.",
    apiKey: "API key",
    sharedKey: "Shared key",
    newApiKey: "New API key",
    newSharedKey: "New shared key",
    hint: "Leave empty to keep the current key.",
    act: "Set the keys",
    state: { set: "set", notSet: "not set" },
    names: { apiKey: "the API key", sharedKey: "the shared key" } as Readonly<
      Record<string, string>
    >,
    updated: (what: string) => `Saved: ${what}.`,
    unchanged: "Both fields are empty: nothing was changed.",
    commands: ["berth keys set keys.txt"],
  },
  network: {
    about: "What the server listens on, and who may connect.",
    clientNetworksTitle: "Networks for applications",
    clientNetworksAbout:
      "Applies at once. A change that would end your own access is refused: administrators may connect from these networks too, unless admin_networks is set.",
    listeners: "Listens on",
    tls: "TLS",
    plain: "plain HTTP",
    certificate: "Certificate",
    noCertificate: "None: the server uses plain HTTP only.",
    states: {
      ok: (end: string) => `Valid until ${end}.`,
      expiring: (end: string) => `Expires on ${end}: renew it.`,
      expired: (end: string) => `Expired on ${end}: browsers and applications refuse it.`,
    },
    renew: "To create or renew it, on the server:",
    renewCommand: "berth tls init",
    clients: "Client networks",
    admins: "Admin networks",
    noNetworks: "none",
    sameNetworks: "the client networks and this machine",
    clientAuth: "Client authentication",
    clientAuthModes: {
      open: "None: any client can use any user name.",
      login: "Login with a name and a password.",
      mtls: "Client certificate of the site.",
    } as Readonly<Record<string, string>>,
    exposures: "Exposures",
    noExposures: "None.",
    remedy: "Remedy:",
    commands: [
      "berth config set client_networks 10.1.0.0/16,10.2.0.0/16",
      "berth config reset client_networks",
    ],
  },
} as const;

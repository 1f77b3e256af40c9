/** Of keeping it in good order, and of what is done at the machine itself. */
export const clock = {
  about:
    "Slots and licenses end by this clock. A machine’s clock that jumps is not simply believed.",
  serverTime: "Time here",
  systemClock: "The machine’s clock",
  states: {
    ok: "The machine’s clock is followed.",
    ahead: "The machine’s clock is far ahead and not believed yet.",
    behind: "The machine’s clock is behind; time goes on from what is on record.",
    suspect: "The machine’s clock is a day or more behind: slots with an end are not lent anew.",
  },
  accept: {
    act: "The machine’s clock is right",
    title: "Go on from the machine’s clock?",
    text: (system: string) =>
      `Time here becomes ${system}. Everything that ends before then has ended. It cannot be set back without the vendor.`,
  },
  requestCode: {
    text: "If time here is wrong, set the machine’s clock right. Where the record itself ran ahead, only a vendor’s word sets it back:",
    act: "Make a code",
    readOut: "Read this code to your vendor, who answers with a file:",
  },
  repair: {
    fileDescription: "the vendor’s answer",
    answerLoaded: "The vendor’s answer is here. Time can be set back by it now.",
    act: "Set time back",
  },
  reload: "Look again",
  commands: ["berth clock", "berth clock accept", "berth clock repair FILE"],
} as const;

export const maintenance = {
  doctor: {
    title: "What an operator should know",
    levels: { ok: "ok", note: "note", warning: "warning", error: "error" } as Readonly<
      Record<string, string>
    >,
    worst: {
      ok: "Everything that was looked at is in order.",
      note: "All in order; some things are worth knowing.",
      warning: "Something asks for you.",
      error: "Something does not work.",
    } as Readonly<Record<string, string>>,
    passed: (count: number) => (count === 1 ? "1 thing in order" : `${count} things in order`),
    runAgain: "Look again",
    command: "berth doctor",
  },
  backup: {
    title: "Backup",
    text: "One file with everything: licenses, who holds what, the record. It is checked before you get it.",
    secret:
      "It holds the appliance’s key. Whoever has it can pose as this server: keep it like a password.",
    act: "Save a backup",
    confirmTitle: "Save a backup here?",
    saved: (name: string) => `${name} is saved.`,
    command: "berth backup FILE",
  },
  bundle: {
    title: "Support bundle",
    text: "What helps somebody to find a fault: status, settings, findings, what happened when, and the service’s latest log. Names and addresses are replaced in it, and no secret is in it.",
    act: "Save a support bundle",
    saved: (name: string) => `${name} is saved. Look into it before you hand it on.`,
    command: "berth support-bundle FILE",
  },
  verify: { title: "Is everything whole?", command: "berth verify" },
} as const;

export const machine = {
  about:
    "Some things are done at the machine itself, in a terminal, so that nobody can do them from afar.",
  topics: [
    {
      title: "Run it as a service",
      text: "Installs the executable, its user and its settings, and starts it at every boot. The same command upgrades it.",
      commands: ["sudo berth service install", "sudo berth service uninstall"],
    },
    {
      title: "TLS certificates",
      text: "Makes a site authority and the server’s certificate; the second line is for an application that shows a certificate of its own.",
      commands: [
        "berth tls init --names berth.plant7.lan",
        "berth tls client --name ws-17 --out ws-17.pem",
      ],
    },
    {
      title: "Move to another host",
      text: "Gives everything up here and goes on there, with everybody’s slots. Licenses stay good for the time the vendor grants for a move; ask for new ones from there.",
      commands: ["berth move out site.move", "berth move in site.move"],
    },
    {
      title: "Bring a backup back",
      text: "With the server stopped. What was there is kept beside it; the record says what was done, and so does the next request to the vendor.",
      commands: [
        "sudo systemctl stop berth",
        "berth restore site.berth",
        "sudo systemctl start berth",
      ],
    },
    {
      title: "Settings",
      text: "What is in force, and where each setting came from.",
      commands: ["berth config"],
    },
  ],
} as const;

export const about = {
  version: "Version",
  appliance: "Appliance",
  createdAt: "Since",
  hardware: "Hardware",
  components: "Bound to",
  weakBinding:
    "Too little of this machine can be told apart from another: licenses are bound weakly.",
  notices: "The work of others in this program",
  underLicense: (license: string) => `under ${license}`,
  commands: ["berth version", "berth notices"],
} as const;

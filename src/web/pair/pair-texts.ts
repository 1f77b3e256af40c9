export const pair = {
  title: "Pair",
  about:
    "Two hosts serve this site through one database. One leads and answers; the other one follows and takes over if the leader fails.",
  columns: {
    host: "Host",
    role: "Role",
    seen: "Last report",
    behind: "Behind",
    clock: "Clock",
    version: "Version",
    address: "Address",
  },
  thisHost: "this host",
  roles: { leader: "leads", standby: "on standby" } as const,
  noRole: "not known",
  never: "never",
  secondsAgo: (seconds: string) => `${seconds} s ago`,
  minutesAgo: (minutes: string) => `${minutes} min ago`,
  lines: (count: string) => `${count} lines`,
  upToDate: "up to date",
  clockAhead: (seconds: string) => `${seconds} s ahead`,
  clockBehind: (seconds: string) => `${seconds} s behind`,
  clockEqual: "in step",
  unknown: "not known",
  none: "No host was admitted yet.",
  database: "Database",
  databaseUnknown: "not read yet",
  replication: {
    strict: "every change is on two database servers before it is acknowledged",
    loose: "changes may be on one database server only, while its standby is away",
    none: "changes are on one database server only",
  },
  epoch: "Epoch",
  handOver: {
    act: "Hand over",
    label: (host: string) => `Hand over to ${host}`,
    title: (host: string) => `Let ${host} lead?`,
    text: (host: string) =>
      `${host} answers from then on. Requests are not answered for up to 2 seconds, and no change is lost. This page then leads to ${host}, where you sign in again.`,
  },
  commands: ["berth pair status", "berth pair hand-over"],
} as const;

export const standbyTexts = {
  title: "On standby",
  text: "This host is on standby: the other host of the pair answers. Nothing is shown here, because it would not be current.",
  open: (url: string) => `Open ${url}`,
  noAddress:
    "The address of the leader is not known here: the setting pair_url of that host is not set.",
  logTitle: "No host answers now",
  logText:
    "The database of the pair cannot be used from this host, so it answers nothing. Nothing is shown here, because it would not be current.",
  otherHost: (name: string) => `The other host, ${name}, may lead:`,
  again: "This page continues by itself when this host leads.",
  lostTitle: "This host does not answer",
  lostText: (name: string) => `The other host of the pair, ${name}, may lead now:`,
} as const;

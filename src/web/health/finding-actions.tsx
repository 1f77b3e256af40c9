import { linkTo } from "../router.ts";
import { CreateFirstToken } from "../access/unclaimed.tsx";
import type { Finding } from "./findings.ts";
import { health } from "./health-texts.ts";

interface Link {
  readonly href: string;
  readonly text: string;
}

const { actions } = health;

const renewal = ({ subject }: Finding): Link => ({
  href: linkTo("licenses", "request", ...(subject === null ? [] : [subject])),
  text: actions.renew,
});
const inSettings = (section: string, text: string) => (): Link => ({
  href: linkTo("settings", section),
  text,
});

const toAccess = inSettings("access", actions.access);
const toBackups = inSettings("backups", actions.backups);
const toClock = inSettings("clock", actions.clock);
const toNetwork = inSettings("network", actions.network);
const toMaintenance = inSettings("maintenance", actions.integrity);

/** By the code of a finding, the place of the page that mends it. */
const LINKS: Readonly<Record<string, (finding: Finding) => Link>> = {
  license_expired: renewal,
  license_refused: renewal,
  license_expiring: renewal,
  license_moved: renewal,
  license_restored: renewal,
  license_one_host: renewal,
  hardware_drift: renewal,
  consumption_over: renewal,
  license_missing: () => ({ href: linkTo("licenses", "request"), text: actions.request }),
  slots_full: ({ subject }) => ({ href: linkTo("slots", subject ?? ""), text: actions.viewUsers }),
  token_expired: toAccess,
  token_expiring: toAccess,
  token_no_expiry: toAccess,
  backup_none: toBackups,
  backup_failed: toBackups,
  backup_overdue: toBackups,
  backup_same_disk: toBackups,
  clock_suspect: toClock,
  clock_behind: toClock,
  clock_ahead: toClock,
  clients_open: toNetwork,
  networks_wide: toNetwork,
  plain_http: toNetwork,
  plain_credentials: toNetwork,
  metrics_open: toNetwork,
  certificate_expired: toNetwork,
  certificate_expiring: toNetwork,
  audit_damaged: toMaintenance,
  data_damaged: toMaintenance,
};

interface Props {
  readonly finding: Finding;
  /** Whether a button is the main one of the screen. */
  readonly isMain: boolean;
}

/** What can be done about a finding on this page: a link, a button, or nothing. */
export function FindingAction({ finding, isMain }: Props) {
  if (finding.code === "admin_open") return <CreateFirstToken kind={isMain ? "main" : "plain"} />;
  const link = LINKS[finding.code]?.(finding);
  return link === undefined ? null : (
    <a class="button" href={link.href}>
      {link.text}
    </a>
  );
}

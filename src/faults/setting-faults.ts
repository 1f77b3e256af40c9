import type { FaultRows } from "./fault-row.ts";
import type { SettingFault } from "./fault-types.ts";

const settingOf = ({ setting }: { readonly setting: string }): string => setting;

/** Changes of settings of a running server. */
export const SETTING_FAULTS: FaultRows<SettingFault["code"]> = {
  unknown_setting: {
    status: 400,
    message: () => "no setting has this name; GET settings lists the names",
    commandLineMessage: () => "no setting has this name",
    hint: "berth config lists the settings",
  },
  setting_not_editable: {
    status: 400,
    message: ({ setting, reason }) => `${setting} cannot be changed here: ${reason}`,
    field: settingOf,
    sample: {
      setting: "listen",
      reason:
        "a wrong address would cut off the page. Change it in /etc/berth/berth.toml and restart " +
        "the server.",
    },
  },
  invalid_setting: {
    status: 400,
    message: ({ setting, problem, example }) =>
      `${setting} ${problem}${example === "" ? "" : `, ${example}`}`,
    commandLineMessage: ({ setting, problem }) => `${setting} ${problem}`,
    hint: ({ example }) => example,
    field: settingOf,
    sample: {
      setting: "expiry_warning_days",
      problem: "must be a number of days from 1 to 365",
      example: "for example 30",
    },
  },
  own_address_excluded: {
    status: 400,
    message: ({ address }) =>
      `your own address ${address} is not in these networks, and administration is accepted only ` +
      "from them; add it, or set admin_networks on the server",
    field: settingOf,
    sample: { setting: "client_networks", address: "10.9.0.7" },
  },
};

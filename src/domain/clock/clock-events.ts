import { NO_DETAILS, type EventRows } from "../model/event-row.ts";
import { formatTime, formatTimestamp } from "../model/event-texts.ts";
import type { JumpReason } from "../model/clock-jump-types.ts";

/** What the audit log says of the clock. */
export const CLOCK_EVENTS: EventRows<
  "ClockMarked" | "ClockJumped" | "ClockAsked" | "ClockSetBack"
> = {
  ClockMarked: {
    kind: "appliance",
    isAudited: false,
    summary: () => "time marked",
    details: () => NO_DETAILS,
  },
  ClockJumped: {
    kind: "appliance",
    isAudited: true,
    summary: ({ from, to, reason }) =>
      `clock jumped from ${formatTime(from)} to ${formatTime(to)}${JUMP_REASON_TEXTS[reason]}`,
    details: ({ from, to, reason }) => ({
      from: formatTimestamp(from),
      to: formatTimestamp(to),
      reason,
    }),
  },
  ClockAsked: {
    kind: "appliance",
    isAudited: true,
    summary: () => "time requested from a vendor",
    details: () => NO_DETAILS,
  },
  ClockSetBack: {
    kind: "appliance",
    isAudited: true,
    summary: ({ from, to }) => `time set back from ${formatTime(from)} to ${formatTime(to)}`,
    details: ({ from, to }) => ({ from: formatTimestamp(from), to: formatTimestamp(to) }),
  },
};

const JUMP_REASON_TEXTS: { readonly [R in JumpReason]: string } = {
  start: " while the server was off",
  step: "",
  held: ", accepted after a waiting time",
  accepted: ", accepted by an operator",
};

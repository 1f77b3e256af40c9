import {
  formatAgo,
  formatDate,
  formatDateTime,
  formatEnd,
  formatShort,
  formatTimeOfDay,
  formatUtc,
  nameTimeZone,
} from "../format.ts";
import { times } from "./parts-texts.ts";

/** By the name of each form, how it writes a time. */
const FORMS = {
  full: formatDateTime,
  short: (time: string) => formatShort(time),
  /** For a time of the last day; its text is as old as the last rendering. */
  ago: (time: string) => formatAgo(time),
  date: formatDate,
  end: formatEnd,
  clock: formatTimeOfDay,
} as const;

interface Props {
  readonly at: string;
  readonly as?: keyof typeof FORMS;
}

/** A time in the reader's zone; pointing at it shows the time in UTC. */
export const Time = ({ at, as = "full" }: Props) => (
  <time dateTime={at} title={formatUtc(at)}>
    {FORMS[as](at)}
  </time>
);

/** Names the time zone of a view, once. */
export const TimeZoneNote = () => <small class="muted">{times.zone(nameTimeZone())}</small>;

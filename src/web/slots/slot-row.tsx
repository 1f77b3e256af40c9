import type { RegistrationReply } from "../../http/routes/slots/registrations.ts";
import { formatUtc } from "../format.ts";
import { linkTo } from "../router.ts";
import { COLUMN_VIEWS, type Column } from "./columns.ts";
import type { Layout } from "./column-layout.ts";
import type { SlotRow } from "./rows.ts";
import { slots } from "./slots-texts.ts";

export interface RowActions {
  /** Null: this page may not change anything. */
  readonly onRelease: ((row: SlotRow) => void) | null;
  readonly onDetails: (row: SlotRow) => void;
  readonly onSelect: (row: SlotRow, isRange: boolean) => void;
}

interface RowProps extends RowActions {
  readonly row: SlotRow;
  /** Its number for screen readers, which count the header as the first row. */
  readonly rowIndex: number;
  readonly top: number;
  readonly layout: Layout;
  readonly isSelected: boolean;
  readonly now: number;
}

export function SlotRowView(props: RowProps) {
  const { row, rowIndex, top, layout, isSelected, now, onRelease, onDetails, onSelect } = props;
  const { registration } = row;
  const { user, product } = registration;
  return (
    <div
      role="row"
      class={`slot-row ${layout.kind}`}
      aria-rowindex={rowIndex}
      aria-selected={onRelease === null ? undefined : isSelected}
      style={{ transform: `translateY(${top}px)` }}
    >
      {onRelease !== null && (
        <span role="cell" class="select">
          <input
            type="checkbox"
            checked={isSelected}
            aria-label={slots.selection.one(user, product)}
            onClick={({ shiftKey }) => onSelect(row, shiftKey)}
          />
        </span>
      )}
      {layout.kind === "table" ? (
        layout.columns.map((column) => (
          <Cell key={column} column={column} registration={registration} now={now} />
        ))
      ) : (
        <CardCells registration={registration} layout={layout} now={now} />
      )}
      <span role="cell" class="act">
        <button
          type="button"
          class="button"
          aria-label={slots.detailsLabel(user, product)}
          onClick={() => onDetails(row)}
        >
          {slots.details}
        </button>
        {onRelease !== null && (
          <button
            type="button"
            class="button"
            aria-label={slots.releaseLabel(user, product)}
            onClick={() => onRelease(row)}
          >
            {slots.release}
          </button>
        )}
      </span>
    </div>
  );
}

interface CellProps {
  readonly column: Column;
  readonly registration: RegistrationReply;
  readonly now: number;
}

function Cell({ column, registration, now }: CellProps) {
  if (column === "user") return <UserCell user={registration.user} />;
  const text = COLUMN_VIEWS[column].text(registration, now);
  return (
    <span
      role="cell"
      class={column === "borrowed" ? "cell borrow-end" : "cell"}
      title={titleOf(column, registration, text)}
    >
      {text}
    </span>
  );
}

const UserCell = ({ user }: { user: string }) => (
  <span role="cell" class="cell cell-user">
    <a href={linkTo("audit", `user=${user}`)} title={`${user}: ${slots.history(user)}`}>
      {user}
    </a>
  </span>
);

/** The whole text, which may be cut off, or the exact time. */
function titleOf(column: Column, registration: RegistrationReply, text: string): string {
  const at = COLUMN_VIEWS[column].time?.(registration) ?? null;
  return at === null ? text : formatUtc(at);
}

/** The columns of each line of a card below the user. */
const CARD_LINES: Readonly<Record<"wide-card" | "narrow-card", readonly (readonly Column[])[]>> = {
  "wide-card": [["product", "host", "address", "lastSeen", "duration", "borrowed", "features"]],
  "narrow-card": [
    ["product", "host", "address", "features"],
    ["lastSeen", "duration", "borrowed"],
  ],
};

function CardCells({ registration, layout, now }: Omit<CellProps, "column"> & { layout: Layout }) {
  const lines = layout.kind === "table" ? [] : CARD_LINES[layout.kind];
  const textOf = (column: Column): string => {
    const text = COLUMN_VIEWS[column].text(registration, now);
    return text === "" ? "" : (CARD_TEXTS[column]?.(text) ?? text);
  };
  return (
    <>
      <UserCell user={registration.user} />
      {lines.map((columns, index) => {
        const text = columns.map(textOf).filter(Boolean).join(" · ");
        return (
          <span key={index} role="cell" class="cell card-line" title={text}>
            {text}
          </span>
        );
      })}
    </>
  );
}

/** A card has no header row, so that its texts say what they are. */
const CARD_TEXTS: Partial<Readonly<Record<Column, (text: string) => string>>> = slots.card;

import type { ComponentChildren } from "preact";
import { access as texts } from "./access-texts.ts";
import { Time } from "../parts/time.tsx";

interface Row {
  readonly key: string;
  /** In the order of the columns. */
  readonly cells: readonly ComponentChildren[];
  /** Buttons; null: none. */
  readonly actions: ComponentChildren;
}

interface Props {
  /** What the table lists, for screen readers. */
  readonly label: string;
  readonly columns: readonly string[];
  readonly rows: readonly Row[];
  /** Shown instead of a table without rows. */
  readonly none: string;
}

/**
 * A table that becomes a list of cards on narrow screens. The roles are explicit: a browser drops
 * those of a table whose layout is changed.
 */
export function AccessTable({ label, columns, rows, none }: Props) {
  if (rows.length === 0) return <p>{none}</p>;
  return (
    <table class="access-table" role="table" aria-label={label}>
      <thead role="rowgroup">
        <tr role="row">
          {columns.map((column) => (
            <th key={column} role="columnheader" scope="col">
              {column}
            </th>
          ))}
          <th role="columnheader" scope="col">
            <span class="visually-hidden">{texts.actions}</span>
          </th>
        </tr>
      </thead>
      <tbody role="rowgroup">
        {rows.map(({ key, cells, actions }) => (
          <tr key={key} role="row">
            {cells.map((cell, index) => (
              <td key={columns[index]} role="cell" data-column={columns[index]}>
                {cell}
              </td>
            ))}
            <td role="cell" class="actions">
              {actions}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

interface OwnerProps {
  readonly name: string;
  /** Marks the reader's own entry; null: it is another one. */
  readonly mark: string | null;
}

export const Owner = ({ name, mark }: OwnerProps) => (
  <strong class="owner">
    {name} {mark !== null && <span class="you">{mark}</span>}
  </strong>
);

interface LastUseProps {
  readonly at: string | null;
  readonly address: string | null;
}

export const LastUse = ({ at, address }: LastUseProps) =>
  at === null ? (
    <span class="muted">{texts.notUsed}</span>
  ) : (
    <span>
      <Time at={at} as="ago" /> <span class="muted">{address}</span>
    </span>
  );

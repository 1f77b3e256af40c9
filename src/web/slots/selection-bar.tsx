import { formatNumber } from "../format.ts";
import { Button } from "../parts/button.tsx";
import type { SlotRow } from "./rows.ts";
import type { Selection } from "./selection.ts";
import { slots } from "./slots-texts.ts";

interface Props {
  readonly shown: readonly SlotRow[];
  readonly selection: Selection;
  readonly onToggleAll: () => void;
  readonly onClear: () => void;
  readonly onRelease: () => void;
}

/** Selects all shown slots, and releases those that are selected. */
export function SelectionBar({ shown, selection: { keys }, ...actions }: Props) {
  const { selection } = slots;
  const shownCount = shown.reduce((sum, { key }) => sum + (keys.has(key) ? 1 : 0), 0);
  const isAll = shownCount === shown.length;
  const count = formatNumber(keys.size);
  return (
    <div class="slot-selection">
      <label class="check">
        <input
          type="checkbox"
          checked={isAll}
          indeterminate={shownCount > 0 && !isAll}
          onChange={actions.onToggleAll}
        />
        {selection.all(formatNumber(shown.length))}
      </label>
      <span role="status">{keys.size > 0 && selection.count(count)}</span>
      {keys.size > 0 && (
        <>
          <Button kind="danger" onClick={actions.onRelease}>
            {selection.release(count)}
          </Button>
          <Button onClick={actions.onClear}>{selection.clear}</Button>
        </>
      )}
    </div>
  );
}

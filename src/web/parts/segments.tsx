interface Props<Option extends string> {
  /** Names the group for screen readers. */
  readonly label: string;
  readonly options: readonly (readonly [option: Option, name: string])[];
  readonly selected: Option;
  readonly onSelect: (option: Option) => void;
}

/** Buttons in a row, of which one is selected. */
export const Segments = <Option extends string>(props: Props<Option>) => (
  <div class="segments" role="group" aria-label={props.label}>
    {props.options.map(([option, name]) => (
      <button
        key={option}
        type="button"
        class="button"
        aria-pressed={option === props.selected}
        onClick={() => props.onSelect(option)}
      >
        {name}
      </button>
    ))}
  </div>
);

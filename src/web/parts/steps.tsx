import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { steps } from "../texts/parts.ts";

interface Props {
  readonly titles: readonly string[];
  /** Counted from 0. */
  readonly at: number;
  /** As far as one may go by now. */
  readonly reached: number;
  readonly onGo: (step: number) => void;
  readonly children: ComponentChildren;
}

/** A walk in steps: where one is, what is to come, and the way back. */
export function Steps({ titles, at, reached, onGo, children }: Props) {
  const heading = useRef<HTMLHeadingElement>(null);
  const before = useRef(at);
  // Whoever cannot see that the step has changed is taken to its heading.
  useEffect(() => {
    if (before.current !== at) heading.current?.focus();
    before.current = at;
  }, [at]);
  return (
    <>
      <ol class="steps" aria-label={steps.label}>
        {titles.map((title, step) => (
          <li key={title} class={step < at ? "done" : ""}>
            <button
              type="button"
              aria-current={step === at ? "step" : undefined}
              disabled={step > reached}
              onClick={() => onGo(step)}
            >
              {title}
            </button>
          </li>
        ))}
      </ol>
      <section class="card step">
        <h3 ref={heading} tabIndex={-1}>
          {steps.heading(at + 1, titles.length, titles[at] ?? "")}
        </h3>
        {children}
      </section>
    </>
  );
}

interface WayProps {
  readonly onBack?: () => void;
  readonly children?: ComponentChildren;
}

/** At the foot of a step: back, and whatever leads on. */
export const Way = ({ onBack, children }: WayProps) => (
  <div class="row way">
    {onBack && (
      <button type="button" class="button" onClick={onBack}>
        {steps.back}
      </button>
    )}
    {children}
  </div>
);

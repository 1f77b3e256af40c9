import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { wizard } from "../texts/parts.ts";

interface Props {
  readonly titles: readonly string[];
  /** Counted from 0. */
  readonly currentStep: number;
  /** As far as one may go by now. */
  readonly lastReachableStep: number;
  readonly onSelectStep: (step: number) => void;
  readonly children: ComponentChildren;
}

/** A walk in steps: where one is, what is to come, and the way back. */
export function Wizard({ titles, currentStep, lastReachableStep, onSelectStep, children }: Props) {
  const heading = useRef<HTMLHeadingElement>(null);
  const before = useRef(currentStep);
  // Whoever cannot see that the step has changed is taken to its heading.
  useEffect(() => {
    if (before.current !== currentStep) heading.current?.focus();
    before.current = currentStep;
  }, [currentStep]);
  return (
    <>
      <ol class="steps" aria-label={wizard.label}>
        {titles.map((title, step) => (
          <li key={title} class={step < currentStep ? "done" : ""}>
            <button
              type="button"
              aria-current={step === currentStep ? "step" : undefined}
              disabled={step > lastReachableStep}
              onClick={() => onSelectStep(step)}
            >
              {title}
            </button>
          </li>
        ))}
      </ol>
      <section class="card step">
        <h3 ref={heading} tabIndex={-1}>
          {wizard.heading(currentStep + 1, titles.length, titles[currentStep] ?? "")}
        </h3>
        {children}
      </section>
    </>
  );
}

interface StepActionsProps {
  readonly onBack?: () => void;
  readonly children?: ComponentChildren;
}

/** At the foot of a step: back, and whatever leads on. */
export const StepActions = ({ onBack, children }: StepActionsProps) => (
  <div class="row way">
    {onBack && (
      <button type="button" class="button" onClick={onBack}>
        {wizard.back}
      </button>
    )}
    {children}
  </div>
);

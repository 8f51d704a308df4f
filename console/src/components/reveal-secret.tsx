import type { ComponentChildren } from 'preact';
import { Code } from './api-call.tsx';
import { Note } from './badge.tsx';
import { Button } from './button.tsx';
import { Dialog } from './dialog.tsx';

type ShownOnceProps = {
  readonly title: string;
  /** What is shown, and how it is called: `The key`. */
  readonly label: string;
  readonly text: string;
  /** Why it has to be copied now. */
  readonly warning: ComponentChildren;
  readonly isWide?: boolean;
  readonly onClose: () => void;
  /** What is said below it. */
  readonly children: ComponentChildren;
};

/** A secret at the one moment when it can be seen; nothing closes it but a word that it was copied. */
export function ShownOnce({ title, label, text, warning, isWide = false, onClose, children }: ShownOnceProps) {
  return (
    <Dialog title={title} isWide={isWide} isFirm onClose={onClose}>
      <Note tone="warn">{warning}</Note>
      <Code label={label} text={text} />
      {children}
      <div class="ends">
        <Button look="primary" onClick={onClose}>
          I have copied it
        </Button>
      </div>
    </Dialog>
  );
}

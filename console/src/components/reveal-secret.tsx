import type { ComponentChildren } from 'preact';
import { CodeBlock } from './api-call.tsx';
import { Note } from './badge.tsx';
import { Button } from './button.tsx';
import { Dialog } from './dialog.tsx';

type RevealSecretDialogProps = {
  readonly title: string;
  /** Name of the secret, such as `The key`. */
  readonly label: string;
  readonly secret: string;
  readonly warning: ComponentChildren;
  readonly isWide?: boolean;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
};

/** Dialog that shows a secret once. Only its buttons close it, not Escape or a click on the backdrop. */
export function RevealSecretDialog({
  title,
  label,
  secret,
  warning,
  isWide = false,
  onClose,
  children,
}: RevealSecretDialogProps) {
  return (
    <Dialog title={title} isWide={isWide} isPersistent onClose={onClose}>
      <Note tone="warn">{warning}</Note>
      <CodeBlock label={label} text={secret} />
      {children}
      <div class="ends">
        <Button variant="primary" onClick={onClose}>
          I have copied it
        </Button>
      </div>
    </Dialog>
  );
}

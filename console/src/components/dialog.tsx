import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef } from 'preact/hooks';
import { Button } from './button.tsx';

type DialogProps = {
  readonly title: string;
  readonly onClose: () => void;
  readonly isWide?: boolean;
  /** Keeps the dialog open on Escape and on a click on the backdrop; for content that cannot be shown again. */
  readonly isPersistent?: boolean;
  readonly children: ComponentChildren;
};

/**
 * Modal dialog. Escape and a click on the backdrop close the dialog, unless it is persistent. When the dialog closes,
 * the focus returns to the previously focused element.
 */
export function Dialog({ title, onClose, isWide = false, isPersistent = false, children }: DialogProps) {
  const dialogRef = useRef<HTMLDialogElement>(null);
  const titleId = useId();
  useEffect(() => {
    const previouslyFocusedElement = document.activeElement;
    dialogRef.current?.showModal();
    return () => {
      if (previouslyFocusedElement instanceof HTMLElement) previouslyFocusedElement.focus();
    };
  }, []);
  return (
    <dialog
      ref={dialogRef}
      class={`dialog ${isWide ? 'wide' : ''}`}
      aria-labelledby={titleId}
      onCancel={(event) => {
        event.preventDefault();
        if (!isPersistent) onClose();
      }}
      onMouseDown={(event) => {
        if (event.target === dialogRef.current && !isPersistent) onClose();
      }}
    >
      <div class="inside">
        <div class="row spread">
          <h2 id={titleId}>{title}</h2>
          <Button variant="quiet" icon="cross" label="Close" onClick={onClose} />
        </div>
        {children}
      </div>
    </dialog>
  );
}

type ConfirmDialogProps = {
  readonly title: string;
  /** Text that describes the consequence of confirming. */
  readonly children: ComponentChildren;
  readonly confirmLabel: string;
  readonly onConfirm: () => void;
  readonly onClose: () => void;
};

/** Confirmation dialog for actions that cannot be undone. */
export function ConfirmDialog({ title, children, confirmLabel, onConfirm, onClose }: ConfirmDialogProps) {
  return (
    <Dialog title={title} onClose={onClose}>
      <div>{children}</div>
      <div class="ends">
        <Button onClick={onClose}>Cancel</Button>
        <Button
          variant="danger"
          onClick={() => {
            onClose();
            onConfirm();
          }}
        >
          {confirmLabel}
        </Button>
      </div>
    </Dialog>
  );
}
